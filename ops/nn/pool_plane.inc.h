/* SPDX-License-Identifier: Apache-2.0
 * Pooling of one plane. Parameters: TYPE (float or double) and NAME. Sums are in double. */
static void NAME(const struct sc_pool *pool, const TYPE *x, TYPE *y, int64_t *indices, int64_t plane)
{
    const struct sc_window *w = &pool->window;
    int64_t at[SC_MAX_AXES] = {0};
    for (int64_t o = 0; o < pool->out_count; o++) {
        struct box box;
        open_box(pool, at, &box);
        double sum = 0.0;
        TYPE best = (TYPE)-INFINITY;
        int64_t best_at = box.offset;
        int64_t offset = box.offset;
        for (int64_t n = box.count; n > 0; n--) {
            const TYPE value = x[offset];
            switch (pool->kind) {
            case SC_POOL_MAX:
                if (value > best || value != value) {
                    best = value;
                    best_at = offset;
                }
                break;
            case SC_POOL_AVERAGE:
                sum += (double)value;
                break;
            case SC_POOL_LP:
                sum += pool->p == 1.0 ? fabs((double)value)
                    : pool->p == 2.0  ? (double)value * (double)value
                                      : pow(fabs((double)value), pool->p);
                break;
            }
            offset += step_box(w, &box);
        }
        y[o] = pool->kind == SC_POOL_MAX ? best : (TYPE)finish(pool, at, sum);
        if (indices) {
            indices[o] = plane * pool->in_count + order_index(pool, best_at);
        }
        for (int i = w->axes - 1; i >= 0 && ++at[i] == w->out[i]; i--) {
            at[i] = 0;
        }
    }
}
#undef TYPE
#undef NAME
