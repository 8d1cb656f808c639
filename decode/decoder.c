/* SPDX-License-Identifier: Apache-2.0
 * Opening a decoder: what it keeps, what it is fed, how long it may get, and the tail that draws tokens where the
 * logits are. */
#include "decode/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "decode/context.h"
#include "decode/decoder_parts.h"
#include "decode/last_row.h"
#include "decode/rewrite.h"
#include "decode/schedule.h"
#include "ops/kernels/kernels.h"

/* The last token's row of logits [rows, n, vocabulary], for one of the rows. */
static enum sc_status last_row(struct sc_decoder *decoder, const struct sc_tensor *logits, int r, const float **row)
{
    const int64_t n_vocabulary = decoder->n_vocabulary, n = sc_tensor_count(logits) / logits->dims[0];
    const int64_t at = (r + 1) * n - n_vocabulary;
    const struct sc_kernels *kernels = sc_kernels_at(SC_ISA_BASE);
    *row = decoder->row;
    switch (logits->type) {
    case SC_F32:
        *row = (const float *)logits->data + at;
        return SC_OK;
    case SC_F16:
        kernels->f16_to_f32((const uint16_t *)logits->data + at, decoder->row, n_vocabulary);
        return SC_OK;
    case SC_BF16:
        kernels->bf16_to_f32((const uint16_t *)logits->data + at, decoder->row, n_vocabulary);
        return SC_OK;
    default:
        return sc_fail(SC_UNSUPPORTED, "logits are %s, want float, float16 or bfloat16", sc_type_name(logits->type));
    }
}

static enum sc_status check_logits(const struct sc_decoder *decoder, const struct sc_value *value, int n_rows)
{
    const struct sc_tensor *logits = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || logits->rank < 2 || logits->dims[0] != n_rows ||
        logits->dims[logits->rank - 1] != decoder->n_vocabulary || sc_tensor_count(logits) < n_rows ||
        sc_tensor_count(logits) / n_rows < decoder->n_vocabulary) {
        return sc_fail(
            SC_BAD_MODEL, "logits have dims other than [%d, tokens, %lld]", n_rows, (long long)decoder->n_vocabulary);
    }
    return SC_OK;
}

static enum sc_status draw(struct sc_decoder *decoder, const struct sc_row *row, const float *logits, int64_t *token)
{
    struct sc_row_note note;
    memcpy(&note, row->note, sizeof note);
    const struct sc_sample_options sample = {.temperature = note.temperature,
        .top_k = note.top_k,
        .top_p = note.top_p,
        .min_p = note.min_p,
        .penalty = 1,
        .tempered = note.tempered != 0,
        .seed = note.seed};
    logits = sc_suppress(decoder, note.first != 0, logits);
    return sc_sample(decoder->sampler, &sample, logits, note.request, (uint64_t)(row->pos + row->n_new), token);
}

static enum sc_want wanted(const struct sc_microbatch *microbatch)
{
    enum sc_want most = SC_WANT_NOTHING;
    for (int r = 0; r < microbatch->n_rows; r++) {
        struct sc_row_note note;
        memcpy(&note, microbatch->rows[r].note, sizeof note);
        most = note.want > (int16_t)most ? (enum sc_want)note.want : most;
    }
    return most;
}

/* A token id for each row, or the rows themselves: those travel to rank 0. */
static enum sc_status reduce(struct sc_decoder *decoder, const struct sc_microbatch *microbatch,
    const struct sc_tensor *logits, struct sc_arena *arena, struct sc_value *out)
{
    const enum sc_want want = wanted(microbatch);
    const int64_t dims[2] = {microbatch->n_rows, decoder->n_vocabulary};
    const bool home = want == SC_WANT_LOGITS;
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(arena, home ? SC_F32 : SC_I64, home ? 2 : 1, dims, &out->u.tensor));
    for (int r = 0; r < microbatch->n_rows; r++) {
        const float *row;
        int64_t *token = (int64_t *)out->u.tensor.data + r;
        SC_TRY(last_row(decoder, logits, r, &row));
        if (home) {
            memcpy((float *)out->u.tensor.data + r * dims[1], row, (size_t)dims[1] * sizeof *row);
        } else if (want == SC_WANT_TOKEN) {
            SC_TRY(draw(decoder, &microbatch->rows[r], row, token));
        } else {
            *token = -1;
        }
    }
    return SC_OK;
}

/* Runs where the logits are. */
static enum sc_status tail(void *arg, const struct sc_microbatch *microbatch, int n, const int *graph_values,
    const struct sc_value *const *values, struct sc_arena *arena, struct sc_value *out)
{
    struct sc_decoder *decoder = arg;
    for (int v = 0; v < n; v++) {
        if (graph_values[v] == decoder->logits && values[v]->kind != SC_KIND_NONE) {
            SC_TRY(check_logits(decoder, values[v], microbatch->n_rows));
            return reduce(decoder, microbatch, &values[v]->u.tensor, arena, out);
        }
    }
    return SC_OK;
}

/* No operator makes a row of what is in other rows: chunks of any size give the same bits. */
static bool rows_are_exact(const struct sc_graph *graph)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        const struct sc_op *op = node->dead ? NULL : sc_op_find(node->domain, node->op, node->version);
        if (op && (op->flags & SC_OP_ROW_MIXING)) {
            return false;
        }
    }
    return true;
}

static enum sc_status find_freedom(struct sc_decoder *decoder)
{
    SC_TRY(sc_decode_rows_apart(decoder->model, decoder->n_pairs, decoder->pairs, decoder->logits, &decoder->apart));
    decoder->exact = rows_are_exact(decoder->model->graph);
    decoder->shares = decoder->n_pairs > 0 && decoder->exact;
    for (int p = 0; p < decoder->n_pairs; p++) {
        decoder->shares = decoder->shares && decoder->pairs[p].kind == SC_STATE_PAGED;
    }
    return SC_OK;
}

/* A bound in time would make a text depend on time where it depends on the chunk. */
static enum sc_status check_bound(const struct sc_decoder *decoder)
{
    const struct sc_decoder_options *options = &decoder->options;
    if (options->max_tbt_ns == 0) {
        return SC_OK;
    }
    if (!decoder->exact || options->session.blas) {
        return sc_fail(SC_BAD_USAGE,
            "option '--max-tbt' makes chunks whose size depends on time, and the text depends "
            "on them%s: -ub makes all alike",
            decoder->exact ? " with --gemm blas" : ", as an operator of the model mixes rows");
    }
    return SC_OK;
}

/* Planned for steps and chunks far into the context: that is where a decoder spends its time. */
static int64_t expected_past(const struct sc_decoder_options *options)
{
    const int64_t depth = options->depth < options->context ? options->depth : options->context;
    return depth + (options->context - depth) / 2;
}

static enum sc_status prepare(struct sc_decoder *decoder)
{
    const struct sc_graph *graph = decoder->model->graph;
    SC_TRY(sc_decode_rewrite(decoder->model, NULL, &decoder->n_pairs, &decoder->pairs));
    SC_TRY(sc_pairs_set_formats(decoder->pairs, decoder->n_pairs, &decoder->options.formats));
    decoder->logits = sc_decode_find_logits(graph);
    if (decoder->logits < 0) {
        return sc_fail(SC_UNSUPPORTED, "the model has no output 'logits': it does not generate text");
    }
    SC_TRY(sc_decode_last_row(decoder->model, decoder->logits));
    SC_TRY(find_freedom(decoder));
    SC_TRY(check_bound(decoder));
    const struct sc_fact *fact = &graph->values[decoder->logits].fact;
    decoder->n_vocabulary = fact->rank == 3 ? fact->dims[2] : 0;
    if (decoder->n_vocabulary <= 0) {
        return sc_fail(SC_UNSUPPORTED, "output 'logits' does not declare its vocabulary");
    }
    decoder->options.chunk = sc_feeds_take_one_token(graph) ? 1 : decoder->options.chunk;
    const bool asked = decoder->options.context > 0;
    int64_t *context = &decoder->options.context;
    SC_TRY(sc_context_settle(graph, decoder->n_pairs, decoder->pairs, context));
    if (!asked && decoder->options.usual_context > 0 && *context > decoder->options.usual_context) {
        *context = decoder->options.usual_context;
    }
    SC_TRY(sc_sampler_create(decoder->n_vocabulary, &decoder->sampler));
    decoder->row = calloc((size_t)decoder->n_vocabulary, sizeof *decoder->row);
    decoder->facts = calloc((size_t)graph->n_inputs + 1, sizeof *decoder->facts);
    decoder->chunk_facts = calloc((size_t)graph->n_inputs + 1, sizeof *decoder->chunk_facts);
    decoder->results = calloc((size_t)graph->n_outputs + 1, sizeof *decoder->results);
    if (!decoder->row || !decoder->facts || !decoder->chunk_facts || !decoder->results) {
        return sc_fail(SC_NO_MEMORY, "out of memory for logits of %lld", (long long)decoder->n_vocabulary);
    }
    const int64_t most = decoder->options.chunk > SC_WIRE_ROWS ? decoder->options.chunk : SC_WIRE_ROWS;
    SC_TRY(sc_feeds_create(graph, decoder->n_pairs, decoder->pairs, most, decoder->options.context, &decoder->feeds));
    SC_TRY(sc_source_feeds_create(graph, decoder->options.context, &decoder->source));
    decoder->has_chunks = sc_feeds_sizes(
        decoder->feeds, decoder->options.chunk, expected_past(&decoder->options), decoder->facts, decoder->chunk_facts);
    return decoder->options.check ? decoder->options.check(decoder->options.check_arg, decoder) : SC_OK;
}

enum sc_status sc_decoder_open(
    struct sc_world *world, struct sc_model *model, const struct sc_decoder_options *options, struct sc_decoder **out)
{
    struct sc_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        return sc_world_agree(world, sc_fail(SC_NO_MEMORY, "out of memory for a decoder"));
    }
    decoder->model = model;
    decoder->options = *options;
    enum sc_status status = sc_world_agree(world, prepare(decoder));
    status = status == SC_OK ? sc_suppress_share(world, decoder) : status;
    if (status == SC_OK) {
        struct sc_session_options session = options->session;
        session.context = decoder->options.context;
        session.past = expected_past(&decoder->options) + 1;
        session.n_pairs = decoder->n_pairs;
        session.pairs = decoder->pairs;
        session.input_facts = decoder->facts;
        session.chunk_facts = decoder->has_chunks ? decoder->chunk_facts : NULL;
        session.tail = tail;
        session.tail_arg = decoder;
        status = sc_session_open(world, model, &session, &decoder->session);
    }
    if (status != SC_OK) {
        sc_decoder_close(decoder);
        return status;
    }
    *out = decoder;
    return SC_OK;
}

void sc_decoder_close(struct sc_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    sc_schedule_free(decoder->schedule);
    sc_session_close(decoder->session);
    sc_feeds_free(decoder->feeds);
    sc_source_feeds_free(decoder->source);
    sc_sampler_free(decoder->sampler);
    free(decoder->row);
    free(decoder->suppressed);
    free(decoder->facts);
    free(decoder->chunk_facts);
    free(decoder->results);
    free(decoder);
}

struct sc_session *sc_decoder_session(struct sc_decoder *decoder)
{
    return decoder->session;
}

const struct sc_source_feeds *sc_decoder_source(const struct sc_decoder *decoder)
{
    return decoder->source;
}

struct sc_state_owner sc_decoder_states(const struct sc_decoder *decoder)
{
    return (struct sc_state_owner){.model = decoder->model, .pairs = decoder->pairs, .n_pairs = decoder->n_pairs};
}

int64_t sc_decoder_context(const struct sc_decoder *decoder)
{
    return decoder->options.context;
}

int64_t sc_decoder_vocabulary(const struct sc_decoder *decoder)
{
    return decoder->n_vocabulary;
}

bool sc_decoder_rows_apart(const struct sc_decoder *decoder)
{
    return decoder->apart;
}
