/* SPDX-License-Identifier: Apache-2.0
 * Codes become whole numbers of 8 bits, or floats, and these are scaled by the kernels of their level. */
#include "ops/kernels/cache_codes.h"

#include <math.h>

#include "tensor/convert.h"
#include "tensor/value.h"

enum { RUN = SC_PAGE_ROWS, MIDDLE = 8 };

static int nearest(float x, float scale, float low, float high)
{
    const float code = rintf(x * (scale != 0.0F ? 1.0F / scale : 1.0F));
    return (int)(!(code > low) ? low : code > high ? high : code);
}

void sc_codes_narrow(enum sc_type type, const float *scales, int64_t n, const float *x, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == SC_I8) {
            to[i] = (uint8_t)nearest(x[i], scales[i], -128.0F, 127.0F);
        } else if (type == SC_U8) {
            const int code = nearest(x[i], scales[i], -MIDDLE, MIDDLE - 1) + MIDDLE;
            to[i / 2] = (uint8_t)(i % 2 == 0 ? code | MIDDLE << 4 : (to[i / 2] & 15) | code << 4);
        } else {
            const float scaled = x[i] * (scales[i] != 0.0F ? 1.0F / scales[i] : 1.0F);
            sc_convert(SC_F32, &scaled, type, &to[i], 1, SC_CONVERT_SATURATE);
        }
    }
}

/* n codes of a byte each, n <= RUN; step: 1 for a scale each, 0 for one. */
static void scale(const struct sc_kernels *kernels, enum sc_type type, const float *scales, int step, int64_t n,
    const void *from, float *to)
{
    if (type == SC_F8E4M3FN) {
        float wide[RUN];
        sc_convert(type, from, SC_F32, wide, n, 0);
        kernels->binary[SC_BINARY_mul](wide, 1, scales, step, to, n);
        return;
    }
    const struct sc_byte_scale by = {.scales = scales, .step = step, .is_signed = 1};
    kernels->bytes_to_floats(from, &by, n, to);
}

void sc_codes_widen(
    const struct sc_kernels *kernels, const struct sc_cache_codes *codes, int64_t head, const uint8_t *from, float *to)
{
    const enum sc_type type = codes->type;
    const int64_t n = codes->width;
    const float *scales = codes->scales + head * n;
    for (int64_t done = 0; done < n; done += RUN) {
        const int64_t now = n - done < RUN ? n - done : RUN;
        int8_t whole[RUN];
        for (int64_t i = 0; type == SC_U8 && i < now; i++) {
            whole[i] = (int8_t)((from[(done + i) / 2] >> 4 * (i % 2) & 15) - MIDDLE);
        }
        scale(kernels, type, scales + done, 1, now, type == SC_U8 ? (const void *)whole : from + done, to + done);
    }
}

void sc_codes_widen_page(
    const struct sc_kernels *kernels, const struct sc_cache_codes *codes, int64_t head, const uint8_t *from, float *to)
{
    const float *scales = codes->scales + head * codes->width;
    for (int64_t d = 0; codes->type != SC_U8 && d < codes->width; d++) {
        scale(kernels, codes->type, scales + d, 0, RUN, from + d * RUN, to + d * RUN);
    }
    for (int64_t d = 0; codes->type == SC_U8 && d < codes->width; d++) {
        int8_t whole[RUN];
        for (int64_t i = 0; i < RUN; i++) {
            whole[i] = (int8_t)((from[d / 2 * RUN + i] >> 4 * (d % 2) & 15) - MIDDLE);
        }
        scale(kernels, codes->type, scales + d, 0, RUN, whole, to + d * RUN);
    }
}
