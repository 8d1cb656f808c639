/* SPDX-License-Identifier: Apache-2.0
 * Runs models of one operator on one, two and three threads, and with the parts of loops in another order on other
 * workers; all must give the same bits. Linked so that loops over parts and kernels are seen.
 *
 *     walk < LIST      each line: MODEL INPUT.pb ..., separated by tabs. Answers a line for each:
 *     ok PARTS KERNELS TICKS MICROSECONDS     the most parts of a loop, 0 without one; whether kernels of the level's
 *                      table were called; whether the last node says that all that takes long are short parts
 *                      (SC_OP_TICKS), and the longest stretch of CPU time without the end of a part, on one thread
 *     no WHY           it does not run, or a way gives other bits */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec/frame.h"
#include "launch/value_digest.h"
#include "passes/passes.h"

enum { THREADS = 3, WAYS = THREADS + 1, MAX_INPUTS = 64, TOUCHED = 42 };

struct walk {
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_program *program;
    const struct sc_kernels *kernels;
    struct sc_value values[MAX_INPUTS];
    const struct sc_value *inputs[MAX_INPUTS];
};

/* What the loops of a run were like, and how they are run. */
static struct {
    _Atomic int64_t parts; /* a part may hold a loop too */
    bool backwards;
    bool timed;
    double since, longest; /* CPU time of the last end of a part; the longest between two */
} loops;

static void count_parts(int64_t n)
{
    int64_t most = loops.parts;
    while (n > most && !atomic_compare_exchange_weak(&loops.parts, &most, n)) { }
}

static void look_at_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    const double now = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
    loops.longest = loops.since > 0 && now - loops.since > loops.longest ? now - loops.since : loops.longest;
    loops.since = now;
}

void __real_sc_team_for(struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg);
void __wrap_sc_team_for(struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg);

/* Which worker runs which part, and when, is left open: a loop must not care. */
void __wrap_sc_team_for(struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg)
{
    count_parts(n_parts);
    for (int64_t part = 0; loops.timed && part < n_parts; part++) {
        fn(arg, part, 0);
        look_at_clock();
    }
    if (loops.timed) {
        return;
    }
    if (!loops.backwards) {
        __real_sc_team_for(team, n_parts, fn, arg);
        return;
    }
    uint32_t dice = 1;
    for (int64_t part = n_parts; part-- > 0;) {
        dice = dice * 1664525U + 1013904223U;
        fn(arg, part, (int)((dice >> 16) % (uint32_t)sc_team_size(team)));
    }
}

static enum sc_status compile(struct walk *w, const struct sc_kernels *kernels, struct sc_program **program)
{
    const struct sc_program_spec spec = sc_program_whole(w->model, kernels);
    SC_TRY(sc_program_compile(&spec, program));
    return sc_program_load(*program, NULL);
}

static enum sc_status open_model(struct walk *w, const char *path, int n, char **paths)
{
    SC_TRY(sc_kernels_best(&w->kernels));
    SC_TRY(sc_model_open(path, &w->model));
    SC_TRY(sc_passes_rewrite(w->model, NULL));
    SC_TRY(sc_passes_run(w->model, w->kernels));
    const struct sc_graph *graph = w->model->graph;
    if (n != graph->n_inputs) {
        return sc_fail(SC_BAD_USAGE, "%d inputs are given, the model has %d", n, graph->n_inputs);
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(sc_value_read_pb(paths[i], &graph->values[graph->inputs[i]].fact, &w->arena, &w->values[i]));
        w->inputs[i] = &w->values[i];
    }
    return compile(w, w->kernels, &w->program);
}

static enum sc_status run_on(const struct walk *w, int n_workers, uint64_t *digest)
{
    struct sc_team *team = NULL;
    struct sc_frame *frame = NULL;
    const struct sc_team_options options = {.n_workers = n_workers};
    enum sc_status status = sc_team_create(&options, &team);
    status = status == SC_OK ? sc_frame_create(w->program, &(struct sc_frame_options){.team = team}, &frame) : status;
    status = status == SC_OK ? sc_frame_run(frame, w->inputs, 0) : status;
    *digest = SC_DIGEST_START;
    for (int i = 0; status == SC_OK && i < w->model->graph->n_outputs; i++) {
        *digest = sc_digest_value(*digest, sc_frame_output(frame, i));
    }
    sc_frame_free(frame);
    sc_team_free(team);
    return status;
}

/* Twice: what is laid out and touched for the first time is no work of the operator. */
static double longest_stretch(const struct walk *w)
{
    struct sc_frame *frame = NULL;
    loops.timed = true;
    if (sc_frame_create(w->program, &(struct sc_frame_options){.team = NULL}, &frame) == SC_OK) {
        for (int i = 0; i < 2; i++) {
            loops.since = loops.longest = 0;
            look_at_clock();
            (void)sc_frame_run(frame, w->inputs, 0);
            look_at_clock();
        }
    }
    loops.timed = false;
    sc_frame_free(frame);
    return loops.longest;
}

static bool has_ticks(const struct sc_graph *graph)
{
    const struct sc_node *last = graph->n_nodes > 0 ? &graph->nodes[graph->n_nodes - 1] : NULL;
    const struct sc_op *op = last ? sc_op_find(last->domain, last->op, last->version) : NULL;
    return op && op->flags & SC_OP_TICKS;
}

static void touched(void)
{
    _exit(TOUCHED);
}

/* In a process of its own, whose table has nothing but a way out. */
static bool uses_kernels(struct walk *w)
{
    const pid_t child = fork();
    if (child == 0) {
        struct sc_kernels table = *w->kernels;
        void (*way_out)(void) = touched;
        for (size_t at = offsetof(struct sc_kernels, unary); at < sizeof table; at += sizeof way_out) {
            if (at != offsetof(struct sc_kernels, gemm_rows) && at != offsetof(struct sc_kernels, gemm_panels)) {
                memcpy((char *)&table + at, &way_out, sizeof way_out);
            }
        }
        struct sc_frame *frame = NULL;
        if (compile(w, &table, &w->program) == SC_OK &&
            sc_frame_create(w->program, &(struct sc_frame_options){.team = NULL}, &frame) == SC_OK) {
            (void)sc_frame_run(frame, w->inputs, 0);
        }
        _exit(0);
    }
    int how = 0;
    return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == TOUCHED;
}

static void walk(const char *path, int n, char **paths)
{
    static const char *const ways[WAYS] = {"one thread", "two threads", "three threads", "another order of parts"};
    struct walk w = {.model = NULL};
    uint64_t digests[WAYS];
    enum sc_status status = open_model(&w, path, n, paths);
    loops.parts = 0;
    const char *differs = NULL;
    for (int i = 0; status == SC_OK && i < WAYS; i++) {
        loops.backwards = i == THREADS;
        status = run_on(&w, loops.backwards ? THREADS : i + 1, &digests[i]);
        loops.backwards = false;
        differs = differs || digests[i] == digests[0] ? differs : ways[i];
    }
    if (status != SC_OK) {
        printf("no %s\n", sc_error_last()->text);
    } else if (differs) {
        printf("no %s: other bits than one thread\n", differs);
    } else {
        printf("ok %lld %d %d %.0f\n", (long long)loops.parts, uses_kernels(&w), has_ticks(w.model->graph),
            longest_stretch(&w));
    }
    fflush(stdout);
    sc_program_free(w.program);
    sc_model_close(w.model);
    sc_arena_release(&w.arena);
}

int main(void)
{
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        char *words[MAX_INPUTS + 1];
        int n = 0;
        line[strcspn(line, "\n")] = '\0';
        for (char *at = line; at && n <= MAX_INPUTS; n++) {
            words[n] = at;
            at = strchr(at, '\t');
            if (at) {
                *at++ = '\0';
            }
        }
        walk(words[0], n - 1, words + 1);
    }
    return 0;
}
