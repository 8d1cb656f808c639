/* SPDX-License-Identifier: Apache-2.0
 * A plain product of integers. Parameters: TYPE (unsigned, so that sums wrap) and NAME. */
static void NAME(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct sc_product *p = arg;
    const TYPE *a = (const TYPE *)p->a + row * p->a_stride;
    TYPE *c = (TYPE *)p->c + row * p->N;
    memset(c, 0, (size_t)p->N * sizeof(TYPE));
    for (int64_t k = 0; k < p->K; k++) {
        const TYPE *b = (const TYPE *)p->b + k * p->b_row_stride;
        for (int64_t n = 0; n < p->N; n++) {
            c[n] += a[k] * b[n * p->b_column_stride];
        }
    }
}
#undef TYPE
#undef NAME
