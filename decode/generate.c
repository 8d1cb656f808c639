/* SPDX-License-Identifier: Apache-2.0
 * A prompt is checked, and one request runs by itself. */
#include "decode/decoder_parts.h"
#include "decode/schedule.h"

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

enum sc_status sc_decoder_generate(struct sc_decoder *decoder, struct sc_request *request)
{
    if (!decoder->schedule) {
        SC_TRY(sc_schedule_create(decoder, &decoder->schedule));
    }
    SC_TRY(sc_schedule_add(decoder->schedule, request));
    while (!request->done) {
        SC_TRY(sc_schedule_step(decoder->schedule));
    }
    SC_TRY(sc_schedule_settle(decoder->schedule)); /* chunks that were under way behind one that failed */
    return request->stop == SC_STOP_ERROR ? sc_error_set(&request->error) : SC_OK;
}
