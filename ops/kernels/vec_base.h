/* SPDX-License-Identifier: Apache-2.0
 * Parts of vec.h for any CPU, by GCC's vector types: four parts of four lanes. No FMA: a product is rounded, then a
 * sum. */
#ifndef SC_OPS_KERNELS_VEC_BASE_H
#define SC_OPS_KERNELS_VEC_BASE_H

typedef float vp __attribute__((vector_size(16)));
typedef int32_t ip __attribute__((vector_size(16)));
typedef uint32_t up __attribute__((vector_size(16)));
typedef ip mp;
typedef struct {
    vp a, b, c, d;
} v16;
typedef struct {
    ip a, b, c, d;
} w16;
typedef w16 m16;

/* The largest register tiles: rows, and panels for each number of rows. */
#define SC_TILE_ROWS 2
#define SC_TILE_PANELS 2
#define SC_TILE_LIST(X) X(1, 2) X(2, 1)
/* All that may come up. */
/* clang-format off */
#define SC_TILE_SHAPES(X) \
    X(1, 1) X(1, 2) \
    X(2, 1)
/* clang-format on */
#define SC_TILE_BEST_PANELS 1
#define SC_TILE_PREFETCH_ROWS 0
#define SC_TILE_AHEAD(M, bytes) 512
#define SC_TILE_AHEAD_CACHE 3

#define SC_MAP1(f, x)                                                                                                  \
    {                                                                                                                  \
        f((x).a), f((x).b), f((x).c), f((x).d)                                                                         \
    }
#define SC_MAP2(f, x, y)                                                                                               \
    {                                                                                                                  \
        f((x).a, (y).a), f((x).b, (y).b), f((x).c, (y).c), f((x).d, (y).d)                                             \
    }
#define SC_MAP3(f, x, y, z)                                                                                            \
    {                                                                                                                  \
        f((x).a, (y).a, (z).a), f((x).b, (y).b, (z).b), f((x).c, (y).c, (z).c), f((x).d, (y).d, (z).d)                 \
    }

#define p_add(x, y) ((x) + (y))
#define p_sub(x, y) ((x) - (y))
#define p_mul(x, y) ((x) * (y))
#define p_div(x, y) ((x) / (y))
#define p_fma(x, y, z) ((x) * (y) + (z))
#define p_lt(x, y) ((mp)((x) < (y)))
#define p_le(x, y) ((mp)((x) <= (y)))
#define p_nan(x) ((mp)((x) != (x)))
#define p_iadd(x, y) ((ip)((up)(x) + (up)(y)))
#define p_isub(x, y) ((ip)((up)(x) - (up)(y)))
#define p_imul(x, y) ((ip)((up)(x) * (up)(y)))
#define p_iand(x, y) ((x) & (y))
#define p_ior(x, y) ((x) | (y))
#define p_ixor(x, y) ((x) ^ (y))
#define p_igt(x, y) ((mp)((x) > (y)))
#define p_mor(x, y) ((x) | (y))
#define p_bits(x) ((ip)(x))
#define p_from_bits(x) ((vp)(x))
#define p_iselect(m, yes, no) (((m) & (yes)) | (~(m) & (no)))
#define p_select(m, yes, no) ((vp)p_iselect(m, (ip)(yes), (ip)(no)))
#define p_min(x, y) p_select(p_lt(x, y), x, y)
#define p_max(x, y) p_select(p_lt(y, x), x, y)
#define p_to_int(x) __builtin_convertvector(x, ip)
#define p_to_float(x) __builtin_convertvector(x, vp)
#define w_shl(x, n) ((w16){(x).a << (n), (x).b << (n), (x).c << (n), (x).d << (n)})
#define w_shr(x, n)                                                                                                    \
    ((w16){(ip)((up)(x).a >> (n)), (ip)((up)(x).b >> (n)), (ip)((up)(x).c >> (n)), (ip)((up)(x).d >> (n))})

SC_INLINE vp p_sqrt(vp x)
{
    return (vp){__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]), __builtin_sqrtf(x[3])};
}

/* Adding 2^23 leaves no room for a fraction; larger numbers, infinities and NaN are whole already. */
SC_INLINE vp p_round(vp x)
{
    const ip sign = (ip)x & INT32_MIN;
    const vp size = (vp)((ip)x & INT32_MAX);
    const vp whole = (size + 8388608.0f) - 8388608.0f;
    return (vp)((ip)p_select(p_lt(size, (vp){0} + 8388608.0f), whole, size) | sign);
}

SC_INLINE vp p_floor(vp x)
{
    const vp r = p_round(x);
    return p_select(p_lt(x, r), r - 1.0f, r);
}

SC_INLINE vp p_ceil(vp x)
{
    const vp r = p_round(x);
    const vp up_one = p_select(p_lt(r, x), r + 1.0f, r);
    return (vp)((ip)up_one | ((ip)x & INT32_MIN)); /* ceil(-0.5) is -0 */
}

/* In two steps, so that no factor leaves the normal range and only the last step rounds. */
SC_INLINE vp p_scale(vp x, vp n)
{
    const ip whole = p_to_int(n), half = whole >> 1;
    const ip first = (half + 127) << 23, second = (whole - half + 127) << 23;
    return x * (vp)first * (vp)second;
}

SC_INLINE v16 v_set(float x)
{
    const vp p = {x, x, x, x};
    return (v16){p, p, p, p};
}

SC_INLINE w16 w_set(int32_t x)
{
    const ip p = {x, x, x, x};
    return (w16){p, p, p, p};
}

SC_INLINE v16 v_load(const float *x)
{
    v16 r;
    memcpy(&r, x, sizeof(r));
    return r;
}

SC_INLINE void v_store(float *y, v16 x)
{
    memcpy(y, &x, sizeof(x));
}

SC_INLINE m16 m_first(int n)
{
    const ip p = {0, 1, 2, 3};
    return (m16){p < n, p < n - 4, p < n - 8, p < n - 12};
}

/* Lanes from n on are zero; n of 0 to 16. */
SC_INLINE v16 v_load_n(const float *x, int n)
{
    float t[16] = {0};
    memcpy(t, x, sizeof(float) * (size_t)n);
    return v_load(t);
}

SC_INLINE void v_store_n(float *y, v16 x, int n)
{
    float t[16];
    v_store(t, x);
    memcpy(y, t, sizeof(float) * (size_t)n);
}

SC_INLINE w16 w_load(const int32_t *x)
{
    w16 r;
    memcpy(&r, x, sizeof(r));
    return r;
}

SC_INLINE void w_store(int32_t *y, w16 x)
{
    memcpy(y, &x, sizeof(x));
}

/* Lanes of the mask; the others are zero, and their memory is not touched. */
SC_INLINE v16 v_gather(const float *x, w16 at, m16 mask)
{
    float t[16];
    int32_t index[16], take[16];
    memcpy(index, &at, sizeof(index));
    memcpy(take, &mask, sizeof(take));
    for (int i = 0; i < 16; i++) {
        t[i] = take[i] != 0 ? x[index[i]] : 0.0f;
    }
    return v_load(t);
}

SC_INLINE v16 v_load_mask(const float *x, m16 mask)
{
    static const int32_t in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return v_gather(x, w_load(in_order), mask);
}

/* Sixteen 16-bit words, widened with zeros; and the low halves of sixteen words. */
SC_INLINE w16 w_load_u16(const uint16_t *x)
{
    int32_t t[16];
    for (int i = 0; i < 16; i++) {
        t[i] = x[i];
    }
    w16 r;
    memcpy(&r, t, sizeof(r));
    return r;
}

SC_INLINE void w_store_u16(uint16_t *y, w16 x)
{
    uint32_t t[16];
    memcpy(t, &x, sizeof(x));
    for (int i = 0; i < 16; i++) {
        y[i] = (uint16_t)t[i];
    }
}

/* Shifting a half's exponent and fraction into place leaves a number 2^112 too small, subnormals included: one exact
 * product puts it right. NaN comes out quiet, as from F16C. */
SC_INLINE v16 v_load_f16(const uint16_t *x)
{
    const float up_112 = 0x1p112f;
    const ip infinity = (ip){0} + 0x7f800000, quiet = (ip){0} + 0x00400000;
    w16 h = w_load_u16(x);
    ip *const part[4] = {&h.a, &h.b, &h.c, &h.d};
    v16 r;
    vp *const out[4] = {&r.a, &r.b, &r.c, &r.d};
    for (int i = 0; i < 4; i++) {
        const ip sign = (*part[i] & 0x8000) << 16, size = (*part[i] & 0x7fff) << 13;
        const mp special = size >= 0x0f800000;
        const ip finite = (ip)((vp)size * up_112);
        const ip other = size | infinity | (quiet & (mp)(size > 0x0f800000));
        *out[i] = (vp)(p_iselect(special, other, finite) | sign);
    }
    return r;
}

/* One number to half precision, to nearest even. */
SC_INLINE uint16_t f16_from(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    const uint32_t sign = u >> 16 & 0x8000;
    const uint32_t size = u & 0x7fffffff;
    if (size > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff));
    }
    if (size >= 0x477ff000) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    }
    if (size < 0x38800000) { /* subnormal result: adding 0.5 rounds at the last place of a half */
        float f;
        memcpy(&f, &size, sizeof(f));
        f += 0.5f;
        uint32_t r;
        memcpy(&r, &f, sizeof(r));
        return (uint16_t)(sign | (r - 0x3f000000));
    }
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

SC_INLINE void v_store_f16(uint16_t *y, v16 x)
{
    float t[16];
    v_store(t, x);
    for (int i = 0; i < 16; i++) {
        y[i] = f16_from(t[i]);
    }
}

/* Lane j of row i becomes lane i of row j. */
SC_INLINE void v_turn(v16 *x)
{
    float from[16][16], to[16][16];
    for (int i = 0; i < 16; i++) {
        v_store(from[i], x[i]);
    }
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            to[j][i] = from[i][j];
        }
    }
    for (int i = 0; i < 16; i++) {
        x[i] = v_load(to[i]);
    }
}

/* The even lanes of x, then those of y. */
SC_INLINE v16 v_even(v16 x, v16 y)
{
    float from[32], to[16];
    v_store(from, x);
    v_store(from + 16, y);
    for (int i = 0; i < 16; i++) {
        to[i] = from[2 * i];
    }
    return v_load(to);
}

/* What v_even takes to the lanes of the mask. */
SC_INLINE void m_spread(m16 mask, m16 *x, m16 *y)
{
    int32_t from[16], to[32] = {0};
    memcpy(from, &mask, sizeof(from));
    for (int i = 0; i < 16; i++) {
        to[2 * i] = from[i];
    }
    *x = w_load(to);
    *y = w_load(to + 16);
}

#endif
