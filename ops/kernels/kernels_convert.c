/* SPDX-License-Identifier: Apache-2.0
 * Between f32 and the 16-bit formats, to nearest even; NaN stays NaN. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

SC_INLINE v16 load_bf16(const uint16_t *x)
{
    return w_bits(w_shl(w_load_u16(x), 16));
}

/* Adding 0x7fff, and one more for an odd last place, carries into the kept half; NaN is cut off and made quiet. */
SC_INLINE void store_bf16(uint16_t *y, v16 x)
{
    const w16 bits = v_bits(x);
    const w16 odd = w_and(w_shr(bits, 16), w_set(1));
    const w16 rounded = w_shr(w_add(bits, w_add(odd, w_set(0x7fff))), 16);
    const w16 nan = w_or(w_shr(bits, 16), w_set(0x40));
    w_store_u16(y, w_select(v_nan(x), nan, rounded));
}

#define SC_WIDEN(name, load)                                                                                           \
    void K(name)(const uint16_t *x, float *y, int64_t n)                                                               \
    {                                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            v_store(y + i, load(x + i));                                                                               \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            uint16_t t[16] = {0};                                                                                      \
            memcpy(t, x + i, (size_t)(n - i) * sizeof(*x));                                                            \
            v_store_n(y + i, load(t), (int)(n - i));                                                                   \
        }                                                                                                              \
    }
#define SC_NARROW(name, store)                                                                                         \
    void K(name)(const float *x, uint16_t *y, int64_t n)                                                               \
    {                                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            store(y + i, v_load(x + i));                                                                               \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            uint16_t t[16];                                                                                            \
            store(t, v_load_n(x + i, (int)(n - i)));                                                                   \
            memcpy(y + i, t, (size_t)(n - i) * sizeof(*y));                                                            \
        }                                                                                                              \
    }
SC_WIDEN(f16_to_f32, v_load_f16)
SC_WIDEN(bf16_to_f32, load_bf16)
SC_NARROW(f32_to_f16, v_store_f16)
SC_NARROW(f32_to_bf16, store_bf16)
