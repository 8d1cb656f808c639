/* SPDX-License-Identifier: Apache-2.0
 * Products of tiles: register tiles of up to SC_TILE_ROWS rows, and for few rows many panels side by side, since then
 * the speed is that of reading B. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

static const int tile_panels[] = {0,
#define X(M, P) P,
    SC_TILE_LIST(X)
#undef X
};

/* Sums of floats. */
SC_INLINE v16 f_zero(void)
{
    return v_zero();
}

SC_INLINE v16 f_read(const float *x)
{
    return v_load(x);
}

SC_INLINE v16 f_read_n(const float *x, int n)
{
    return v_load_n(x, n);
}

SC_INLINE void f_write(float *y, v16 x)
{
    v_store(y, x);
}

SC_INLINE void f_write_n(float *y, v16 x, int n)
{
    v_store_n(y, x, n);
}

SC_INLINE v16 f_set(const float *x)
{
    return v_set(*x);
}

SC_INLINE v16 f_step(v16 x, v16 y, v16 sum)
{
    return v_fma(x, y, sum);
}

SC_INLINE v16 f_add(v16 x, v16 y)
{
    return v_add(x, y);
}

/* Sums of 32-bit integers, which wrap around; floats are only their memory. */
SC_INLINE w16 i_zero(void)
{
    return w_set(0);
}

SC_INLINE w16 i_read(const float *x)
{
    return v_bits(v_load(x));
}

SC_INLINE w16 i_read_n(const float *x, int n)
{
    return v_bits(v_load_n(x, n));
}

SC_INLINE void i_write(float *y, w16 x)
{
    v_store(y, w_bits(x));
}

SC_INLINE void i_write_n(float *y, w16 x, int n)
{
    v_store_n(y, w_bits(x), n);
}

SC_INLINE w16 i_set(const float *x)
{
    int32_t value;
    memcpy(&value, x, sizeof(value));
    return w_set(value);
}

SC_INLINE w16 i_step(w16 x, w16 y, w16 sum)
{
    return w_add(w_mul(x, y), sum);
}

SC_INLINE w16 i_add(w16 x, w16 y)
{
    return w_add(x, y);
}

SC_INLINE v16 load_bf16(const uint16_t *x)
{
    return w_bits(w_shl(w_load_u16(x), 16));
}

#define TILE_NAME K(gemm_tile)
#define TILE_B float
#define TILE_V v16
#define TILE_LOAD f_read
#define TILE_OPS f
#define TILE_PREFIX tile_f32
#include "ops/kernels/gemm_tile.inc.h"

#define TILE_NAME K(gemm_tile_i32)
#define TILE_B float
#define TILE_V w16
#define TILE_LOAD i_read
#define TILE_OPS i
#define TILE_PREFIX tile_i32
#include "ops/kernels/gemm_tile.inc.h"

#define TILE_NAME K(gemm_tile_f16)
#define TILE_B uint16_t
#define TILE_V v16
#define TILE_LOAD v_load_f16
#define TILE_OPS f
#define TILE_PREFIX tile_f16
#include "ops/kernels/gemm_tile.inc.h"

#define TILE_NAME K(gemm_tile_bf16)
#define TILE_B uint16_t
#define TILE_V v16
#define TILE_LOAD load_bf16
#define TILE_OPS f
#define TILE_PREFIX tile_bf16
#include "ops/kernels/gemm_tile.inc.h"
