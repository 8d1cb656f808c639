/* SPDX-License-Identifier: Apache-2.0
 * The table of commands and options. To add an option, add a row: parser, help, man page and completion follow. */
#include "launch/options.h"

#define BIT(command) (1u << SC_COMMAND_##command)
#define ALL ((1u << SC_N_COMMANDS) - 1)
#define RUNS (BIT(RUN) | BIT(VERIFY) | BIT(GENERATE) | BIT(BENCH))
#define CUTS (BIT(PLAN) | RUNS)
#define SC_CACHE_TYPES "f32|f16|bf16|q8_0" /* in the order of enum sc_page_format */

static const struct sc_command_row commands[SC_N_COMMANDS] = {
    [SC_COMMAND_INSPECT] = {"inspect", "MODEL", 1, 1, true, false, "show what a model holds",
        "Prints inputs, outputs, operators, sizes and state pairs of MODEL, and what of it is not supported.\n"
        "With -d also costs by operator (operations, bytes made, time estimated for one core) and memory, at those "
        "dims.\n"
        "MODEL is an .onnx file, or a folder with model.onnx in it.\n",
        "stagecoach inspect examples/shakespeare\n"
        "stagecoach inspect resnet50.onnx -d batch=8\n"},
    [SC_COMMAND_OPS] = {"ops", "[NAME]", 0, 1, false, false, "list operators, versions and types",
        "Lists the operators of the schema table and which of their versions have kernels; with NAME, one operator "
        "with\n"
        "its types and attributes.\n",
        "stagecoach ops Attention\n"},
    [SC_COMMAND_PLAN] = {"plan", "MODEL", 1, 1, true, false, "cut a model into stages and show the cut",
        "Prints the stages of MODEL for -pp ranks: nodes, weights, activations, cache at -c, share of the cost, values "
        "in\n"
        "and out. With -o the plan is written as JSON, which may be edited and given to --plan.\n",
        "stagecoach plan examples/shakespeare -pp 2 -o plan.json --html plan.html\n"},
    [SC_COMMAND_RUN] = {"run", "MODEL", 1, 1, true, false, "run a model once on given inputs",
        "Runs MODEL once on the tensors of -i, and prints name, type and dims of each output. With -o the outputs are "
        "written to a\nfolder: all of them or, when anything fails, none.\n"
        "A stream, longer than what the model takes at once: --over cuts an input along an axis into pieces of "
        "--overlap "
        "elements\nthat came before and --window new ones, and MODEL runs on each in turn; inputs that are not cut are "
        "the "
        "same for all. States\ngo on from piece to piece: an LSTM's, and others by the names that exporters use (state "
        "and "
        "stateN of silero-vad) or by\n--state; they begin as zeros unless -i gives them, and -o has what they are at "
        "the "
        "end. The stages work on different\npieces at once, and outputs are written as they come.\n",
        "stagecoach run model.onnx -i x=x.npy -o out\n"
        "stagecoach launch -n 2 -- run model.onnx --random 1 -d batch=4 -o out --format pb\n"
        "stagecoach run silero_vad.onnx -i input=talk.wav --rate 16000 -i sr=sr.npy --over input=1 --window 512 "
        "--overlap "
        "64 -o out\n"},
    [SC_COMMAND_VERIFY] = {"verify", "PATH...", 1, 1 << 30, false, false,
        "compare a model with recorded outputs, or all ranks with one",
        "A PATH with model.onnx and test_data_set_*, or with folders that have them: every data set is run and "
        "compared "
        "with\n"
        "what was recorded: count, type, shape, and |a - r| <= atol + ltol * max |r| + rtol * |r|. A PATH that is a "
        "model alone:\n"
        "it is run on inputs made by --seed, with dims of -d, on all ranks and once more as one stage on rank 0, which "
        "then needs\n"
        "memory for all of it; every bit must be the same, or the first value inside that differs is named. One line "
        "for "
        "a\n"
        "failure or a skip; the last line is 'N passed, N failed'. Exit code 1 when one failed.\n",
        "stagecoach verify build/onnx/node/test_add\n"
        "stagecoach launch -n 4 -- verify resnet50.onnx -d batch=2\n"},
    [SC_COMMAND_GENERATE] = {"generate", "MODEL", 1, 1, true, false, "write text with a decoder",
        "Reads MODEL and its tokenizer.json, continues the prompt and prints the text as it comes. MODEL may be a "
        "folder "
        "with an\n"
        "encoder and a decoder as Optimum writes them (T5, BART, Whisper): the encoder reads the prompt or, with "
        "--audio, "
        "a .wav\n"
        "file, window by window, and the likeliest text is printed. The plan and, at "
        "the end,\n"
        "prompt and generation tokens/s with each stage's busy and waiting share go to stderr. With -f FILE.jsonl each "
        "line is a\n"
        "request, an object with prompt (or audio, a path) and, as wanted, id, n_predict, temperature, top_k, top_p, "
        "min_p, "
        "repeat_penalty,\n"
        "no_repeat_ngram_size, min_length, seed, ignore_eos; -np run at once, and results come in the order of the "
        "file, an object a line. What a line lacks "
        "is "
        "as the\n"
        "options say; with a seed of its own a line's text is that of -p and --seed. Ctrl-C stops with what there "
        "is.\n",
        "stagecoach generate examples/shakespeare -p \"ROMEO:\" -n 64\n"
        "stagecoach launch -n 2 -- generate examples/shakespeare -p \"ROMEO:\" -n 200 --temp 0.8 --seed 1\n"
        "stagecoach generate examples/shakespeare -f prompts.jsonl -np 8 > texts.jsonl\n"},
    [SC_COMMAND_BENCH] = {"bench", "MODEL", 1, 1, true, false, "measure a model's speed",
        "For a decoder: tokens/s of a prompt of -p tokens (pp) and of generating -n tokens (tg), as llama-bench prints "
        "them, the\n"
        "time to the first token (ttft) and between tokens (tbt); for a folder with an encoder: of reading -p tokens, "
        "or "
        "the frames\n"
        "of sound that it was made for (enc), and of generating behind it; with -np several texts at once, as "
        "llama-batched-bench "
        "does, and\n"
        "before that how a prompt of -p tokens that comes in holds up -np - 1 texts that run (tbt of them before and "
        "during pp, "
        "ttft "
        "beside\n"
        "them). For any other model, on random inputs with dims of -d: milliseconds of one run alone, and runs/s with "
        "as "
        "many in\n"
        "flight as keep every stage busy. The plan and each rank's busy, waiting and sending share go to stderr.\n",
        "stagecoach launch -n 2 -- bench examples/shakespeare -p 256 -n 64\n"
        "stagecoach bench examples/shakespeare -p 32 -n 64 -np 16\n"
        "stagecoach bench t5-small/ -p 128 -n 64\n"
        "stagecoach bench resnet50.onnx -d batch=1\n"},
    [SC_COMMAND_LAUNCH] = {"launch", "-- COMMAND ...", 1, 1 << 30, false, true, "start a command on several ranks",
        "Starts stagecoach COMMAND on -n ranks by mpirun, with the flags that leave placement to stagecoach.\n",
        "stagecoach launch -n 2 -- generate examples/shakespeare -p \"ROMEO:\" -n 64\n"},
    [SC_COMMAND_HELP] = {"help", "[COMMAND]", 0, 1, false, false, "show this, or the help of a command",
        "Lists the commands, or shows one with its options, as COMMAND --help does.\n", "stagecoach help generate\n"},
    [SC_COMMAND_VERSION] = {"version", "", 0, 0, false, false, "show the version", "Prints name and version.\n",
        "stagecoach version\n"},
};

static const struct sc_option_row options[] = {
    {"model", "m", NULL, SC_OPTION_TEXT, "MODEL", NULL, 0, 0,
        BIT(INSPECT) | BIT(PLAN) | BIT(RUN) | BIT(GENERATE) | BIT(BENCH), "the model, instead of the first argument"},
    {"prompt", "p", NULL, SC_OPTION_TEXT, "TEXT", NULL, 0, 0, BIT(GENERATE), "the prompt"},
    {"file", "f", NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE),
        "read the prompt from FILE; requests from a FILE.jsonl, a JSON object a line"},
    {"audio", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE),
        "sound for a speech model, a .wav file of any rate and length; -n counts for each window that the model reads"},
    {"language", NULL, NULL, SC_OPTION_TEXT, "NAME", NULL, 0, 0, BIT(GENERATE),
        "the language of a speech model's text; else what its files say, or what the model hears"},
    {"task", NULL, NULL, SC_OPTION_TEXT, "NAME", NULL, 0, 0, BIT(GENERATE),
        "what a speech model does, transcribe or translate; else what its files say"},
    {"parallel", "np", NULL, SC_OPTION_INT, "N", "1", 1, 1024, BIT(GENERATE) | BIT(BENCH),
        "requests at once; bench has a second table then, for 1, 2, 4 ... of them"},
    {"n-depth", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 1 << 24, BIT(BENCH),
        "tokens that a decoder's cache holds before; so does -d N"},
    {"kv-size", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 1 << 30, BIT(GENERATE),
        "rows that the caches of all requests have together; 0: -c for each of -np"},
    {"cache-type-k", "ctk", NULL, SC_OPTION_CHOICE, SC_CACHE_TYPES, NULL, 0, 0,
        BIT(INSPECT) | BIT(PLAN) | BIT(GENERATE) | BIT(BENCH),
        "keep keys as this type, q8_0: 8 bits and a scale for 32; the text changes by it; by default the model's own"},
    {"cache-type-v", "ctv", NULL, SC_OPTION_CHOICE, SC_CACHE_TYPES, NULL, 0, 0,
        BIT(INSPECT) | BIT(PLAN) | BIT(GENERATE) | BIT(BENCH), "the same for values"},
    {"load-state", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE),
        "go on from a text that --save-state wrote, under any plan; -p is added to it, or left out behind an encoder"},
    {"save-state", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE),
        "write the text's tokens and caches to FILE at the end"},
    {"replan-at", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 1 << 30, BIT(GENERATE),
        "after N tokens go on with the plan of --plan2; caches move to their new ranks"},
    {"plan2", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE), "the plan to go on with"},
    {"prefill-plan", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE) | BIT(BENCH),
        "prompts go by the plan in FILE; caches move to the ranks of --decode-plan meanwhile"},
    {"decode-plan", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(GENERATE) | BIT(BENCH),
        "what follows prompts goes by this one, which a long prompt does not hold up"},
    {"predict", "n", "n-predict", SC_OPTION_INT, "N", "128", 0, 1 << 30, BIT(GENERATE),
        "tokens to write; else what generation_config.json says"},
    {"n-prompt", "p", NULL, SC_OPTION_INT, "N", "512", 0, 1 << 24, BIT(BENCH),
        "tokens of the prompt; 0: do not measure it"},
    {"n-gen", "n", NULL, SC_OPTION_INT, "N", "128", 0, 1 << 24, BIT(BENCH), "tokens to generate; 0: do not measure it"},
    {"repetitions", "r", NULL, SC_OPTION_INT, "N", "5", 1, 64, BIT(BENCH), "times to measure each test"},
    {"format", "o", "output-format", SC_OPTION_CHOICE, "md|csv|json", "md", 0, 0, BIT(BENCH), "how to print the table"},
    {"temp", NULL, NULL, SC_OPTION_REAL, "T", "0.8", 0, 100, BIT(GENERATE),
        "temperature; 0 takes the likeliest token always"},
    {"top-k", NULL, NULL, SC_OPTION_INT, "K", "40", 0, 1 << 30, BIT(GENERATE), "draw from the K likeliest; 0: all"},
    {"top-p", NULL, NULL, SC_OPTION_REAL, "P", "0.95", 0, 1, BIT(GENERATE),
        "draw from the likeliest that together reach P; 1: all"},
    {"min-p", NULL, NULL, SC_OPTION_REAL, "P", "0.05", 0, 1, BIT(GENERATE),
        "drop tokens under P times the likeliest; 0: none"},
    {"repeat-penalty", NULL, NULL, SC_OPTION_REAL, "P", "1", 0, 100, BIT(GENERATE),
        "divide logits of tokens that the text has by P; 1: leave them"},
    {"no-repeat-ngram-size", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 1 << 20, BIT(GENERATE),
        "write no run of N tokens twice; 0: leave them"},
    {"min-length", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 1 << 30, BIT(GENERATE),
        "do not end a text of fewer tokens, what it begins with counted"},
    {"num-beams", NULL, NULL, SC_OPTION_INT, "N", "1", 1, 1, BIT(GENERATE),
        "1: go on with one beam where the model's files ask for more, which is refused"},
    {"seed", NULL, NULL, SC_SETTING_SEED, RUNS, "seed of everything drawn at random"},
    {"ignore-eos", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(GENERATE), "write on past the end-of-text token"},
    {"ctx", "c", "ctx-size", SC_OPTION_INT, "N", "0", 0, 1 << 30, BIT(PLAN) | BIT(GENERATE),
        "rows of the cache; 0: what the model was made for"},
    {"ubatch", "ub", "ubatch-size", SC_OPTION_INT, "N", "64", 1, 1 << 20, BIT(PLAN) | BIT(GENERATE) | BIT(BENCH),
        "most rows of a prompt in one microbatch"},
    {"max-tbt", NULL, NULL, SC_OPTION_INT, "MS", "0", 0, 1 << 30, BIT(GENERATE) | BIT(BENCH),
        "cut prompts so small that running texts have their next token within MS milliseconds (what an encoder reads "
        "goes whole); 0: -ub alone"},
    {"input", "i", NULL, SC_OPTION_LIST, "NAME=FILE", NULL, 0, 0, BIT(RUN),
        "an input tensor, .npy or .pb, or sound, .wav; repeatable; states from .npy go to their ranks in parts"},
    {"over", NULL, NULL, SC_OPTION_LIST, "NAME=AXIS", NULL, 0, 0, BIT(RUN),
        "cut this input along the axis into pieces, and run each; states go on from piece to piece; repeatable"},
    {"window", NULL, NULL, SC_OPTION_INT, "N", NULL, 1, 9e15, BIT(RUN), "with --over: new elements in each piece"},
    {"overlap", NULL, NULL, SC_OPTION_INT, "N", "0", 0, 9e15, BIT(RUN),
        "with --over: elements before those that each piece begins with; zeros before the first"},
    {"rest", NULL, NULL, SC_OPTION_CHOICE, "zeros|short|drop", "zeros", 0, 0, BIT(RUN),
        "with --over: the last piece, when less than a window is left: filled up with zeros, short, or none"},
    {"join", NULL, NULL, SC_OPTION_LIST, "NAME=AXIS", NULL, 0, 0, BIT(RUN),
        "with --over: join this output's pieces along the axis; without: along a new first one; repeatable"},
    {"rate", NULL, NULL, SC_OPTION_INT, "HZ", "0", 0, 1 << 30, BIT(RUN),
        "samples a second of .wav inputs, made of those that the file has; 0: as it has them"},
    {"override", NULL, NULL, SC_SETTING_OVERRIDE, BIT(PLAN) | BIT(RUN) | BIT(VERIFY),
        "inputs that have a default and are sent at each run, as those of -i are: a,b"},
    {"random", NULL, NULL, SC_OPTION_INT, "SEED", NULL, 0, 9e15, BIT(RUN),
        "make the inputs that -i does not give: floats in [-1, 1), integers 0 or 1"},
    {"dump", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(INSPECT),
        "print the graph instead, as the file has it: a line for each node, short values"},
    {"passes", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(INSPECT), "with --dump: as passes leave it for a run"},
    {"output", "o", NULL, SC_OPTION_TEXT, "DIR", NULL, 0, 0, BIT(RUN), "folder for the outputs, one file each"},
    {"format", NULL, NULL, SC_OPTION_CHOICE, "npy|pb", NULL, 0, 0, BIT(RUN),
        "kind of those files; by default .npy, and .pb for strings, sequences and what else .npy cannot hold"},
    {"output", "o", NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(PLAN), "write the plan as JSON"},
    {"for", NULL, NULL, SC_OPTION_CHOICE, "both|steps|prompts", "both", 0, 0, BIT(PLAN),
        "what to cut a decoder for: a step and a chunk of a prompt in turn, or one of them, as for --decode-plan and "
        "--prefill-plan"},
    {"compare", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(PLAN),
        "a line for each number of stages up to -pp: the plan, its bound, and random plans beside it"},
    {"annotate", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(PLAN),
        "write the model with each node's stage (pipeline_stage of ONNX IR 11), which runs then follow"},
    {"dot", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(PLAN), "write a picture of the plan for graphviz"},
    {"html", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(PLAN), "write a picture of the plan as a web page"},
    {"dim", "d", NULL, SC_OPTION_LIST, "NAME=N", NULL, 0, 0,
        BIT(INSPECT) | BIT(PLAN) | BIT(RUN) | BIT(VERIFY) | BIT(BENCH),
        "size of a named dim, or the shape of an input as in x=1x3x224x224; repeatable"},
    {"pp", "pp", "pipeline", SC_SETTING_PP, CUTS, "stages, none of them empty; 0: as many of the ranks as pay"},
    {"plan", NULL, NULL, SC_SETTING_PLAN, CUTS, "use the plan in FILE"},
    {"random-plan", NULL, NULL, SC_SETTING_RANDOM_PLAN, CUTS, "cut at random places, for tests of cuts"},
    {"pin", NULL, NULL, SC_SETTING_PIN, BIT(VERIFY) | BIT(RUN),
        "run every node on RANK, so that all values cross the wire"},
    {"memory", NULL, NULL, SC_SETTING_MEMORY, CUTS, "memory that a rank may use, e.g. 512M; 0: what the machine has"},
    {"threads", "t", NULL, SC_SETTING_THREADS, RUNS, "threads of each rank; 0: its share of the cores"},
    {"gemm", NULL, NULL, SC_SETTING_GEMM, RUNS, "f32 products by own kernels, or large ones by OpenBLAS"},
    {"bind", NULL, NULL, SC_SETTING_BIND, RUNS, "share out the node's cores, or keep what the launcher bound"},
    {"trace", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(RUN) | BIT(GENERATE) | BIT(BENCH),
        "write what every rank did when, for Perfetto"},
    {"report", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, RUNS,
        "write plan, memory and times of every rank as JSON"},
    {"timeout", NULL, NULL, SC_OPTION_INT, "S", "60", 0, 1 << 30, RUNS,
        "end the job when a rank makes no progress, or is not heard of, for S seconds; 0: never"},
    {"rtol", NULL, NULL, SC_OPTION_REAL, "R", "0.001", 0, 1e30, BIT(VERIFY), "relative tolerance"},
    {"atol", NULL, NULL, SC_OPTION_REAL, "A", "1e-7", 0, 1e30, BIT(VERIFY), "absolute tolerance"},
    {"ltol", NULL, NULL, SC_OPTION_REAL, "L", "0", 0, 1e30, BIT(VERIFY),
        "tolerance relative to the largest magnitude of the output"},
    {"state", NULL, NULL, SC_OPTION_LIST, "IN=OUT", NULL, 0, 0,
        BIT(VERIFY) | BIT(GENERATE) | BIT(BENCH) | BIT(PLAN) | BIT(INSPECT) | BIT(RUN),
        "input IN goes on from what output OUT was, a token, a data set or a piece before; repeatable"},
    {"plans", NULL, NULL, SC_OPTION_INT, "N", NULL, 0, 100000, BIT(VERIFY),
        "run each case again on 1 and 2 threads, in 1 to 4 stages and by N random plans: every bit must be the same"},
    {"bits", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(VERIFY),
        "print a digest of each case's outputs; equal ones are equal in every bit"},
    {"ranks", "n", "np", SC_OPTION_INT, "N", "1", 1, 4096, BIT(LAUNCH), "ranks to start"},
    {"hostfile", NULL, NULL, SC_OPTION_TEXT, "FILE", NULL, 0, 0, BIT(LAUNCH),
        "hosts to start them on, as mpirun reads it"},
    {"mpirun", NULL, NULL, SC_OPTION_TEXT, "PATH", "mpirun", 0, 0, BIT(LAUNCH), "the mpirun to start them with"},
    {"verbose", "v", NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(LAUNCH), "print the mpirun command line"},
    {"man", NULL, NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, BIT(HELP), "print the manual page"},
    {"completion", NULL, NULL, SC_OPTION_CHOICE, "bash|zsh|fish", NULL, 0, 0, BIT(HELP),
        "print the completion script of a shell"},
    {"progress", NULL, NULL, SC_OPTION_SWITCH, NULL, NULL, 0, 0, RUNS | BIT(LAUNCH),
        "show a progress bar; by default on a terminal"},
    {"log-level", NULL, NULL, SC_OPTION_CHOICE, "error|warn|info|debug", "info", 0, 0, CUTS | BIT(INSPECT),
        "what is said on stderr; plans, times and tables are info"},
    {"help", "h", NULL, SC_OPTION_FLAG, NULL, NULL, 0, 0, ALL, "show this help"},
};

const struct sc_command_row *sc_command_rows(void)
{
    return commands;
}

const struct sc_option_row *sc_option_rows(int *n)
{
    *n = (int)(sizeof options / sizeof options[0]);
    return options;
}
