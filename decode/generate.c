/* SPDX-License-Identifier: Apache-2.0
 * The generation loop of rank 0: prompt chunks follow one another through the stages, then one token goes round at a
 * time. */
#include <string.h>

#include "base/clock.h"
#include "decode/decoder_parts.h"

enum sc_status sc_decoder_check_prompt(const struct sc_decoder *decoder, const int64_t *prompt, int64_t n)
{
    if (n < 1) {
        return sc_fail(SC_BAD_INPUT, "the prompt is empty");
    }
    if (n > decoder->options.context) {
        return sc_fail(SC_BAD_INPUT, "the prompt has %lld tokens, the context holds %lld", (long long)n,
            (long long)decoder->options.context);
    }
    for (int64_t i = 0; i < n; i++) {
        if (prompt[i] < 0 || prompt[i] >= decoder->n_vocabulary) {
            return sc_fail(SC_BAD_INPUT, "prompt token %lld is %lld, the model has %lld", (long long)i,
                (long long)prompt[i], (long long)decoder->n_vocabulary);
        }
    }
    return SC_OK;
}

static enum sc_status submit(
    struct sc_decoder *decoder, const struct sc_generation *generation, const int64_t *tokens, int64_t n, int64_t pos)
{
    struct sc_microbatch microbatch = {
        .n_rows = 1, .rows = {{.slot = generation->slot, .n_new = (int32_t)n, .pos = pos}}};
    return sc_session_submit(decoder->session, &microbatch, sc_feeds_make(decoder->feeds, tokens, n, pos));
}

/* The result of the oldest microbatch in flight: the token drawn after position `pos`. */
static enum sc_status receive(
    struct sc_decoder *decoder, const struct sc_generation *generation, int64_t pos, bool wanted, int64_t *token)
{
    SC_TRY(sc_session_next(decoder->session, decoder->results));
    const struct sc_value *result = decoder->results[0];
    if (!result || result->kind != SC_KIND_TENSOR) {
        return sc_fail(SC_INTERNAL, "a step brought no token");
    }
    if (!decoder->options.logits_home) {
        *token = sc_index_at(&result->u.tensor, 0);
        return SC_OK;
    }
    if (!wanted) {
        return SC_OK;
    }
    if (generation->on_logits) {
        generation->on_logits(generation->arg, result->u.tensor.data);
    }
    const double penalty = decoder->options.sample.penalty;
    if (penalty == 1) {
        return sc_decoder_draw(decoder, result->u.tensor.data, generation->slot, pos, token);
    }
    memcpy(decoder->row, result->u.tensor.data, (size_t)decoder->n_vocabulary * sizeof *decoder->row);
    sc_sample_penalise(penalty, decoder->seen, decoder->n_vocabulary, decoder->row);
    return sc_decoder_draw(decoder, decoder->row, generation->slot, pos, token);
}

/* Chunks of the prompt, as many in flight as the session takes; the last one brings the first token. */
static enum sc_status prefill(struct sc_decoder *decoder, const struct sc_generation *generation, const int64_t *prompt,
    int64_t n_prompt, int64_t *token)
{
    const int64_t chunk = decoder->options.chunk;
    int64_t sent = 0, received = 0;
    while (received < n_prompt) {
        while (sent < n_prompt && (sent - received + chunk - 1) / chunk < sc_session_window(decoder->session)) {
            const int64_t n = n_prompt - sent < chunk ? n_prompt - sent : chunk;
            SC_TRY(submit(decoder, generation, prompt + sent, n, sent));
            sent += n;
        }
        const int64_t n = n_prompt - received < chunk ? n_prompt - received : chunk;
        received += n;
        SC_TRY(receive(decoder, generation, received, received == n_prompt, token));
    }
    return SC_OK;
}

static bool is_eos(const struct sc_generation *generation, int64_t token)
{
    for (int e = 0; e < generation->n_eos; e++) {
        if (generation->eos[e] == token) {
            return true;
        }
    }
    return false;
}

/* Hands a token on. False when the text ends here. */
static bool take_token(struct sc_generation *generation, int64_t token)
{
    if (is_eos(generation, token)) {
        generation->stop = SC_STOP_EOS;
        return false;
    }
    generation->n_made++;
    if (generation->on_token && !generation->on_token(generation->arg, token)) {
        generation->stop = SC_STOP_CALLER;
        return false;
    }
    return generation->n_made < generation->n_predict;
}

static enum sc_status generate(
    struct sc_decoder *decoder, const int64_t *prompt, int64_t n_prompt, struct sc_generation *generation)
{
    const int64_t start = sc_clock_ns();
    int64_t token = 0;
    generation->stop = SC_STOP_LENGTH;
    generation->n_prompt = n_prompt;
    generation->n_made = generation->made_ns = 0;
    memset(decoder->seen, 0, (size_t)decoder->n_vocabulary * sizeof *decoder->seen);
    for (int64_t i = 0; i < n_prompt; i++) {
        decoder->seen[prompt[i]] = true;
    }
    SC_TRY(prefill(decoder, generation, prompt, n_prompt, &token));
    const int64_t first = sc_clock_ns();
    generation->prompt_ns = first - start;
    if (generation->n_predict < 1) {
        return SC_OK;
    }
    for (int64_t pos = n_prompt;; pos++) {
        token = generation->forced ? generation->forced[pos - n_prompt] : token;
        decoder->seen[token] = true;
        if (!take_token(generation, token)) {
            break;
        }
        if (pos == decoder->options.context) {
            generation->stop = SC_STOP_CONTEXT;
            break;
        }
        SC_TRY(submit(decoder, generation, &token, 1, pos));
        SC_TRY(receive(decoder, generation, pos + 1, true, &token));
    }
    generation->made_ns = sc_clock_ns() - first;
    return SC_OK;
}

enum sc_status sc_decoder_generate(
    struct sc_decoder *decoder, const int64_t *prompt, int64_t n_prompt, struct sc_generation *generation)
{
    SC_TRY(sc_decoder_check_prompt(decoder, prompt, n_prompt));
    const enum sc_status status = generate(decoder, prompt, n_prompt, generation);
    if (status == SC_OK || status == SC_PEER) {
        return status;
    }
    const struct sc_error failed = *sc_error_last();
    while (sc_session_in_flight(decoder->session) > 0) { /* chunks that were under way behind the one that failed */
        if (sc_session_next(decoder->session, decoder->results) == SC_PEER) {
            return SC_PEER;
        }
    }
    return sc_error_set(&failed);
}
