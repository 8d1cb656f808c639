/* SPDX-License-Identifier: Apache-2.0
 * Running sums and products for one type; see each_number.inc.h for the parameters. Integers wrap. 16-bit floats run in
 * f32 and are rounded as they are written. */
static void OF(cumulate_part)(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct cumulate *c = arg;
    const int64_t lanes_units = (c->step + SC_TILE - 1) / SC_TILE;
    const int64_t outer = part / lanes_units, lane = part % lanes_units * SC_TILE;
    const int64_t n = c->step - lane < SC_TILE ? c->step - lane : SC_TILE;
    T acc[SC_TILE], tile[SC_TILE];
    for (int64_t i = 0; i < n; i++) {
        acc[i] = c->product ? 1 : 0;
    }
    for (int64_t k = 0; k < c->length; k++) {
        const int64_t at = (outer * c->length + (c->reverse ? c->length - 1 - k : k)) * c->step + lane;
        const T *x = (const T *)c->in + at;
        T *y = (T *)c->out + at;
#if IS_F32
        if (c->half != SC_TYPE_NONE) {
            sc_widen(c->kernels, c->half, (const uint16_t *)c->in + at, tile, n);
            x = tile;
            y = tile;
        }
#else
        (void)tile;
#endif
        for (int64_t i = 0; i < n; i++) {
            const T before = acc[i];
            acc[i] = (T)(c->product ? before * x[i] : before + x[i]);
            y[i] = c->exclusive ? before : acc[i];
        }
#if IS_F32
        if (c->half != SC_TYPE_NONE) {
            sc_round_to(c->kernels, c->half, tile, (uint16_t *)c->out + at, n);
        }
#endif
    }
}
