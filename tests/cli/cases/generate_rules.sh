# What generation_config.json says of search: the ids that ONNX Runtime's loop gives with the rules in numpy, by the file on two
# ranks and by options on one; what is not done is said, and beams are refused unless one is asked for.
"$root/tests/exports/together/lay" models
echo '{"prompt": "hello, world"}' > p.jsonl
for family in t5 bart; do
    python3 - "$root/tests/exports/together/$family/ruled.txt" models/$family << 'END'
import json, pathlib, subprocess, sys
OPTIONS = {"repetition_penalty": "--repeat-penalty", "no_repeat_ngram_size": "--no-repeat-ngram-size", "min_length": "--min-length"}
file = pathlib.Path(sys.argv[2]) / "generation_config.json"
config = json.loads((file.parent / "config.json").read_text())
for line in open(sys.argv[1]):
    line = json.loads(line)
    rules = line["rules"]
    others = {name: value for name, value in rules.items() if name not in OPTIONS}
    flags = [word for name in rules if name in OPTIONS for word in (OPTIONS[name], str(rules[name]))]
    for said, options, launch in ((rules, [], ["launch", "-n", "2", "--"]), (others, flags, [])):
        file.write_text(json.dumps(config | said))
        command = ["stagecoach", *launch, "generate", str(file.parent), "-f", "p.jsonl", *options]
        made = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        if made["tokens"] != line["tokens"]:
            print(sys.argv[2], options, rules, made["tokens"])
file.unlink()
END
done
said() # GENERATION_CONFIG OPTIONS...
{
    echo "{\"decoder_start_token_id\": 0, $1}" > models/t5/generation_config.json
    shift
    stagecoach generate models/t5 -p hi -n 2 "$@" 2>&1 > /dev/null | head -n 1
}
said '"num_beams": 4'
said '"num_beams": 4, "early_stopping": true' --num-beams 1
said '"typical_p": 0.9, "bad_words_ids": [[4]], "length_penalty": 2'
said '"top_k": -1'
said '"forced_eos_token_id": 400'
said '"num_beams": 1' --num-beams 2
# A decoder alone draws no suppressed token either.
mkdir alone
ln -s "$root"/examples/shakespeare/* alone
draw() { stagecoach generate alone -f p.jsonl -n 3 --temp 0 2> err | python3 -c 'import json, sys; print(*json.load(sys.stdin)["tokens"])'; }
read -r first second _ <<< "$(draw)"
echo "{\"suppress_tokens\": [$second], \"begin_suppress_tokens\": [$first]}" > alone/generation_config.json
read -r other _ <<< "$(draw)"
[ "$other" != "$first" ] && ! draw | grep -qw -- "$second" || echo "a suppressed token was drawn"
