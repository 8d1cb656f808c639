/* SPDX-License-Identifier: Apache-2.0
 * mutation_test [SECONDS [KIND [FIRST [COUNT]]]]: damaged models, those of exporters too, plans, tokenizers, tensors,
 * messages, states, configurations, sounds and requests, each drawn from (kind, number) alone. It fails when one of
 * them crashes, works longer than a few seconds, wants more memory than there is, or is taken for whole where a digest
 * should tell. `mutation_test 0 model 17 1` repeats a single one; $KEEP names a file that keeps its text. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "comm/wire.h"
#include "launch/npy.h"
#include "model/model.h"
#include "tests/hostile/drive.h"
#include "tests/hostile/drive_text.h"
#include "tests/hostile/model_text.h"
#include "tests/hostile/op_models.h"

enum { MOST_SEEDS = 8, CEILING_MIB = 2048, BUSY_SECONDS = 20, HANG_SECONDS = 200 };

struct seed {
    char *text; /* of a model */
    unsigned char *bytes;
    size_t n;
};

struct bench {
    char folder[64], path[96], plan_path[96];
    struct seed seeds[MOST_SEEDS];
    int n_seeds;
    glob_t exports; /* paths */
    char *tokenizer, *plan;
    struct sc_driven_states *states; /* NULL until they are wanted */
    int reached[8]; /* how many came how far */
};

/* For the handler of signals, which may read nothing else. */
static char doing[96];

static void say_what(void)
{
    static const char head[] = "mutation_test: it was ";
    ssize_t n = write(STDERR_FILENO, head, sizeof head - 1);
    n += write(STDERR_FILENO, doing, strlen(doing));
    (void)n;
}

static void on_signal(int number)
{
    say_what();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

#if defined(__SANITIZE_ADDRESS__)
/* What the sanitizers are asked for unless the environment says otherwise. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=2048:abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}
#endif

static void watch(void)
{
    static const int deadly[] = {SIGABRT, SIGALRM, SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const size_t n = 3; /* the others are the sanitizer's, as is most of the address space */
#else
    const size_t n = sizeof deadly / sizeof *deadly;
    const struct rlimit ceiling = {(rlim_t)CEILING_MIB << 20, (rlim_t)CEILING_MIB << 20};
    (void)setrlimit(RLIMIT_AS, &ceiling);
#endif
    for (size_t i = 0; i < n; i++) {
        (void)signal(deadly[i], on_signal);
    }
}

static void fail(const char *what)
{
    fprintf(stderr, "mutation_test: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, n, file) != n || fclose(file) != 0) {
        fail(path);
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0 || fclose(file) != 0) {
        fail(path);
    }
    return text;
}

static int write_model(const struct bench *bench, const char *text)
{
    size_t n;
    int line;
    unsigned char *model = sc_test_model(text, &n, &line);
    if (!model) {
        return -1;
    }
    write_file(bench->path, model, n);
    free(model);
    if (getenv("KEEP")) {
        write_file(getenv("KEEP"), text, strlen(text));
    }
    return 0;
}

/* A loop that was changed may go on for ever, and would be right to. */
static bool ends(const struct seed *seed)
{
    return strstr(seed->text, "node Loop") == NULL;
}

static const struct seed *draw_seed(const struct bench *bench, struct sc_draw *draw)
{
    return &bench->seeds[sc_draw_below(draw, (size_t)bench->n_seeds)];
}

static int try_model(struct bench *bench, struct sc_draw *draw)
{
    const struct seed *seed = draw_seed(bench, draw);
    char *text = sc_mutate_text(draw, seed->text, " \n,=:");
    const int written = write_model(bench, text);
    free(text);
    return written < 0 ? 0 : sc_drive_model(draw, bench->path, ends(seed));
}

static int try_operator(struct bench *bench, struct sc_draw *draw)
{
    char text[8192];
    sc_draw_op_model(draw, text, sizeof text);
    return write_model(bench, text) < 0 ? 0 : sc_drive_model(draw, bench->path, true);
}

static int try_message(struct bench *bench, struct sc_draw *draw)
{
    const struct seed *seed = draw_seed(bench, draw);
    size_t n;
    unsigned char *bytes = sc_mutate_message(draw, seed->bytes, seed->n, &n);
    write_file(bench->path, bytes, n);
    free(bytes);
    return sc_drive_model(draw, bench->path, ends(seed));
}

static int try_bytes(struct bench *bench, struct sc_draw *draw)
{
    const struct seed *seed = draw_seed(bench, draw);
    size_t n;
    unsigned char *bytes = sc_mutate_bytes(draw, seed->bytes, seed->n, &n);
    write_file(bench->path, bytes, n);
    free(bytes);
    return sc_drive_model(draw, bench->path, ends(seed));
}

static int try_decoder(struct bench *bench, struct sc_draw *draw)
{
    char *text = sc_mutate_text(draw, bench->seeds[0].text, " \n,=:");
    const int written = write_model(bench, text);
    free(text);
    return written < 0 ? 0 : sc_drive_decoder(bench->path);
}

/* What exporters write: the n-th of the models, so that they are all in turn. */
static int try_export(struct bench *bench, struct sc_draw *draw)
{
    struct sc_arena arena = {0};
    const size_t number = (size_t)(draw->state >> 8); /* nothing is drawn yet */
    char *whole;
    size_t whole_bytes, n;
    const char *path = bench->exports.gl_pathv[number % bench->exports.gl_pathc];
    if (sc_file_read_text(path, 1 << 24, &arena, &whole, &whole_bytes) != SC_OK) {
        fail(path);
    }
    unsigned char *bytes = sc_mutate_message(draw, (const unsigned char *)whole, whole_bytes, &n);
    write_file(bench->path, bytes, n);
    free(bytes);
    sc_arena_release(&arena);
    return sc_draw_below(draw, 2) ? sc_drive_decoder(bench->path) : sc_drive_model(draw, bench->path, true);
}

static int try_plan(struct bench *bench, struct sc_draw *draw)
{
    size_t n;
    unsigned char *bytes = sc_mutate_json_file(draw, bench->plan, &n);
    write_file(bench->plan_path, bytes, n);
    free(bytes);
    write_file(bench->path, bench->seeds[1].bytes, bench->seeds[1].n);
    return sc_drive_plan(draw, bench->path, bench->plan_path);
}

static int try_tokenizer(struct bench *bench, struct sc_draw *draw)
{
    size_t n;
    unsigned char *bytes = sc_mutate_json_file(draw, bench->tokenizer, &n);
    const int reached = sc_drive_tokenizer(bytes, n);
    free(bytes);
    return reached;
}

static int try_npy(struct bench *bench, struct sc_draw *draw)
{
    static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    char file[128 + 24] = {0};
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    size_t n;
    (void)bench;
    memset(file, ' ', 128);
    memcpy(file, head, sizeof head - 1);
    file[127] = '\n';
    /* the header is text: a number there is worth more than a flipped bit */
    char *text = sc_mutate_text(draw, file + 10, " ,'():<|");
    unsigned char *bytes;
    if (sc_draw_below(draw, 2)) {
        memcpy(file + 10, text, strlen(text) < 118 ? strlen(text) : 118);
    }
    bytes = sc_mutate_bytes(draw, (unsigned char *)file, sizeof file, &n);
    const int reached = sc_npy_parse(bytes, n, "x.npy", &arena, &tensor) == SC_OK;
    free(text);
    free(bytes);
    sc_arena_release(&arena);
    return reached;
}

static int try_states(struct bench *bench, struct sc_draw *draw)
{
    if (!bench->states) {
        write_file(bench->path, bench->seeds[0].bytes, bench->seeds[0].n);
        bench->states = sc_drive_states_open(bench->path, bench->folder);
    }
    const size_t number = (size_t)(draw->state >> 8); /* nothing is drawn yet */
    const int reached = bench->states ? sc_drive_states(bench->states, draw, number) : -1;
    if (reached < 0) {
        fprintf(stderr, "mutation_test: a damaged state was taken for whole\n");
        say_what();
        exit(1);
    }
    return reached;
}

static int try_config(struct bench *bench, struct sc_draw *draw)
{
    return sc_drive_config(draw, bench->folder);
}

static int try_sound(struct bench *bench, struct sc_draw *draw)
{
    return sc_drive_sound(draw, bench->folder);
}

static int try_requests(struct bench *bench, struct sc_draw *draw)
{
    return sc_drive_requests(draw, bench->folder);
}

/* A value for files and messages: a tensor, or a sequence of two. */
static void sample(struct sc_draw *draw, struct sc_value items[3], struct sc_fact *fact, struct sc_string *strings)
{
    static const int64_t dims[] = {2, 3};
    static int64_t numbers[6] = {1, -2, 3, -4, 5, -6};
    const bool texts = sc_draw_below(draw, 4) == 0;
    for (int i = 0; i < 2; i++) {
        items[i].kind = SC_KIND_TENSOR;
        sc_tensor_init(&items[i].u.tensor, texts ? SC_STRING : SC_I64, 2, dims);
        items[i].u.tensor.data = texts ? (void *)strings : (void *)numbers;
    }
    items[2].kind = SC_KIND_SEQUENCE;
    items[2].u.sequence.type = items[0].u.tensor.type;
    items[2].u.sequence.n = 2;
    items[2].u.sequence.items = items;
    sc_fact_init(fact);
    fact->type = items[0].u.tensor.type;
    fact->rank = -1;
    fact->kind = sc_draw_below(draw, 2) ? SC_KIND_TENSOR : SC_KIND_SEQUENCE;
    fact->item_kind = fact->kind == SC_KIND_SEQUENCE ? SC_KIND_TENSOR : SC_KIND_NONE;
}

static int try_pb(struct bench *bench, struct sc_draw *draw)
{
    struct sc_string strings[6] = {{"a", 1}, {"", 0}, {"bcd", 3}, {"e", 1}, {"f", 1}, {"g", 1}};
    struct sc_value items[3] = {{.kind = SC_KIND_NONE}}, value;
    struct sc_fact fact;
    struct sc_arena arena = {0};
    size_t n = 0;
    sample(draw, items, &fact, strings);
    if (sc_value_write_pb(bench->path, "x", fact.kind == SC_KIND_TENSOR ? &items[0] : &items[2]) != SC_OK) {
        fail("cannot write a .pb file");
    }
    struct sc_file file;
    if (sc_file_map(bench->path, &file) != SC_OK) {
        fail(bench->path);
    }
    unsigned char *bytes = sc_draw_below(draw, 3) ? sc_mutate_message(draw, file.data, file.bytes, &n)
                                                  : sc_mutate_bytes(draw, file.data, file.bytes, &n);
    sc_file_release(&file);
    write_file(bench->path, bytes, n);
    free(bytes);
    if (sc_draw_below(draw, 8) == 0) {
        fact.kind = SC_KIND_OPTIONAL;
        fact.item_kind = SC_KIND_TENSOR;
    }
    const int reached = sc_value_read_pb(bench->path, &fact, &arena, &value) == SC_OK;
    sc_arena_release(&arena);
    return reached;
}

static int try_wire(struct bench *bench, struct sc_draw *draw)
{
    struct sc_string strings[6] = {{"a", 1}, {"", 0}, {"bcd", 3}, {"e", 1}, {"f", 1}, {"g", 1}};
    struct sc_value items[3] = {{.kind = SC_KIND_NONE}}, received[3];
    struct sc_fact fact;
    struct sc_arena arena = {0};
    struct sc_wire_header header = {.kind = SC_WIRE_DATA};
    struct sc_error error;
    size_t n;
    (void)bench;
    sample(draw, items, &fact, strings);
    const struct sc_value *const values[] = {&items[0], &items[2]};
    const size_t bytes = sc_wire_bytes(0, values, 2);
    unsigned char *message = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!message) {
        fail("message");
    }
    sc_wire_write(&header, values, 2, message);
    unsigned char *damaged = sc_mutate_bytes(draw, message, bytes, &n);
    free(message);
    message = aligned_alloc(64, (n + 64) / 64 * 64); /* as a link gives it */
    if (!message) {
        fail("message");
    }
    memcpy(message, damaged, n);
    free(damaged);
    int reached = 0;
    if (sc_wire_read(message, n, &header, &arena, 3, received) == SC_OK) {
        reached = sc_wire_read_error(&received[0], &error) == SC_OK ? 2 : 1;
    }
    free(message);
    sc_arena_release(&arena);
    return reached;
}

static const struct {
    const char *name;
    int (*try)(struct bench *bench, struct sc_draw *draw);
    int share; /* of the time */
} kinds[] = {{"operator", try_operator, 6}, {"model", try_model, 4}, {"message", try_message, 3},
    {"bytes", try_bytes, 1}, {"decoder", try_decoder, 2}, {"export", try_export, 2}, {"plan", try_plan, 1},
    {"tokenizer", try_tokenizer, 2}, {"npy", try_npy, 1}, {"pb", try_pb, 1}, {"wire", try_wire, 1},
    {"states", try_states, 2}, {"config", try_config, 1}, {"sound", try_sound, 1}, {"requests", try_requests, 1}};

static void prepare(struct bench *bench)
{
    static const char *const names[] = {"decoder", "mlp", "control", "conv", "function", "loop"};
    const char *temporary = getenv("TMPDIR");
    char path[512];
    snprintf(bench->folder, sizeof bench->folder, "%.40s/stagecoach_XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(bench->folder)) {
        fail(bench->folder);
    }
    snprintf(bench->path, sizeof bench->path, "%s/model.onnx", bench->folder);
    snprintf(bench->plan_path, sizeof bench->plan_path, "%s/plan.json", bench->folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct seed *seed = &bench->seeds[bench->n_seeds++];
        int line;
        snprintf(path, sizeof path, "%s/tests/hostile/models/%s.txt", SC_SOURCE_DIR, names[i]);
        seed->text = read_file(path);
        seed->bytes = sc_test_model(seed->text, &seed->n, &line);
        if (!seed->bytes) {
            fail(path);
        }
    }
    if (glob(SC_SOURCE_DIR "/tests/exports/models/*/model.onnx", 0, NULL, &bench->exports) != 0) {
        fail("tests/exports/models");
    }
    snprintf(path, sizeof path, "%s/tests/hostile/models/tokenizer.json", SC_SOURCE_DIR);
    bench->tokenizer = read_file(path);
    bench->plan = strdup("{\"format\": 1, \"objective\": \"throughput\", \"bound_ms\": 1.5, \"stages\": [\n"
                         "  {\"ranks\": [0], \"ms\": 1, \"weight_bytes\": 4096, \"nodes\": [\"h..r\", \"t\"]},\n"
                         "  {\"ranks\": [1], \"ms\": 2, \"weight_bytes\": 0, \"nodes\": [\"g..s\", \"sum..ct\"]}],\n"
                         "  \"removed\": []}\n");
}

static void clean_up(struct bench *bench)
{
    for (int s = 0; s < bench->n_seeds; s++) {
        free(bench->seeds[s].text);
        free(bench->seeds[s].bytes);
    }
    sc_drive_states_close(bench->states);
    globfree(&bench->exports);
    free(bench->tokenizer);
    free(bench->plan);
    (void)unlink(bench->path);
    (void)unlink(bench->plan_path);
    (void)rmdir(bench->folder);
}

/* By the time that is worked, as a machine may be busy or stand still; one that waits for nothing works none. */
static void limit_time(int busy_seconds, unsigned hang_seconds)
{
    const struct itimerval busy = {.it_value = {.tv_sec = busy_seconds}};
    (void)setitimer(ITIMER_PROF, &busy, NULL);
    (void)alarm(hang_seconds);
}

static void try_kind(struct bench *bench, size_t kind, long first, long count, int64_t until)
{
    long number = first;
    memset(bench->reached, 0, sizeof bench->reached);
    for (; number < first + count && (until == 0 || sc_clock_ns() < until); number++) {
        struct sc_draw draw = {.state = (uint64_t)number << 8 | kind};
        snprintf(doing, sizeof doing, "mutation_test 0 %s %ld 1\n", kinds[kind].name, number);
        limit_time(BUSY_SECONDS, HANG_SECONDS);
        bench->reached[kinds[kind].try(bench, &draw)]++;
    }
    limit_time(0, 0);
    printf("%-10s %6ld tried, came so far:", kinds[kind].name, number - first);
    for (size_t r = 0; r < sizeof bench->reached / sizeof *bench->reached; r++) {
        printf(" %d", bench->reached[r]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct bench bench = {.n_seeds = 0};
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 20;
    const long first = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    const long count = argc > 4 ? strtol(argv[4], NULL, 10) : 1000000;
    int shares = 0;
    watch();
    prepare(&bench);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        shares += argc > 2 && strcmp(argv[2], kinds[k].name) != 0 ? 0 : kinds[k].share;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (argc > 2 && strcmp(argv[2], kinds[k].name) != 0) {
            continue;
        }
        const int64_t nanoseconds = (int64_t)(seconds * 1e9 * kinds[k].share / shares);
        try_kind(&bench, k, first, count, seconds > 0 ? sc_clock_ns() + nanoseconds : 0);
    }
    clean_up(&bench);
    return 0;
}
