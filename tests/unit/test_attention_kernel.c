/* SPDX-License-Identifier: Apache-2.0
 * Attention against the definition in double, and the same bits in every company: chunks, threads, views, later keys.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/attention.h"

#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

#define MAX_BATCH 2
#define MAX_PAGES 8

enum view_kind { DENSE, PAGED, STRIDED, N_VIEW_KINDS };
enum bias_kind { NO_BIAS, MASK, ADDED, BROADCAST };

/* One attention with all of its data: in double for the reference, in `type` for the kernel. */
struct setup {
    struct sc_attention a;
    struct sc_state_view keys[MAX_BATCH], values[MAX_BATCH];
    void *key_pages[MAX_BATCH][MAX_PAGES], *value_pages[MAX_BATCH][MAX_PAGES];
    int64_t offset[MAX_BATCH];
    int64_t length; /* of every row's keys */
    double *want_y, *want_tap; /* one row after the other */
    double *q, *k, *v, *bias; /* dense: [b,h,i,d], [b,kv,j,d], [b,kv,j,d], [b,h,i,j] */
    void *blocks[32]; /* all that is to be freed */
    int n_blocks;
};

struct options {
    enum sc_type type;
    enum view_kind view;
    enum bias_kind bias;
    int64_t n_q, length, offset, qk_width, v_width, kv_heads, group;
    bool causal;
    int64_t left, right;
    double softcap;
    enum sc_attention_tap tap;
};

static const struct options plain = {.type = SC_F32,
    .n_q = 5,
    .length = 150,
    .offset = 145,
    .qk_width = 40,
    .v_width = 24,
    .kv_heads = 2,
    .group = 2,
    .left = -1,
    .right = -1,
    .tap = SC_TAP_NONE};

static void *need(struct setup *s, size_t bytes)
{
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    memset(memory, 0, bytes + 1);
    assert_true(s->n_blocks < 32);
    s->blocks[s->n_blocks++] = memory;
    return memory;
}

static void release(struct setup *s)
{
    while (s->n_blocks > 0) {
        free(s->blocks[--s->n_blocks]);
    }
}

/* Stores x as element i of the type and gives back what was stored. */
static double put(enum sc_type type, void *data, int64_t i, double x)
{
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    float f = (float)x;
    switch (type) {
    case SC_F64:
        ((double *)data)[i] = x;
        return x;
    case SC_F32:
        ((float *)data)[i] = f;
        return (double)f;
    case SC_F16:
        base->f32_to_f16(&f, (uint16_t *)data + i, 1);
        base->f16_to_f32((uint16_t *)data + i, &f, 1);
        return (double)f;
    default:
        base->f32_to_bf16(&f, (uint16_t *)data + i, 1);
        base->bf16_to_f32((uint16_t *)data + i, &f, 1);
        return (double)f;
    }
}

static double get(enum sc_type type, const void *data, int64_t i)
{
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    float f = 0;
    switch (type) {
    case SC_F64:
        return ((const double *)data)[i];
    case SC_F32:
        return (double)((const float *)data)[i];
    case SC_F16:
        base->f16_to_f32((const uint16_t *)data + i, &f, 1);
        return (double)f;
    default:
        base->bf16_to_f32((const uint16_t *)data + i, &f, 1);
        return (double)f;
    }
}

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / 8388608.0 - 1.0;
}

/* The cache of one row in the layout asked for; `wide` gets the stored numbers. Paged keys are [head][width][64] with
 * whole pages, whose unused rows hold 1e30: finite, and wrong to use. Dense ones end with their last row. */
static void make_view(struct setup *s, const struct options *o, bool is_key, int b, uint64_t *seed, double *wide)
{
    const size_t element = sc_type_bytes(o->type);
    const int64_t width = is_key ? o->qk_width : o->v_width, n_pages = (o->length + 63) / 64;
    struct sc_state_view *view = is_key ? &s->keys[b] : &s->values[b];
    void **pages = is_key ? s->key_pages[b] : s->value_pages[b];
    *view = (struct sc_state_view){pages, n_pages, o->length, 0, width, 1};
    view->head_stride = o->length * width;
    if (o->view == PAGED) {
        view->head_stride = 64 * width;
        view->row_stride = is_key ? 1 : width;
        view->column_stride = is_key ? 64 : 1;
    } else if (o->view == STRIDED) { /* [position][width][head] */
        view->head_stride = 1;
        view->row_stride = width * o->kv_heads;
        view->column_stride = o->kv_heads;
    }
    char *dense = o->view != PAGED ? need(s, (size_t)(o->kv_heads * o->length * width) * element) : NULL;
    for (int64_t page = 0; page < n_pages; page++) {
        const size_t page_elements = (size_t)(o->kv_heads * 64 * width);
        pages[page] =
            dense != NULL ? dense + (size_t)(page * 64 * view->row_stride) * element : need(s, page_elements * element);
        for (size_t i = 0; dense == NULL && i < page_elements; i++) {
            put(o->type, pages[page], (int64_t)i, o->type == SC_F16 ? 6e4 : 1e30);
        }
    }
    for (int64_t i = 0; i < o->kv_heads * o->length * width; i++) {
        const int64_t d = i % width, j = i / width % o->length, h = i / width / o->length;
        const int64_t at = h * view->head_stride + j % 64 * view->row_stride + d * view->column_stride;
        wide[i] = put(o->type, pages[j / 64], at, random_number(seed));
    }
}

static void make_bias(struct setup *s, const struct options *o, uint64_t *seed)
{
    struct sc_attention *a = &s->a;
    const int64_t rows = a->q_heads * o->n_q, width = o->length, n = MAX_BATCH * rows * width;
    s->bias = need(s, (size_t)n * sizeof(double));
    if (o->bias == NO_BIAS) {
        return;
    }
    void *data = need(s, (size_t)n * sc_type_bytes(o->type));
    a->bias = data;
    a->bias_is_mask = o->bias == MASK;
    a->bias_length = o->length - 3;
    const int64_t strides[4] = {rows * width, o->n_q * width, width, 1};
    memcpy(a->bias_strides, strides, sizeof(strides));
    if (o->bias == BROADCAST) {
        a->bias_strides[0] = a->bias_strides[1] = a->bias_strides[3] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = i % width, r = i / width;
        const int64_t b = r / rows, h = r / o->n_q % a->q_heads, q = r % o->n_q;
        const int64_t at =
            b * a->bias_strides[0] + h * a->bias_strides[1] + q * a->bias_strides[2] + j * a->bias_strides[3];
        if (o->bias == MASK) {
            const uint8_t keep = random_number(seed) > -0.3 && !(q == 3 && h == 1);
            ((uint8_t *)data)[at] = keep;
            s->bias[i] = keep != 0 ? 0 : -INFINITY;
        } else if (o->bias == ADDED) {
            s->bias[i] = put(o->type, data, at, 2 * random_number(seed));
        } else {
            s->bias[i] = put(o->type, data, at, (double)q / 4);
        }
    }
}

static void make(struct setup *s, const struct options *o)
{
    memset(s, 0, sizeof(*s));
    uint64_t seed = 17;
    const size_t element = sc_type_bytes(o->type);
    struct sc_attention *a = &s->a;
    s->length = o->length;
    *a = (struct sc_attention){.type = o->type,
        .batch = MAX_BATCH,
        .q_heads = o->kv_heads * o->group,
        .kv_heads = o->kv_heads,
        .n_q = o->n_q,
        .qk_width = o->qk_width,
        .v_width = o->v_width,
        .scale = 0.3,
        .softcap = o->softcap,
        .causal = o->causal,
        .left_window = o->left,
        .right_window = o->right,
        .tap = o->tap,
        .qk_length = o->length + 2};
    const int64_t rows = a->q_heads * o->n_q;
    /* q and y lie as [batch, n_q, heads, width] */
    const int64_t q_strides[4] = {rows * o->qk_width, o->qk_width, a->q_heads * o->qk_width, 1};
    const int64_t y_strides[4] = {rows * o->v_width, o->v_width, a->q_heads * o->v_width, 1};
    memcpy(a->q_strides, q_strides, sizeof(q_strides));
    memcpy(a->y_strides, y_strides, sizeof(y_strides));
    void *q = need(s, (size_t)(MAX_BATCH * rows * o->qk_width) * element);
    s->q = need(s, (size_t)(MAX_BATCH * rows * o->qk_width) * sizeof(double));
    s->k = need(s, (size_t)(MAX_BATCH * o->kv_heads * o->length * o->qk_width) * sizeof(double));
    s->v = need(s, (size_t)(MAX_BATCH * o->kv_heads * o->length * o->v_width) * sizeof(double));
    for (int64_t i = 0; i < MAX_BATCH * rows * o->qk_width; i++) {
        const int64_t d = i % o->qk_width, row = i / o->qk_width % o->n_q, h = i / o->qk_width / o->n_q % a->q_heads;
        const int64_t at = i / (rows * o->qk_width) * q_strides[0] + h * q_strides[1] + row * q_strides[2] + d;
        s->q[i] = put(o->type, q, at, random_number(&seed));
    }
    for (int b = 0; b < MAX_BATCH; b++) {
        make_view(s, o, true, b, &seed, s->k + b * o->kv_heads * o->length * o->qk_width);
        make_view(s, o, false, b, &seed, s->v + b * o->kv_heads * o->length * o->v_width);
        s->offset[b] = o->offset - b * 3;
    }
    make_bias(s, o, &seed);
    a->q = q;
    a->keys = s->keys;
    a->values = s->values;
    a->offset = s->offset;
    a->y = need(s, (size_t)(MAX_BATCH * rows * o->v_width) * element);
    a->qk_out = need(s, (size_t)(MAX_BATCH * rows * a->qk_length) * element);
}

static void run(struct setup *s, const struct sc_kernels *kernels, struct sc_team *team)
{
    void *scratch = malloc(sc_attention_scratch_bytes(&s->a, s->length, sc_team_size(team)) + 1);
    assert_non_null(scratch);
    sc_attention_run(kernels, team, &s->a, scratch);
    free(scratch);
}

static bool sees(const struct sc_attention *a, int64_t position, int64_t j)
{
    return (!a->causal || j <= position) && (a->left_window < 0 || j >= position - a->left_window) &&
        (a->right_window < 0 || j <= position + a->right_window) && (a->bias == NULL || j < a->bias_length);
}

/* |got - want| may be: width roundings of each score and of the number they are summed to, doubled for the weight's
 * quotient, |v| < 1; n more in the sums; then one rounding to the type of a number below `size`. */
static double bound_of(const struct sc_attention *a, double size)
{
    const double u = a->type == SC_F64 ? 0x1p-53 : 0x1p-24;
    const double last = a->type == SC_F16 ? 0x1p-11 : a->type == SC_BF16 ? 0x1p-8 : 0;
    const double width = (double)a->qk_width, n = (double)a->keys[0].length;
    return (4 * width * width * fabs(a->scale) + 2 * n + 40) * u + last * size;
}

static void check_number(const struct sc_attention *a, double got, double want, const char *what, int64_t row)
{
    const bool same = isinf(want) ? got == want : fabs(got - want) <= bound_of(a, fabs(want) + 0.01);
    if (!same) {
        fail_msg("%s, row %d: got %g, want %g", what, (int)row, got, want);
    }
}

/* The definition, for one row r = (b, h, i). stages: scores, softcap, bias, softmax. */
static void reference_row(const struct setup *s, int64_t r, double *stages[4], double *y)
{
    const struct sc_attention *a = &s->a;
    const int64_t n = s->length, i = r % a->n_q, h = r / a->n_q % a->q_heads, b = r / a->n_q / a->q_heads;
    const int64_t kv = b * a->kv_heads + h / (a->q_heads / a->kv_heads);
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double dot = 0;
        for (int64_t d = 0; d < a->qk_width; d++) {
            dot += s->q[r * a->qk_width + d] * s->k[(kv * n + j) * a->qk_width + d];
        }
        stages[0][j] = a->scale * dot;
        stages[1][j] = a->softcap > 0 ? a->softcap * tanh(stages[0][j] / a->softcap) : stages[0][j];
        stages[2][j] = sees(a, a->offset[b] + i, j) ? stages[1][j] + s->bias[r * n + j] : -INFINITY;
        most = fmax(most, stages[2][j]);
    }
    for (int64_t j = 0; j < n; j++) {
        stages[3][j] = most == -INFINITY ? 0 : exp(stages[2][j] - most);
        sum += stages[3][j];
    }
    for (int64_t d = 0; d < a->v_width; d++) {
        y[d] = 0;
    }
    for (int64_t j = 0; j < n; j++) {
        stages[3][j] = sum > 0 ? stages[3][j] / sum : 0;
        for (int64_t d = 0; d < a->v_width; d++) {
            y[d] += stages[3][j] * s->v[(kv * n + j) * a->v_width + d];
        }
    }
}

static void make_reference(struct setup *s)
{
    const struct sc_attention *a = &s->a;
    const int64_t n_rows = MAX_BATCH * a->q_heads * a->n_q;
    double stage[4][512];
    double *stages[4] = {stage[0], stage[1], stage[2], stage[3]};
    assert_true(s->length <= 512);
    s->want_y = need(s, (size_t)(n_rows * a->v_width) * sizeof(double));
    s->want_tap = need(s, (size_t)(n_rows * a->qk_length) * sizeof(double));
    for (int64_t r = 0; r < n_rows; r++) {
        reference_row(s, r, stages, s->want_y + r * a->v_width);
        for (int64_t j = 0; a->tap != SC_TAP_NONE && j < a->qk_length; j++) {
            const double rest = a->tap == SC_TAP_BIAS ? -INFINITY : 0;
            s->want_tap[r * a->qk_length + j] = j < s->length ? stages[a->tap][j] : rest;
        }
    }
}

static void check(const struct setup *s)
{
    const struct sc_attention *a = &s->a;
    for (int64_t r = 0; r < MAX_BATCH * a->q_heads * a->n_q; r++) {
        const int64_t i = r % a->n_q, h = r / a->n_q % a->q_heads, b = r / a->n_q / a->q_heads;
        const int64_t y = b * a->y_strides[0] + h * a->y_strides[1] + i * a->y_strides[2];
        for (int64_t d = 0; d < a->v_width; d++) {
            check_number(a, get(a->type, a->y, y + d), s->want_y[r * a->v_width + d], "y", r);
        }
        for (int64_t j = r * a->qk_length; a->tap != SC_TAP_NONE && j < (r + 1) * a->qk_length; j++) {
            check_number(a, get(a->type, a->qk_out, j), s->want_tap[j], "tap", r);
        }
    }
}

/* Runs one set of options over all types, views and levels. */
static void check_everywhere(struct options o)
{
    static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64};
    for (int t = 0; t < 4; t++) {
        for (int view = 0; view < N_VIEW_KINDS; view++) {
            o.type = types[t];
            o.view = (enum view_kind)view;
            struct setup s;
            make(&s, &o);
            make_reference(&s);
            EACH_LEVEL
            {
                run(&s, kernels, NULL);
                check(&s);
            }
            release(&s);
        }
    }
}

static void plain_attention_is_right(void **state)
{
    (void)state;
    check_everywhere(plain);
}

static void every_length_is_right(void **state)
{
    (void)state;
    for (int64_t length = 0; length <= 200; length += length < 5 || length % 64 > 61 ? 1 : 7) {
        struct options o = plain;
        o.length = length;
        o.offset = length - 2;
        o.n_q = 2;
        o.causal = true;
        check_everywhere(o);
    }
}

static void widths_off_the_lanes_are_right(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 16, 33, 48};
    for (int i = 0; i < 10; i++) {
        struct options o = plain;
        o.n_q = 3;
        o.qk_width = widths[i % 5];
        o.v_width = widths[(2 * i + i / 5) % 5];
        check_everywhere(o);
    }
}

static void causal_is_right_with_every_sign_of_offset(void **state)
{
    (void)state;
    static const int64_t offsets[] = {-100, -3, 0, 1, 62, 141, 200};
    for (int i = 0; i < 7; i++) {
        struct options o = plain;
        o.causal = true;
        o.offset = offsets[i];
        check_everywhere(o);
    }
}

static void windows_are_right(void **state)
{
    (void)state;
    static const int64_t windows[] = {-1, 0, 5, 70, INT64_MAX / 2};
    for (int i = 0; i < 25; i++) {
        struct options o = plain;
        o.n_q = 3;
        o.kv_heads = 1;
        o.causal = i % 2 != 0;
        o.left = windows[i % 5];
        o.right = windows[i / 5];
        o.offset = 90;
        check_everywhere(o);
    }
}

static void bias_mask_and_softcap_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        struct options o = plain;
        o.bias = (enum bias_kind)(i % 4);
        o.softcap = i / 4 % 2 != 0 ? 1.5 : 0;
        o.causal = i / 8 != 0;
        o.offset = 100;
        check_everywhere(o);
    }
}

static void taps_show_each_stage(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct options o = plain;
        o.tap = (enum sc_attention_tap)(i % 4);
        o.bias = i / 4 == 1 ? MASK : i / 4 == 2 ? ADDED : NO_BIAS;
        o.softcap = 1.5;
        o.causal = true;
        o.left = 70;
        o.offset = 100;
        check_everywhere(o);
    }
}

static void a_row_that_sees_nothing_is_zero(void **state)
{
    (void)state;
    struct options o = plain;
    o.causal = true;
    o.offset = -20;
    struct setup s;
    make(&s, &o);
    EACH_LEVEL
    {
        const size_t bytes = (size_t)(MAX_BATCH * s.a.q_heads * s.a.n_q * s.a.v_width) * sizeof(float);
        memset(s.a.y, 0x7b, bytes);
        run(&s, kernels, NULL);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(((const char *)s.a.y)[i], 0);
        }
    }
    release(&s);
}

/* Many query rows over several tiles, as prefill has them. */
static struct options prefill(enum sc_type type)
{
    struct options o = plain;
    o.type = type;
    o.n_q = 75;
    o.kv_heads = 1;
    o.length = 140;
    o.offset = 60;
    o.causal = true;
    return o;
}

/* Queries [from, from + n) of the setup; y in the same place. */
static void run_chunk(
    const struct setup *s, const struct sc_kernels *kernels, struct sc_team *team, int64_t from, int64_t n, void *y)
{
    struct setup part = *s;
    const size_t element = sc_type_bytes(s->a.type);
    part.a.q = (const char *)s->a.q + (size_t)(from * s->a.q_strides[2]) * element;
    part.a.y = (char *)y + (size_t)(from * s->a.y_strides[2]) * element;
    part.a.keys = part.keys;
    part.a.values = part.values;
    part.a.offset = part.offset;
    part.a.n_q = n;
    for (int b = 0; b < MAX_BATCH; b++) {
        part.offset[b] += from;
        /* the keys after the chunk's last query need not be there yet */
        const int64_t length = part.offset[b] + n;
        part.keys[b].length = part.values[b].length = length < s->length ? length : s->length;
    }
    run(&part, kernels, team);
}

static void chunks_and_threads_do_not_change_a_bit(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64};
    static const int64_t chunks[] = {1, 2, 7, 16, 64, 75};
    const struct sc_team_options options = {2, NULL, NULL};
    struct sc_team *team;
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    EACH_LEVEL
    {
        for (int each = 0; each < 8 * 6; each++) {
            struct options o = prefill(types[each % 4]);
            o.left = each / 4 % 2 != 0 ? 30 : -1;
            struct setup s;
            make(&s, &o);
            run(&s, kernels, NULL);
            const int64_t chunk = chunks[each / 8];
            const size_t bytes = (size_t)(MAX_BATCH * s.a.q_heads * s.a.n_q * s.a.v_width) * sc_type_bytes(s.a.type);
            void *y = need(&s, bytes);
            for (int64_t from = 0; from < o.n_q; from += chunk) {
                const int64_t n = o.n_q - from < chunk ? o.n_q - from : chunk;
                run_chunk(&s, kernels, from % 2 != 0 || chunk > 16 ? team : NULL, from, n, y);
            }
            assert_memory_equal(y, s.a.y, bytes);
            release(&s);
        }
    }
    sc_team_free(team);
}

static void views_do_not_change_a_bit(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64};
    EACH_LEVEL
    {
        for (int t = 0; t < 4; t++) {
            struct options o = prefill(types[t]);
            o.v_width = 32;
            struct setup dense;
            make(&dense, &o);
            run(&dense, kernels, NULL);
            const size_t bytes = (size_t)(MAX_BATCH * dense.a.q_heads * o.n_q * o.v_width) * sc_type_bytes(o.type);
            for (int view = 1; view < N_VIEW_KINDS; view++) {
                struct setup other;
                o.view = (enum view_kind)view;
                make(&other, &o);
                run(&other, kernels, NULL);
                assert_memory_equal(other.a.y, dense.a.y, bytes);
                release(&other);
            }
            release(&dense);
        }
    }
}

/* Later keys that a mask hides give the bits of later keys that are not there. */
static void masked_later_keys_are_as_absent_ones(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        struct options o = plain;
        o.n_q = 5;
        struct setup s;
        make(&s, &o);
        const size_t bytes = (size_t)(MAX_BATCH * s.a.q_heads * s.a.n_q * s.a.v_width) * sizeof(float);
        uint8_t mask[150];
        for (int64_t there = 1; there < 150; there += 13) {
            for (int64_t j = 0; j < 150; j++) {
                mask[j] = j < there;
            }
            struct setup hidden = s, absent = s;
            hidden.a.bias = mask;
            hidden.a.bias_is_mask = true;
            hidden.a.bias_length = 150;
            const int64_t strides[4] = {0, 0, 0, 1};
            memcpy(hidden.a.bias_strides, strides, sizeof(strides));
            run(&hidden, kernels, NULL);
            void *y = malloc(bytes);
            assert_non_null(y);
            memcpy(y, s.a.y, bytes);
            for (int b = 0; b < MAX_BATCH; b++) {
                absent.keys[b].length = absent.values[b].length = there;
            }
            absent.a.keys = absent.keys;
            absent.a.values = absent.values;
            run(&absent, kernels, NULL);
            assert_memory_equal(s.a.y, y, bytes);
            free(y);
        }
        release(&s);
    }
}

/* A query must not feel what it does not see, even NaN. */
static void nan_in_a_later_key_or_value_stays_out(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        struct options o = plain;
        o.causal = true;
        struct setup s;
        make(&s, &o);
        run(&s, kernels, NULL);
        const size_t bytes = (size_t)(MAX_BATCH * s.a.q_heads * s.a.n_q * s.a.v_width) * sizeof(float);
        void *y = need(&s, bytes);
        memcpy(y, s.a.y, bytes);
        for (int b = 0; b < MAX_BATCH; b++) {
            const int64_t last = o.length - 1; /* seen by row 4 of batch row 0 alone */
            for (int64_t h = 0; h < o.kv_heads; h++) {
                float *k = (float *)s.key_pages[b][last / 64] + h * s.keys[b].head_stride;
                float *v = (float *)s.value_pages[b][last / 64] + h * s.values[b].head_stride;
                k[last % 64 * s.keys[b].row_stride] = NAN;
                v[last % 64 * s.values[b].row_stride] = NAN;
            }
        }
        run(&s, kernels, NULL);
        for (int64_t i = 0; i < MAX_BATCH * o.n_q; i++) {
            const size_t row = (size_t)(s.a.q_heads * s.a.v_width) * sizeof(float), at = (size_t)i * row;
            if (i != 4) {
                assert_memory_equal((const char *)s.a.y + at, (const char *)y + at, row);
            }
        }
        assert_true(isnan(((const float *)s.a.y)[4 * s.a.q_heads * s.a.v_width]));
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_attention_is_right),
        cmocka_unit_test(every_length_is_right),
        cmocka_unit_test(widths_off_the_lanes_are_right),
        cmocka_unit_test(causal_is_right_with_every_sign_of_offset),
        cmocka_unit_test(windows_are_right),
        cmocka_unit_test(bias_mask_and_softcap_are_right),
        cmocka_unit_test(taps_show_each_stage),
        cmocka_unit_test(a_row_that_sees_nothing_is_zero),
        cmocka_unit_test(chunks_and_threads_do_not_change_a_bit),
        cmocka_unit_test(views_do_not_change_a_bit),
        cmocka_unit_test(masked_later_keys_are_as_absent_ones),
        cmocka_unit_test(nan_in_a_later_key_or_value_stays_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
