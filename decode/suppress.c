/* SPDX-License-Identifier: Apache-2.0
 * Tokens that the files beside a model forbid. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decoder_parts.h"

static enum sc_status check(const struct sc_decoder *decoder, const char *field, int n, const int64_t *ids)
{
    for (int i = 0; i < n; i++) {
        if (ids[i] >= decoder->n_vocabulary) {
            return sc_fail(SC_BAD_MODEL, "'%s' has token %lld, the model's logits have %lld", field, (long long)ids[i],
                (long long)decoder->n_vocabulary);
        }
    }
    return SC_OK;
}

static enum sc_status take(struct sc_decoder *decoder, const struct sc_begin *begin)
{
    SC_TRY(check(decoder, "suppress_tokens", begin->n_suppress, begin->suppress));
    SC_TRY(check(decoder, "begin_suppress_tokens", begin->n_begin_suppress, begin->begin_suppress));
    memcpy(decoder->suppressed, begin->suppress, (size_t)begin->n_suppress * sizeof *begin->suppress);
    memcpy(decoder->suppressed + begin->n_suppress, begin->begin_suppress,
        (size_t)begin->n_begin_suppress * sizeof *begin->begin_suppress);
    return SC_OK;
}

enum sc_status sc_suppress_share(struct sc_world *world, struct sc_decoder *decoder)
{
    static const struct sc_begin nothing;
    const struct sc_begin *begin = decoder->options.begin ? decoder->options.begin : &nothing;
    int32_t n[2] = {begin->n_suppress, begin->n_begin_suppress};
    SC_TRY(sc_world_broadcast(world, n, sizeof n));
    const size_t all = (size_t)n[0] + (size_t)n[1];
    decoder->n_never = n[0];
    decoder->n_not_first = n[1];
    decoder->suppressed = calloc(all + 1, sizeof *decoder->suppressed);
    enum sc_status status =
        decoder->suppressed ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %zu suppressed tokens", all);
    if (status == SC_OK && all > 0 && sc_world_rank(world) == 0) {
        status = take(decoder, begin);
    }
    SC_TRY(sc_world_agree(world, status));
    return sc_world_broadcast(world, decoder->suppressed, all * sizeof *decoder->suppressed);
}

const float *sc_suppress(const struct sc_decoder *decoder, bool first, const float *row)
{
    const int n = decoder->n_never + (first ? decoder->n_not_first : 0);
    if (n == 0) {
        return row;
    }
    if (row != decoder->row) {
        memcpy(decoder->row, row, (size_t)decoder->n_vocabulary * sizeof *row);
    }
    for (int i = 0; i < n; i++) {
        decoder->row[decoder->suppressed[i]] = -INFINITY;
    }
    return decoder->row;
}
