/* SPDX-License-Identifier: Apache-2.0
 * One row of a sum of products: neighbours along the last letter of the result. Parameters: T, the type of elements;
 * SUM, of sums along a row of operands, in LANES lanes; SUFFIX. */
#define NAME_JOIN(name, suffix) name##_##suffix
#define NAME_EXPAND(name, suffix) NAME_JOIN(name, suffix)
#define NAME(name) NAME_EXPAND(name, SUFFIX)

/* The sum of n products, b NULL: of n elements. Element i falls in lane i mod LANES. */
static SUM NAME(dot)(const T *a, int64_t a_step, const T *b, int64_t b_step, int64_t n)
{
    SUM lanes[LANES] = {0}, sum = 0;
    const int64_t even = n - n % LANES;
    if (!b && a_step == 1) {
        for (int64_t i = 0; i < even; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                lanes[l] += (SUM)a[i + l];
            }
        }
    } else if (b && a_step == 1 && b_step == 1) {
        for (int64_t i = 0; i < even; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                lanes[l] += (SUM)a[i + l] * (SUM)b[i + l];
            }
        }
    } else {
        for (int64_t i = 0; i < even; i++) {
            lanes[i % LANES] += (SUM)a[i * a_step] * (b ? (SUM)b[i * b_step] : 1);
        }
    }
    for (int64_t i = even; i < n; i++) {
        lanes[i % LANES] += (SUM)a[i * a_step] * (b ? (SUM)b[i * b_step] : 1);
    }
    for (int l = 0; l < LANES; l++) {
        sum += lanes[l];
    }
    return sum;
}

/* y[i] += a[i] * b[i]; a step of 0 is one number for all. */
static void NAME(add_products)(T *restrict y, const T *a, int64_t a_step, const T *b, int64_t b_step, int64_t n)
{
    if (!b) {
        for (int64_t i = 0; i < n; i++) {
            y[i] += a[i * a_step];
        }
    } else if (a_step == 1 && b_step == 1) {
        for (int64_t i = 0; i < n; i++) {
            y[i] += a[i] * b[i];
        }
    } else if (a_step == 0 && b_step == 1) {
        const T one = *a;
        for (int64_t i = 0; i < n; i++) {
            y[i] += one * b[i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] += a[i * a_step] * b[i * b_step];
        }
    }
}

static void NAME(row)(const struct loop *loop, int64_t row)
{
    const struct run *run = loop->run;
    const int64_t outer = count_of(&loop->summed);
    int64_t start[2] = {0, 0};
    T *y = (T *)loop->out + row * loop->inner;
    offsets_of(run, &loop->rows, row, loop->in, loop->n, start);
    if (loop->depth > loop->inner || (loop->depth_steps[0] == 1 && loop->inner_steps[0] > 1)) { /* along the sum */
        for (int64_t i = 0; i < loop->inner; i++) {
            SUM sum = 0;
            for (int64_t s = 0; s < outer; s++) {
                int64_t at[2] = {start[0] + i * loop->inner_steps[0], start[1] + i * loop->inner_steps[1]};
                offsets_of(run, &loop->summed, s, loop->in, loop->n, at);
                sum += NAME(dot)((const T *)loop->in[0]->data + at[0], loop->depth_steps[0],
                    loop->n == 2 ? (const T *)loop->in[1]->data + at[1] : NULL, loop->depth_steps[1], loop->depth);
            }
            y[i] = (T)sum;
        }
        return;
    }
    for (int64_t i = 0; i < loop->inner; i++) { /* a sum of nothing is 0 */
        y[i] = 0;
    }
    for (int64_t s = 0; s < outer; s++) {
        int64_t at[2] = {start[0], start[1]};
        offsets_of(run, &loop->summed, s, loop->in, loop->n, at);
        for (int64_t d = 0; d < loop->depth; d++) {
            NAME(add_products)
            (y, (const T *)loop->in[0]->data + at[0] + d * loop->depth_steps[0], loop->inner_steps[0],
                loop->n == 2 ? (const T *)loop->in[1]->data + at[1] + d * loop->depth_steps[1] : NULL,
                loop->inner_steps[1], loop->inner);
        }
    }
}
#undef NAME
#undef NAME_EXPAND
#undef NAME_JOIN
#undef T
#undef SUM
#undef SUFFIX
