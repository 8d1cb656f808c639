/* SPDX-License-Identifier: Apache-2.0
 * Random requests that come, run together, share beginnings, wait for pages and are cancelled, while the plan changes
 * and changes back under them: every text is the one that the request makes alone, and memory stays what it was. Behind
 * an encoder each has a source of its own.
 *
 * usage: soak_test threads MODEL N_REQUESTS        3 ranks as threads
 *        soak_test mpi MODEL N_REQUESTS            under mpirun, a stage a rank */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "decode/schedule.h"
#include "decode/source.h"
#include "decode/union.h"
#include "partitioner/plan.h"
#include "tests/decoder/ranks.h"

enum { SLOTS = 10, MOST_PROMPT = 150, MOST_MADE = 48, STOCKS = 4, STOCK = 130 };

enum { STAGES = 3, PLANS = 2, MOVES = 8 };

enum { SOUNDS = 4, BANDS = 16, FRAMES = 48, MOST_SOURCE = 90 };

/* Decoders behind encoders may have few positions. */
static const struct sizes {
    int context, pages, chunk, most_prompt, most_made;
} usual = {256, 26, 24, MOST_PROMPT, MOST_MADE}, behind_encoder = {32, 7, 4, 9, 22};

struct text {
    int64_t source[MOST_SOURCE];
    int64_t prompt[MOST_PROMPT], made[MOST_MADE], alone[MOST_MADE];
    int n_made, n_alone;
    int stops_at; /* tokens after which it stops itself */
    int cancelled_at; /* turn at which somebody cancels it; -1: nobody does */
    int comes_at; /* turn */
    enum sc_stop alone_stop;
    struct sc_request request;
};

struct soak {
    int n;
    struct text *texts;
    int64_t stocks[STOCKS][STOCK]; /* how prompts begin */
    float sounds[SOUNDS][BANDS * FRAMES];
    struct sc_tensor features[SOUNDS];
    const struct sizes *sizes;
    int64_t vocabulary;
    bool alone;
    const struct sc_source_feeds *source; /* what an encoder reads; NULL: there is none */
    char plans[PLANS][64]; /* files; the plan changes to one after the other */
    int n_moves;
    int64_t first_bytes, last_bytes; /* allocated, half way, and at the end under the same plan */
    struct sc_schedule_counts counts;
    int n_stages;
    bool apart;
};

static const struct sc_random_key dice = {.seed = 20};

static double draw(int i, int what)
{
    return sc_random_uniform(&dice, (uint64_t)(i * 64 + what));
}

static int pick(int i, int what, int least, int most)
{
    return least + (int)(draw(i, what) * (most - least + 1));
}

static bool on_token(void *arg, int64_t token)
{
    struct text *text = arg;
    text->made[text->n_made++] = token;
    return text->n_made != text->stops_at;
}

static void make_prompt(struct soak *soak, struct text *text, int i)
{
    const struct sc_random_key key = {.seed = 21, .stream = (uint64_t)i};
    const int n = pick(i, 0, 1, soak->sizes->most_prompt), stock = pick(i, 1, 0, 2 * STOCKS);
    const int begun = stock < STOCKS ? pick(i, 2, 0, STOCK) : 0;
    for (int t = 0; t < n; t++) {
        text->prompt[t] = t < begun ? soak->stocks[stock][t]
                                    : (int64_t)(sc_random_uniform(&key, (uint64_t)t) * (double)soak->vocabulary);
    }
    text->request.prompt = text->prompt;
    text->request.n_prompt = n;
}

static void make_sounds(struct soak *soak)
{
    const struct sc_random_key key = {.seed = 22};
    const int64_t dims[2] = {BANDS, FRAMES};
    for (int s = 0; s < SOUNDS; s++) {
        sc_tensor_init(&soak->features[s], SC_F32, 2, dims);
        soak->features[s].data = soak->sounds[s];
        for (int k = 0; k < BANDS * FRAMES; k++) {
            soak->sounds[s][k] = (float)sc_random_uniform(&key, (uint64_t)(s * BANDS * FRAMES + k));
        }
    }
}

static void make_source(struct soak *soak, struct text *text, int i)
{
    const struct sc_random_key key = {.seed = 23, .stream = (uint64_t)i};
    int64_t bands, frames;
    if (soak->source && sc_source_feeds_features(soak->source, &bands, &frames)) {
        text->request.source.features = &soak->features[pick(i, 16, 0, SOUNDS - 1)];
    } else if (soak->source) {
        text->request.source = (struct sc_source){.ids = text->source, .n = pick(i, 16, 1, soak->sizes->context)};
    }
    for (int t = 0; t < MOST_SOURCE; t++) {
        text->source[t] = (int64_t)(sc_random_uniform(&key, (uint64_t)t) * (double)soak->vocabulary);
    }
}

static void make_texts(struct soak *soak)
{
    int turn = 0;
    make_sounds(soak);
    for (int s = 0; s < STOCKS * STOCK; s++) {
        soak->stocks[s / STOCK][s % STOCK] = (int64_t)(draw(-1 - s, 0) * (double)soak->vocabulary);
    }
    for (int i = 0; i < soak->n; i++) {
        struct text *text = &soak->texts[i];
        turn += pick(i, 3, 0, 5) == 0 ? pick(i, 4, 1, 60) : 0; /* they come in bursts */
        text->comes_at = turn;
        text->cancelled_at = pick(i, 5, 0, 9) == 0 ? turn + pick(i, 6, 0, 40) : -1;
        text->stops_at = pick(i, 7, 0, 9) == 0 ? pick(i, 8, 1, soak->sizes->most_made) : -1;
        text->request = (struct sc_request){.n_predict = pick(i, 9, 0, soak->sizes->most_made),
            .sample = {.temperature = pick(i, 10, 0, 2) * 0.7,
                .top_k = pick(i, 11, 0, 1) * 40,
                .top_p = pick(i, 12, 0, 1) ? 1 : 0.9,
                .min_p = pick(i, 13, 0, 1) * 0.05,
                .penalty = pick(i, 14, 0, 4) ? 1 : 1.2,
                .seed = (uint64_t)pick(i, 15, 0, 3)},
            .key = (uint64_t)i,
            .on_token = on_token,
            .arg = text};
        make_prompt(soak, text, i);
        make_source(soak, text, i);
    }
}

static enum sc_status run_alone(struct soak *soak, struct sc_decoder *decoder)
{
    for (int i = 0; i < soak->n; i++) {
        struct text *text = &soak->texts[i];
        const int stops_at = text->stops_at;
        text->stops_at = -1;
        text->request.fresh = true;
        SC_TRY(sc_decoder_generate(decoder, &text->request));
        memcpy(text->alone, text->made, sizeof text->alone);
        text->n_alone = text->n_made;
        text->alone_stop = text->request.stop;
        text->stops_at = stops_at;
        text->n_made = 0;
        text->request.fresh = false;
    }
    return SC_OK;
}

static enum sc_status come_and_go(struct soak *soak, struct sc_schedule *schedule, int turn)
{
    for (int i = 0; i < soak->n; i++) {
        struct text *text = &soak->texts[i];
        if (text->comes_at == turn) {
            SC_TRY(sc_schedule_add(schedule, &text->request));
        }
        if (text->cancelled_at == turn && !text->request.done) {
            sc_schedule_cancel(schedule, &text->request);
        }
    }
    return SC_OK;
}

/* Not what is resident: pieces that the allocator keeps come and go with its luck. */
static int64_t allocated_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

/* From time to time the caches of all that runs move to other ranks. */
static enum sc_status change_plan(struct soak *soak, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    SC_TRY(sc_schedule_settle(schedule));
    soak->first_bytes = soak->n_moves == MOVES / 2 ? allocated_bytes() : soak->first_bytes;
    SC_TRY(sc_session_replan(sc_decoder_session(decoder), soak->plans[soak->n_moves % PLANS]));
    soak->n_moves++;
    return SC_OK;
}

static enum sc_status run_together(struct soak *soak, struct sc_decoder *decoder)
{
    struct sc_schedule *schedule;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    const int last = soak->texts[soak->n - 1].comes_at;
    enum sc_status status = SC_OK;
    for (int turn = 0; status == SC_OK && (turn <= last || sc_schedule_n_open(schedule) > 0); turn++) {
        status = come_and_go(soak, schedule, turn);
        status = status == SC_OK ? sc_schedule_step(schedule) : status;
        if (status == SC_OK && soak->n_moves < MOVES && turn == last * (soak->n_moves + 1) / (MOVES + 1)) {
            status = change_plan(soak, decoder, schedule);
        }
    }
    soak->last_bytes = allocated_bytes();
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    soak->counts = *sc_schedule_counts(schedule);
    sc_schedule_free(schedule);
    return status;
}

static enum sc_status drive(void *arg, struct sc_decoder *decoder)
{
    struct soak *soak = arg;
    if (soak->vocabulary == 0) {
        soak->vocabulary = sc_decoder_vocabulary(decoder);
        soak->source = sc_decoder_source(decoder);
        make_texts(soak);
    }
    soak->n_stages = sc_session_plan(sc_decoder_session(decoder))->n_stages;
    soak->apart = sc_decoder_rows_apart(decoder);
    return soak->alone ? run_alone(soak, decoder) : run_together(soak, decoder);
}

/* Of a text alone, whose prompt goes whole; or of many. */
static struct sc_decoder_options options(const struct soak *soak, int n_stages, int n_slots)
{
    const int n_pages = n_slots > 1 ? soak->sizes->pages : 0;
    return (struct sc_decoder_options){.chunk = n_slots > 1 ? soak->sizes->chunk : 1000,
        .context = soak->sizes->context,
        .session = {.n_stages = n_stages,
            .n_threads = 1,
            .n_slots = n_slots,
            .n_pages = n_pages,
            .pin = -1,
            .keep_binding = true,
            .log = {.fd = -1}}};
}

static enum sc_status write_plan(void *arg, struct sc_decoder *decoder)
{
    char *text;
    SC_TRY(sc_plan_write(sc_session_plan(sc_decoder_session(decoder)), sc_decoder_states(decoder).model, &text));
    const enum sc_status status = sc_file_write(arg, text, strlen(text));
    free(text);
    return status;
}

static enum sc_status write_plans(struct soak *soak, const char *model)
{
    for (int p = 0; p < PLANS; p++) {
        struct sc_ranks ranks = {.n = STAGES,
            .model = model,
            .options = options(soak, STAGES, 1),
            .drive = write_plan,
            .arg = soak->plans[p]};
        ranks.options.session.random_plan = true;
        ranks.options.session.plan_seed = (uint64_t)p;
        (void)snprintf(soak->plans[p], sizeof soak->plans[p], "/tmp/sc_soak_%d_%d.json", (int)getpid(), p);
        SC_TRY(sc_ranks_run(&ranks));
    }
    return SC_OK;
}

static enum sc_status run_by_itself(struct soak *soak, const char *model)
{
    struct sc_ranks ranks = {.n = 1, .model = model, .options = options(soak, 1, 1), .drive = drive, .arg = soak};
    soak->alone = true;
    const enum sc_status status = sc_ranks_run(&ranks);
    soak->alone = false;
    return status == SC_OK ? write_plans(soak, model) : status;
}

/* What was made is how the text goes that it makes alone, and all of it where nothing ended it before. */
static bool is_right(const struct text *text)
{
    const int whole = text->stops_at > 0 && text->stops_at < text->n_alone ? text->stops_at : text->n_alone;
    const bool cancelled = text->cancelled_at >= 0 && text->request.stop == SC_STOP_CALLER;
    const bool begins = text->n_made <= text->n_alone &&
        memcmp(text->made, text->alone, (size_t)text->n_made * sizeof *text->made) == 0;
    const bool stops = text->stops_at > 0 && text->stops_at <= text->n_alone;
    return text->request.done && begins &&
        (cancelled || (text->n_made == whole && text->request.stop == (stops ? SC_STOP_CALLER : text->alone_stop)));
}

static int judge(const struct soak *soak)
{
    const struct sc_schedule_counts *counts = &soak->counts;
    int n_wrong = 0, n_cut = 0;
    for (int i = 0; i < soak->n; i++) {
        const struct text *text = &soak->texts[i];
        n_cut += text->n_made < text->n_alone;
        if (!is_right(text)) {
            n_wrong++;
            printf("FAIL request %d: %d of %d tokens, stop %d: %s\n", i, text->n_made, text->n_alone,
                (int)text->request.stop, text->request.stop == SC_STOP_ERROR ? text->request.error.text : "");
        }
    }
    const int64_t grown = soak->last_bytes - soak->first_bytes;
    printf("%d requests on %d stages, %d changes of the plan: %d differ from their texts alone, %d were cut short\n",
        soak->n, soak->n_stages, soak->n_moves, n_wrong, n_cut);
    printf("%" PRId64 " chunks, %" PRId64 " steps of %.2f rows, up to %" PRId64 " microbatches in flight, %" PRId64
           " positions shared, at most %" PRId64 " chunks between two tokens, memory grew by %" PRId64 " KiB\n",
        counts->n_chunks, counts->n_steps, (double)counts->n_rows / (double)counts->n_steps, counts->most_in_flight,
        counts->n_shared, counts->most_chunks_between, grown / 1024);
    const bool busy = counts->most_in_flight >= soak->n_stages && n_cut > 0 && soak->n_moves == MOVES &&
        (!soak->apart || (counts->n_rows > counts->n_steps && (counts->n_shared > 0 || soak->source)));
    const bool flat = grown < 1 << 20;
    if (!busy || !flat) {
        printf("FAIL %s\n", flat ? "too little happened at once" : "memory grew");
    }
    return n_wrong > 0 || !busy || !flat;
}

static int run_threads(struct soak *soak, const char *model)
{
    struct sc_ranks ranks = {
        .n = STAGES, .model = model, .options = options(soak, STAGES, SLOTS), .drive = drive, .arg = soak};
    if (run_by_itself(soak, model) != SC_OK || sc_ranks_run(&ranks) != SC_OK) {
        fprintf(stderr, "soak_test: %s\n", sc_error_last()->text);
        return 2;
    }
    return judge(soak);
}

static enum sc_status run_rank(struct soak *soak, struct sc_world *world, const char *path)
{
    struct sc_model *model = NULL;
    struct sc_decoder *decoder = NULL;
    const struct sc_decoder_options chosen = options(soak, sc_world_size(world), SLOTS);
    SC_TRY(sc_world_agree(world, sc_world_rank(world) == 0 ? run_by_itself(soak, path) : SC_OK));
    SC_TRY(sc_world_agree(world, sc_ranks_open_model(path, &model)));
    SC_TRY(sc_decoder_open(world, model, &chosen, &decoder));
    struct sc_session *session = sc_decoder_session(decoder);
    if (sc_world_rank(world) == 0) {
        SC_TRY(drive(soak, decoder));
        SC_TRY(sc_session_finish(session));
    } else {
        SC_TRY(sc_session_serve(session));
    }
    sc_decoder_close(decoder);
    sc_model_close(model);
    return SC_OK;
}

static int run_mpi(struct soak *soak, const char *model)
{
    struct sc_world *world = NULL;
    if (sc_world_open_mpi(&world) != SC_OK || run_rank(soak, world, model) != SC_OK) {
        fprintf(stderr, "soak_test: %s\n", sc_error_last()->text);
        if (world) {
            sc_world_abort(world, 2);
        }
        return 2;
    }
    const int rank = sc_world_rank(world);
    sc_world_free(world);
    return rank == 0 ? judge(soak) : 0;
}

int main(int argc, char **argv)
{
    struct soak soak = {.n = argc == 4 ? atoi(argv[3]) : 0};
    soak.texts = soak.n > 0 ? calloc((size_t)soak.n, sizeof *soak.texts) : NULL;
    if (!soak.texts || (strcmp(argv[1], "threads") != 0 && strcmp(argv[1], "mpi") != 0)) {
        fprintf(stderr, "usage: soak_test threads|mpi MODEL N_REQUESTS\n");
        return 2;
    }
    soak.sizes = sc_union_is_one(argv[2]) ? &behind_encoder : &usual;
    const int code = argv[1][0] == 't' ? run_threads(&soak, argv[2]) : run_mpi(&soak, argv[2]);
    for (int p = 0; p < PLANS && soak.plans[p][0]; p++) {
        (void)unlink(soak.plans[p]);
    }
    free(soak.texts);
    return code;
}
