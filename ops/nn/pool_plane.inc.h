/* SPDX-License-Identifier: Apache-2.0
 * Pooling of one plane. Parameters: TYPE (float or double) and NAME. Sums are in double. */
static void NAME(const struct sc_pool *pool, const TYPE *x, TYPE *y, int64_t *indices, int64_t plane)
{
    const struct sc_window *w = &pool->window;
    const int last = w->axes - 1;
    int64_t at[SC_MAX_AXES] = {0};
    struct box box;
    for (int i = 0; i <= last; i++) {
        open_axis(pool, i, 0, &box);
    }
    for (int64_t o = 0; o < pool->out_count; o++) {
        double sum = 0.0;
        TYPE best = (TYPE)-INFINITY;
        int64_t rows, offset = first_row(pool, &box, &rows), best_at = offset;
        const int64_t n = box.dims[last], step = box.steps[last];
        for (; rows > 0; rows--) {
            const TYPE *row = x + offset;
            for (int64_t i = 0; i < n && pool->kind == SC_POOL_MAX; i++) {
                const TYPE value = row[i * step];
                if (value > best || value != value) {
                    best = value;
                    best_at = offset + i * step;
                }
            }
            for (int64_t i = 0; i < n && pool->kind == SC_POOL_AVERAGE; i++) {
                sum += (double)row[i * step];
            }
            for (int64_t i = 0; i < n && pool->kind == SC_POOL_LP; i++) {
                const double value = (double)row[i * step];
                sum += pool->p == 1.0 ? fabs(value) : pool->p == 2.0 ? value * value : pow(fabs(value), pool->p);
            }
            offset += next_row(last, &box);
        }
        y[o] = pool->kind == SC_POOL_MAX ? best : (TYPE)finish(pool, at, sum);
        if (indices) {
            indices[o] = plane * pool->in_count + order_index(pool, best_at);
        }
        bool carry = true;
        for (int i = last; i >= 0 && carry; i--) {
            carry = ++at[i] == w->out[i];
            at[i] = carry ? 0 : at[i];
            open_axis(pool, i, at[i], &box);
        }
    }
}
#undef TYPE
#undef NAME
