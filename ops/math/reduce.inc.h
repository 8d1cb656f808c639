/* SPDX-License-Identifier: Apache-2.0
 * One unit of a reduction for one type; see each_number.inc.h for the parameters. Integers wrap. 16-bit floats come
 * through here as f32, loaded a tile at a time. */
#if IS_FLOAT
#define LOWEST (-(T)INFINITY)
#define HIGHEST ((T)INFINITY)
#define IS_NAN(x) ((x) != (x))
#else
#define LOWEST (IS_SIGNED ? (T)((U)1 << (8 * sizeof(T) - 1)) : 0)
#define HIGHEST ((T)(IS_SIGNED ? (U)-1 >> 1 : (U)-1))
#define IS_NAN(x) 0
#endif

static T OF(identity)(enum step step)
{
    return step == STEP_MAX ? LOWEST : step == STEP_MIN ? HIGHEST : step == STEP_PROD ? 1 : 0;
}

/* n accumulators side by side take one element each; a step of 0 lets one accumulator take all elements in order. */
#define LOOP(name, expression)                                                                                         \
    static void OF(name)(T * acc, int64_t step, const T *in, int64_t n)                                                \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = in[i], a = acc[i * step];                                                                      \
            acc[i * step] = (T)(expression);                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void OF(name##_lanes)(T * lanes, const T *in, int64_t n)                                                    \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i += LANES) {                                                                       \
            for (int l = 0; l < LANES; l++) {                                                                          \
                const T x = in[i + l], a = lanes[l];                                                                   \
                lanes[l] = (T)(expression);                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
LOOP(take_sum, a + x)
LOOP(take_abs, a + (NEGATIVE(x) ? (T)-x : x))
LOOP(take_square, a + x * x)
LOOP(take_prod, a *x)
LOOP(take_max, x > a || IS_NAN(x) ? x : a)
LOOP(take_min, x < a || IS_NAN(x) ? x : a)
#undef LOOP

#if IS_FLOAT
static void OF(take_exp)(T *acc, int64_t step, const T *in, const T *shift, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        acc[i * step] += F(exp)(in[i] - shift[i * step]);
    }
}
#endif

static void OF(take)(enum step step, T *acc, int64_t stride, const T *in, const T *shift, int64_t n)
{
    switch (step) {
    case STEP_SUM:
        OF(take_sum)(acc, stride, in, n);
        break;
    case STEP_ABS:
        OF(take_abs)(acc, stride, in, n);
        break;
    case STEP_SQUARE:
        OF(take_square)(acc, stride, in, n);
        break;
    case STEP_PROD:
        OF(take_prod)(acc, stride, in, n);
        break;
    case STEP_MAX:
        OF(take_max)(acc, stride, in, n);
        break;
    case STEP_MIN:
        OF(take_min)(acc, stride, in, n);
        break;
    case STEP_EXP:
#if IS_FLOAT
        OF(take_exp)(acc, stride, in, shift, n);
#else
        (void)shift;
#endif
        break;
    }
}

/* A contiguous row into one accumulator: element i in lane i mod LANES, the lanes one after the other at the end. */
static void OF(take_lanes)(enum step step, T *acc, const T *in, int64_t n)
{
    T lanes[LANES];
    const int64_t even = n - n % LANES;
    for (int l = 0; l < LANES; l++) {
        lanes[l] = OF(identity)(step);
    }
    switch (step) {
    case STEP_SUM:
    case STEP_EXP: /* never: it has a shift */
        OF(take_sum_lanes)(lanes, in, even);
        break;
    case STEP_ABS:
        OF(take_abs_lanes)(lanes, in, even);
        break;
    case STEP_SQUARE:
        OF(take_square_lanes)(lanes, in, even);
        break;
    case STEP_PROD:
        OF(take_prod_lanes)(lanes, in, even);
        break;
    case STEP_MAX:
        OF(take_max_lanes)(lanes, in, even);
        break;
    case STEP_MIN:
        OF(take_min_lanes)(lanes, in, even);
        break;
    }
    OF(take)(step, lanes, 1, in + even, NULL, n - even);
    OF(take)(step == STEP_ABS || step == STEP_SQUARE ? STEP_SUM : step, acc, 0, lanes, NULL, LANES);
}

/* A contiguous row into one accumulator. f32 sums go through the kernels, whose order is fixed for every length. */
static void OF(take_row)(const struct reduce *r, enum step step, T *acc, const T *in, const T *shift, int64_t n)
{
#if IS_F32
    float tile[SC_TILE];
    switch (step) {
    case STEP_SUM:
        *acc += r->kernels->sum(in, n);
        return;
    case STEP_SQUARE:
        *acc += r->kernels->sum_squares(in, 0, n);
        return;
    case STEP_MAX: {
        const float most = r->kernels->max(in, n);
        OF(take_max)(acc, 0, &most, 1);
        return;
    }
    case STEP_MIN: {
        const float least = r->kernels->min(in, n);
        OF(take_min)(acc, 0, &least, 1);
        return;
    }
    case STEP_ABS:
    case STEP_EXP:
        for (int64_t from = 0; from < n; from += SC_TILE) {
            const int64_t m = n - from < SC_TILE ? n - from : SC_TILE;
            if (step == STEP_ABS) {
                r->kernels->unary[SC_UNARY_abs](in + from, tile, m);
                *acc += r->kernels->sum(tile, m);
            } else {
                *acc += r->kernels->exp_sum(in + from, *shift, tile, m);
            }
        }
        return;
    default:
        break;
    }
#else
    (void)r;
#endif
    if (step == STEP_EXP) {
        OF(take)(step, acc, 0, in, shift, n);
    } else {
        OF(take_lanes)(step, acc, in, n);
    }
}

/* n elements at `at` of the input, as T. */
static const T *OF(load)(const struct reduce *r, int64_t at, int64_t n, T *tile)
{
#if IS_F32
    if (r->half != SC_TYPE_NONE) {
        sc_widen(r->kernels, r->half, (const uint16_t *)r->in + at, tile, n);
        return tile;
    }
#else
    (void)n, (void)tile;
#endif
    return (const T *)r->in + at;
}

/* All elements of a unit, by rounds, into its accumulators. */
static void OF(gather)(
    const struct reduce *r, enum step step, const struct sc_reduction_unit *unit, T *acc, const T *shift)
{
    const struct sc_reduction *shape = &r->shape;
    int64_t index[SC_MAX_RANK] = {0}, offset = 0;
    T tile[SC_TILE];
    for (int64_t i = 0; i < unit->n; i++) {
        acc[i] = OF(identity)(step);
    }
    if (shape->count == 0) {
        return;
    }
    for (int64_t round = 0; round < shape->rounds; round++) {
        const int64_t at = unit->in_at + offset;
        if (!shape->inner_reduced) {
            OF(take)(step, acc, 1, OF(load)(r, at, unit->n, tile), shift, unit->n);
        } else {
            const int64_t chunk = r->half != SC_TYPE_NONE ? SC_TILE : shape->inner;
            for (int64_t from = 0; from < shape->inner; from += chunk) {
                const int64_t n = shape->inner - from < chunk ? shape->inner - from : chunk;
                OF(take_row)(r, step, acc, OF(load)(r, at + from, n, tile), shift, n);
            }
        }
        offset = sc_reduction_next(shape, index, offset);
    }
}

static T OF(finish)(const struct reduce *r, T sum, T shift)
{
    switch (r->last) {
    case LAST_MEAN:
#if IS_FLOAT
        return sum / (T)r->shape.count;
#else
        return r->shape.count ? (T)(sum / (T)r->shape.count) : 0;
#endif
#if IS_FLOAT
    case LAST_SQRT:
        return F(sqrt)(sum);
    case LAST_LOG:
        return F(log)(sum);
    case LAST_LOG_SHIFT: /* the largest element was taken out; when that is infinite it is the answer */
        return shift - shift == 0 ? shift + F(log)(sum) : shift;
#else
    case LAST_SQRT:
        return (T)sqrt((double)sum);
    case LAST_LOG:
        return sum == 0 ? LOWEST : (T)log((double)sum);
    case LAST_LOG_SHIFT:
#endif
    case LAST_NOTHING:
        break;
    }
    (void)shift;
    return sum;
}

static void OF(reduce_part)(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct reduce *r = arg;
    const int64_t end = (part + 1) * r->units < r->shape.n_units ? (part + 1) * r->units : r->shape.n_units;
    for (int64_t u = part * r->units; u < end; u++) {
        const struct sc_reduction_unit unit = sc_reduction_unit(&r->shape, u);
        T acc[SC_REDUCE_LANES], shift[SC_REDUCE_LANES] = {0};
        if (r->last == LAST_LOG_SHIFT) {
            OF(gather)(r, STEP_MAX, &unit, shift, shift);
        }
        OF(gather)(r, r->step, &unit, acc, shift);
        for (int64_t i = 0; i < unit.n; i++) {
            acc[i] = OF(finish)(r, acc[i], shift[i]);
        }
#if IS_F32
        if (r->half != SC_TYPE_NONE) {
            sc_round_to(r->kernels, r->half, acc, (uint16_t *)r->out + unit.out_at, unit.n);
            continue;
        }
#endif
        memcpy((T *)r->out + unit.out_at, acc, (size_t)unit.n * sizeof(T));
    }
}
#undef LOWEST
#undef HIGHEST
#undef IS_NAN
