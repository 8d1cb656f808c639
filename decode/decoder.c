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
#include "ops/kernels/kernels.h"

static int find_logits(const struct sc_graph *graph)
{
    for (int o = 0; o < graph->n_outputs; o++) {
        if (strcmp(graph->values[graph->outputs[o]].name, "logits") == 0) {
            return graph->outputs[o];
        }
    }
    return -1;
}

/* The last row of logits [1, n, vocabulary] as f32. */
static enum sc_status last_row(struct sc_decoder *decoder, const struct sc_value *value, const float **row)
{
    const struct sc_tensor *logits = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || logits->rank < 2 || logits->dims[logits->rank - 1] != decoder->n_vocabulary ||
        sc_tensor_count(logits) < decoder->n_vocabulary) {
        return sc_fail(SC_BAD_MODEL, "logits have dims other than [1, tokens, %lld]", (long long)decoder->n_vocabulary);
    }
    const int64_t at = sc_tensor_count(logits) - decoder->n_vocabulary;
    const struct sc_kernels *kernels = sc_kernels_at(SC_ISA_BASE);
    switch (logits->type) {
    case SC_F32:
        *row = (const float *)logits->data + at;
        return SC_OK;
    case SC_F16:
        kernels->f16_to_f32((const uint16_t *)logits->data + at, decoder->row, decoder->n_vocabulary);
        break;
    case SC_BF16:
        kernels->bf16_to_f32((const uint16_t *)logits->data + at, decoder->row, decoder->n_vocabulary);
        break;
    default:
        return sc_fail(SC_UNSUPPORTED, "logits are %s, want float, float16 or bfloat16", sc_type_name(logits->type));
    }
    *row = decoder->row;
    return SC_OK;
}

enum sc_status sc_decoder_draw(struct sc_decoder *decoder, const float *row, int slot, int64_t position, int64_t *token)
{
    return sc_sample(decoder->sampler, &decoder->options.sample, row, (uint64_t)slot, (uint64_t)position, token);
}

/* Runs where the logits are: one token id, or the row itself, travels to rank 0. */
static enum sc_status tail(void *arg, const struct sc_microbatch *microbatch, int n, const int *graph_values,
    const struct sc_value *const *values, struct sc_arena *arena, struct sc_value *out)
{
    struct sc_decoder *decoder = arg;
    const float *row = NULL;
    for (int v = 0; v < n; v++) {
        if (graph_values[v] == decoder->logits) {
            SC_TRY(last_row(decoder, values[v], &row));
        }
    }
    if (!row) {
        return SC_OK;
    }
    out->kind = SC_KIND_TENSOR;
    if (decoder->options.logits_home) {
        SC_TRY(sc_tensor_new(arena, SC_F32, 1, &decoder->n_vocabulary, &out->u.tensor));
        memcpy(out->u.tensor.data, row, (size_t)decoder->n_vocabulary * sizeof *row);
        return SC_OK;
    }
    const int64_t one = 1;
    const struct sc_row *last = &microbatch->rows[0];
    SC_TRY(sc_tensor_new(arena, SC_I64, 1, &one, &out->u.tensor));
    return sc_decoder_draw(decoder, row, last->slot, last->pos + last->n_new, out->u.tensor.data);
}

static enum sc_status prepare(struct sc_decoder *decoder)
{
    const struct sc_graph *graph = decoder->model->graph;
    struct sc_sample_options *sample = &decoder->options.sample;
    SC_TRY(sc_sample_check(sample));
    sample->penalty = sample->penalty == 0 ? 1 : sample->penalty;
    decoder->options.logits_home |= sample->penalty != 1; /* the text is known there alone */
    SC_TRY(sc_decode_rewrite(decoder->model, NULL, &decoder->n_pairs, &decoder->pairs));
    decoder->logits = find_logits(graph);
    if (decoder->logits < 0) {
        return sc_fail(SC_UNSUPPORTED, "the model has no output 'logits': it does not generate text");
    }
    SC_TRY(sc_decode_last_row(decoder->model, decoder->logits));
    const struct sc_fact *fact = &graph->values[decoder->logits].fact;
    decoder->n_vocabulary = fact->rank == 3 ? fact->dims[2] : 0;
    if (decoder->n_vocabulary <= 0) {
        return sc_fail(SC_UNSUPPORTED, "output 'logits' does not declare its vocabulary");
    }
    const bool asked = decoder->options.context > 0;
    int64_t *context = &decoder->options.context;
    SC_TRY(sc_context_settle(graph, decoder->n_pairs, decoder->pairs, context));
    if (!asked && decoder->options.usual_context > 0 && *context > decoder->options.usual_context) {
        *context = decoder->options.usual_context;
    }
    SC_TRY(sc_sampler_create(decoder->n_vocabulary, &decoder->sampler));
    decoder->row = calloc((size_t)decoder->n_vocabulary, sizeof *decoder->row);
    decoder->seen = calloc((size_t)decoder->n_vocabulary, sizeof *decoder->seen);
    decoder->facts = calloc((size_t)graph->n_inputs + 1, sizeof *decoder->facts);
    decoder->results = calloc((size_t)graph->n_outputs + 1, sizeof *decoder->results);
    if (!decoder->row || !decoder->seen || !decoder->facts || !decoder->results) {
        return sc_fail(SC_NO_MEMORY, "out of memory for logits of %lld", (long long)decoder->n_vocabulary);
    }
    SC_TRY(sc_feeds_create(
        graph, decoder->n_pairs, decoder->pairs, decoder->options.chunk, decoder->options.context, &decoder->feeds));
    /* planned for a step of decoding far into the context: that is where a decoder spends its time */
    sc_feeds_facts(decoder->feeds, 1, decoder->options.context / 2, decoder->facts);
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
    if (status == SC_OK) {
        struct sc_session_options session = options->session;
        session.context = decoder->options.context;
        session.n_pairs = decoder->n_pairs;
        session.pairs = decoder->pairs;
        session.input_facts = decoder->facts;
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
    sc_session_close(decoder->session);
    sc_feeds_free(decoder->feeds);
    sc_sampler_free(decoder->sampler);
    free(decoder->row);
    free(decoder->seen);
    free(decoder->facts);
    free(decoder->results);
    free(decoder);
}

struct sc_session *sc_decoder_session(struct sc_decoder *decoder)
{
    return decoder->session;
}

int64_t sc_decoder_context(const struct sc_decoder *decoder)
{
    return decoder->options.context;
}

int64_t sc_decoder_vocabulary(const struct sc_decoder *decoder)
{
    return decoder->n_vocabulary;
}
