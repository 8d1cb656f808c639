/* SPDX-License-Identifier: Apache-2.0
 * In steady state a decode step allocates nothing, in no thread of any rank, and writes no tensor as long as the past.
 *
 * usage: alloc_test decoder MODEL N_RANKS N_THREADS      ranks as threads, a stage each
 *        alloc_test slots MODEL N_RANKS N_THREADS        the same, five texts at once
 *        alloc_test encoder MODEL N_RANKS N_THREADS      behind an encoder
 *        alloc_test encoders MODEL N_RANKS N_THREADS     the same, five texts at once, each with a source of its own
 *        alloc_test mpi MODEL                            under mpirun, a stage a rank
 *        alloc_test control MODEL                        its states are tensors, written anew; its first steps allocate
 *        alloc_test frame MODEL                          dims that were seen before, and others */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/alloc/counter.h"
#include "passes/passes.h"
#include "decode/schedule.h"
#include "decode/source.h"
#include "exec/frame.h"
#include "tests/decoder/ranks.h"

/* 40 tokens of prompt; the 38th answer is drawn after a step that brings the length from 76 to 77. Neither is a dim of
 * the models. Counted are the steps from the 12th answer to the 32nd. */
enum {
    PROMPT = 40,
    CONTEXT = 128,
    ANSWERS = 38,
    PAST = 76,
    TOTAL = 77,
    ARM_AT = 12,
    DISARM_AT = 32,
    MOST_RANKS = 8,
    SLOTS = 5
};

struct test {
    int arm_at, disarm_at, past; /* 0: DISARM_AT, PAST */
    int64_t n_tokens;
    int n_peers; /* other processes */
    pid_t peers[MOST_RANKS];
    long calls; /* of this process while armed */
    _Atomic int writing; /* steps of the last run, over ranks, that wrote a tensor with the length of past or total */
};

static void tell_peers(const struct test *test, int signal_number)
{
    for (int p = 0; p < test->n_peers; p++) {
        if (kill(test->peers[p], signal_number) != 0) {
            perror("kill");
            abort();
        }
    }
}

static bool on_token(void *arg, int64_t token)
{
    struct test *test = arg;
    (void)token;
    test->n_tokens++;
    if (test->n_tokens == test->arm_at) {
        tell_peers(test, SIGUSR1);
        counter_arm();
    } else if (test->n_tokens == (test->disarm_at ? test->disarm_at : DISARM_AT)) {
        counter_disarm();
        test->calls = counter_calls();
        tell_peers(test, SIGUSR2);
    }
    return true;
}

static enum sc_status drive(void *arg, struct sc_decoder *decoder)
{
    struct test *test = arg;
    int64_t prompt[PROMPT];
    for (int i = 0; i < PROMPT; i++) {
        prompt[i] = (i * 7 + 3) % (sc_decoder_vocabulary(decoder) - 1) + 1;
    }
    struct sc_request request = {.prompt = prompt,
        .n_prompt = PROMPT,
        .n_predict = ANSWERS,
        .sample = {.top_p = 1},
        .on_token = on_token,
        .arg = test};
    return sc_decoder_generate(decoder, &request);
}

/* A decoder behind an encoder may hold few positions: 4 tokens, and the last of 25 answers is drawn after a step that
 * brings the length from 27 to 28. */
enum { ENCODED_CONTEXT = 32, BEGUN = 4, ENCODED_ANSWERS = 25, ENCODED_PAST = 27, ENCODED_DISARM = 22, SOURCE = 9 };

/* Of a text whose source has so many tokens, or is a sound. */
static struct sc_request encoded(const struct sc_decoder *decoder, int64_t n_source, struct sc_tensor *features)
{
    static const int64_t ids[SOURCE] = {5, 20, 7, 33, 8, 9, 41, 6, 2};
    static float spectrogram[16 * 48];
    int64_t bands, frames, dims[2] = {16, 48};
    sc_tensor_init(features, SC_F32, 2, dims);
    features->data = spectrogram;
    const bool hears = sc_source_feeds_features(sc_decoder_source(decoder), &bands, &frames);
    return (struct sc_request){.prompt = ids,
        .n_prompt = BEGUN,
        .source = {.ids = hears ? NULL : ids, .n = hears ? 0 : n_source, .features = hears ? features : NULL},
        .n_predict = ENCODED_ANSWERS,
        .sample = {.top_p = 1}};
}

static enum sc_status drive_encoded(void *arg, struct sc_decoder *decoder)
{
    struct sc_tensor features;
    struct sc_request request = encoded(decoder, SOURCE, &features);
    request.on_token = on_token;
    request.arg = arg;
    return sc_decoder_generate(decoder, &request);
}

/* Until the watched one, which comes last, is done: the others are under way by then, and go on until it ends. */
static enum sc_status run_watched(struct sc_schedule *schedule, struct sc_request *requests)
{
    enum sc_status status = SC_OK;
    for (int r = 0; r < SLOTS && status == SC_OK; r++) {
        status = sc_schedule_add(schedule, &requests[r]);
    }
    while (status == SC_OK && !requests[SLOTS - 1].done) {
        status = sc_schedule_step(schedule);
    }
    for (int r = 0; r < SLOTS; r++) {
        sc_schedule_cancel(schedule, &requests[r]);
    }
    return status == SC_OK ? sc_schedule_settle(schedule) : status;
}

static enum sc_status drive_encoded_slots(void *arg, struct sc_decoder *decoder)
{
    struct sc_request requests[SLOTS];
    struct sc_tensor features;
    struct sc_schedule *schedule = NULL;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    for (int r = 0; r < SLOTS; r++) {
        requests[r] = encoded(decoder, SOURCE - r, &features);
        requests[r].n_predict += r == SLOTS - 1 ? 0 : 3;
    }
    requests[SLOTS - 1].on_token = on_token;
    requests[SLOTS - 1].arg = arg;
    const enum sc_status status = run_watched(schedule, requests);
    sc_schedule_free(schedule);
    return status;
}

static enum sc_status drive_slots(void *arg, struct sc_decoder *decoder)
{
    struct sc_request requests[SLOTS];
    struct sc_schedule *schedule = NULL;
    int64_t prompts[SLOTS][PROMPT];
    SC_TRY(sc_schedule_create(decoder, &schedule));
    for (int r = 0; r < SLOTS; r++) {
        for (int i = 0; i < PROMPT; i++) {
            prompts[r][i] = (i * 7 + r) % (sc_decoder_vocabulary(decoder) - 1) + 1;
        }
        const bool watched = r == SLOTS - 1;
        requests[r] = (struct sc_request){.prompt = prompts[r],
            .n_prompt = PROMPT,
            .n_predict = watched ? ANSWERS : CONTEXT - PROMPT,
            .sample = {.temperature = 0.8, .top_k = 40, .top_p = 0.9},
            .on_token = watched ? on_token : NULL,
            .arg = arg};
    }
    const enum sc_status status = run_watched(schedule, requests);
    sc_schedule_free(schedule);
    return status;
}

static void served(void *arg, struct sc_decoder *decoder)
{
    struct test *test = arg;
    const struct sc_session *session = sc_decoder_session(decoder);
    const int past = test->past ? test->past : PAST;
    test->writing += sc_session_steps_writing_dim(session, past) + sc_session_steps_writing_dim(session, past + 1);
}

static struct sc_decoder_options options(int n_stages, int n_threads)
{
    return (struct sc_decoder_options){.chunk = 16,
        .context = CONTEXT,
        .session = {.n_stages = n_stages,
            .n_threads = n_threads,
            .n_slots = SLOTS,
            .pin = -1,
            .keep_binding = true,
            .log = {.fd = -1}}};
}

static int fail(const char *what)
{
    fprintf(stderr, "alloc_test: %s: %s\n", what, sc_error_last()->text);
    return 2;
}

/* Whether the steps should have allocated, and written. */
struct expectation {
    bool calls, writing;
};

static int judge(const char *what, const struct test *test, struct expectation wanted)
{
    const long calls = test->calls;
    const int writing = test->writing;
    const bool good = (calls > 0) == wanted.calls && (writing > 0) == wanted.writing;
    printf("%s: %ld allocations in %d steps, %d steps wrote a tensor of the past's length: %s\n", what, calls,
        (test->disarm_at ? test->disarm_at : DISARM_AT) - test->arm_at, writing, good ? "ok" : "FAIL");
    if (!good && calls > 0) {
        counter_print_first();
    }
    return !good;
}

typedef enum sc_status drive_fn(void *arg, struct sc_decoder *decoder);

static int run_decoder(const char *model, int n_ranks, int n_threads, drive_fn *how, struct expectation wanted)
{
    struct test test = {.arm_at = ARM_AT};
    struct sc_ranks ranks = {.n = n_ranks,
        .model = model,
        .options = options(n_ranks, n_threads),
        .drive = how,
        .served = served,
        .arg = &test};
    if (sc_ranks_run(&ranks) != SC_OK) {
        return fail(model);
    }
    return test.n_tokens == ANSWERS ? judge("decoder", &test, wanted) : fail("too few tokens");
}

static int run_encoded(const char *model, int n_ranks, int n_threads, drive_fn *how)
{
    struct test test = {.arm_at = ARM_AT, .disarm_at = ENCODED_DISARM, .past = ENCODED_PAST};
    struct sc_ranks ranks = {.n = n_ranks,
        .model = model,
        .options = options(n_ranks, n_threads),
        .drive = how,
        .served = served,
        .arg = &test};
    ranks.options.context = ENCODED_CONTEXT;
    if (sc_ranks_run(&ranks) != SC_OK) {
        return fail(model);
    }
    const struct expectation wanted = {0};
    return test.n_tokens == ENCODED_ANSWERS ? judge("encoder", &test, wanted) : fail("too few tokens");
}

/* Armed before the first step, which makes layouts: the counter counts. */
static int run_control(const char *model)
{
    struct test test = {.arm_at = 1};
    struct sc_ranks ranks = {
        .n = 1, .model = model, .options = options(1, 2), .drive = drive, .served = served, .arg = &test};
    if (sc_ranks_run(&ranks) != SC_OK) {
        return fail(model);
    }
    const struct expectation dense = {.writing = true}, first = {.calls = true, .writing = true};
    return run_decoder(model, 1, 1, drive, dense) + judge("first steps", &test, first);
}

static volatile sig_atomic_t was_armed;

static void on_signal(int number)
{
    if (number == SIGUSR1) {
        was_armed = 1;
        counter_arm();
    } else {
        counter_disarm();
    }
}

struct report {
    pid_t pid;
    int writing;
    long calls;
};

/* Rank 0 says by signals when the others count. */
static enum sc_status run_rank(struct sc_world *world, const char *path, struct test *test)
{
    struct sc_model *model = NULL;
    struct sc_decoder *decoder = NULL;
    struct report all[MOST_RANKS];
    const int rank = sc_world_rank(world), size = sc_world_size(world);
    const struct sc_decoder_options chosen = options(size, 1);
    const struct report here = {.pid = getpid()};
    const struct sigaction action = {.sa_handler = on_signal}; /* the counter is atomic: a handler may arm it */
    if (size > MOST_RANKS || sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGUSR2, &action, NULL) != 0) {
        return sc_fail(SC_INTERNAL, "%d ranks, or no signals", size);
    }
    SC_TRY(sc_world_gather(world, &here, sizeof here, rank == 0 ? all : NULL));
    for (int r = 1; r < size && rank == 0; r++) {
        test->peers[test->n_peers++] = all[r].pid;
    }
    SC_TRY(sc_world_agree(world, sc_ranks_open_model(path, &model)));
    SC_TRY(sc_decoder_open(world, model, &chosen, &decoder));
    struct sc_session *session = sc_decoder_session(decoder);
    enum sc_status status = rank == 0 ? drive(test, decoder) : sc_session_serve(session);
    if (rank == 0) {
        SC_TRY(status);
        status = sc_session_finish(session);
    }
    served(test, decoder);
    const struct report mine = {.calls = rank == 0 ? test->calls : counter_calls(), .writing = test->writing};
    if (mine.calls > 0) {
        counter_print_first();
    }
    if (status == SC_OK && rank != 0 && !was_armed) {
        status = sc_fail(SC_INTERNAL, "rank %d was not told to count", rank);
    }
    SC_TRY(sc_world_agree(world, status));
    SC_TRY(sc_world_gather(world, &mine, sizeof mine, rank == 0 ? all : NULL));
    for (int r = 1; r < size && rank == 0; r++) {
        test->calls += all[r].calls;
        test->writing += all[r].writing;
    }
    sc_decoder_close(decoder);
    sc_model_close(model);
    return SC_OK;
}

static int run_mpi(const char *model)
{
    struct sc_world *world = NULL;
    struct test test = {.arm_at = ARM_AT};
    if (sc_world_open_mpi(&world) != SC_OK) {
        return fail("mpi");
    }
    const int rank = sc_world_rank(world);
    if (run_rank(world, model, &test) != SC_OK) {
        fail(model);
        sc_world_abort(world, 2);
    }
    sc_world_free(world);
    return rank == 0 ? judge("mpi", &test, (struct expectation){0}) : 0;
}

enum { LARGEST = 40, FAR_LARGER = 4000 };

/* Inputs of n elements. */
static enum sc_status run_frame_once(struct sc_frame *frame, const struct sc_model *model, int64_t n)
{
    static float data[FAR_LARGER];
    struct sc_value values[2];
    const struct sc_value *feeds[2] = {&values[0], &values[1]};
    for (int i = 0; i < model->graph->n_inputs; i++) {
        values[i].kind = SC_KIND_TENSOR;
        sc_tensor_init(&values[i].u.tensor, SC_F32, 1, &n);
        values[i].u.tensor.data = data;
    }
    for (int i = 0; i < FAR_LARGER; i++) {
        data[i] = (float)(i % 3);
    }
    return sc_frame_run(frame, feeds, 0);
}

/* Dims that were seen before, others that are not larger than the largest, and larger ones. */
struct counts {
    long again, anew, larger;
};

static enum sc_status run_and_count(
    struct sc_frame *frame, const struct sc_model *model, int64_t from, int64_t to, long *calls)
{
    enum sc_status status = SC_OK;
    counter_arm();
    for (int64_t n = from; n <= to && status == SC_OK; n++) {
        status = run_frame_once(frame, model, n);
    }
    counter_disarm();
    *calls = counter_calls();
    return status;
}

static enum sc_status count_frame(struct sc_frame *frame, const struct sc_model *model, struct counts *counts)
{
    SC_TRY(run_frame_once(frame, model, LARGEST));
    for (int round = 0; round < 3; round++) { /* the arenas settle */
        for (int64_t n = 1; n <= 8; n++) {
            SC_TRY(run_frame_once(frame, model, n));
        }
    }
    const int64_t before = sc_frame_placements(frame);
    SC_TRY(run_and_count(frame, model, 5, 8, &counts->again));
    SC_TRY(run_and_count(frame, model, 9, LARGEST - 1, &counts->anew));
    if (sc_frame_placements(frame) != before) {
        return sc_fail(SC_INTERNAL, "places were chosen anew for dims that are not larger");
    }
    return run_and_count(frame, model, FAR_LARGER, FAR_LARGER, &counts->larger);
}

static enum sc_status compile_and_count(struct sc_model *model, struct counts *counts)
{
    const struct sc_kernels *kernels;
    struct sc_program *program = NULL;
    struct sc_frame *frame = NULL;
    SC_TRY(sc_kernels_best(&kernels));
    SC_TRY(sc_passes_run(model, kernels));
    const struct sc_program_spec spec = sc_program_whole(model, kernels);
    SC_TRY(sc_program_compile(&spec, &program));
    SC_TRY(sc_program_load(program, NULL));
    SC_TRY(sc_frame_create(program, &(struct sc_frame_options){.team = NULL}, &frame));
    const enum sc_status status = count_frame(frame, model, counts);
    sc_frame_free(frame);
    sc_program_free(program);
    return status;
}

static int run_frame(const char *path)
{
    struct sc_model *model = NULL;
    struct counts counts = {-1, -1, -1};
    if (sc_model_open(path, &model) != SC_OK || compile_and_count(model, &counts) != SC_OK) {
        return fail(path);
    }
    sc_model_close(model);
    printf("frame: %ld allocations for dims seen before, %ld for others up to the largest, %ld for larger ones\n",
        counts.again, counts.anew, counts.larger);
    return !(counts.again == 0 && counts.anew == 0 && counts.larger > 0);
}

int main(int argc, char **argv)
{
    counter_prepare();
    if (argc == 5 && strcmp(argv[1], "decoder") == 0) {
        return run_decoder(argv[2], atoi(argv[3]), atoi(argv[4]), drive, (struct expectation){0});
    }
    if (argc == 5 && strcmp(argv[1], "slots") == 0) {
        return run_decoder(argv[2], atoi(argv[3]), atoi(argv[4]), drive_slots, (struct expectation){0});
    }
    if (argc == 5 && strcmp(argv[1], "encoders") == 0) {
        return run_encoded(argv[2], atoi(argv[3]), atoi(argv[4]), drive_encoded_slots);
    }
    if (argc == 5 && strcmp(argv[1], "encoder") == 0) {
        return run_encoded(argv[2], atoi(argv[3]), atoi(argv[4]), drive_encoded);
    }
    if (argc == 3 && strcmp(argv[1], "mpi") == 0) {
        return run_mpi(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "control") == 0) {
        return run_control(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "frame") == 0) {
        return run_frame(argv[2]);
    }
    fprintf(stderr, "usage: alloc_test decoder|slots|encoder|encoders|mpi|control|frame MODEL ...\n");
    return 2;
}
