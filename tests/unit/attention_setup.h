/* SPDX-License-Identifier: Apache-2.0
 * Attention problems for tests: options, and all data in the kernel's type and in double. Include cmocka's headers
 * first. */
#ifndef SC_TESTS_ATTENTION_SETUP_H
#define SC_TESTS_ATTENTION_SETUP_H

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
    double *distances; /* [h, distance] */
    void *blocks[32]; /* all that is to be freed */
    int n_blocks;
};

struct options {
    enum sc_type type, v_type; /* v_type: none for the same */
    enum view_kind view;
    enum bias_kind bias;
    int64_t n_q, length, offset, qk_width, v_width, kv_heads, group;
    bool causal;
    int64_t left, right;
    double softcap;
    enum sc_attention_tap tap;
    const float *slopes; /* per query head, or NULL */
    int64_t n_distances, before; /* 0: there is no table by distance */
    bool one_for_all; /* heads read the same row of it */
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

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / 8388608.0 - 1.0;
}

/* The cache of one row in the layout asked for; `wide` gets the stored numbers. Paged keys are [head][width][64] with
 * whole pages, whose unused rows hold 1e30: finite, and wrong to use. Dense ones end with their last row. */
static void make_view(struct setup *s, const struct options *o, bool is_key, int b, uint64_t *seed, double *wide)
{
    const enum sc_type type = is_key || !o->v_type ? o->type : o->v_type;
    const size_t element = sc_type_bytes(type);
    const int64_t width = is_key ? o->qk_width : o->v_width, n_pages = (o->length + 63) / 64;
    struct sc_state_view *view = is_key ? &s->keys[b] : &s->values[b];
    void **pages = is_key ? s->key_pages[b] : s->value_pages[b];
    *view = (struct sc_state_view){
        .pages = pages, .n_pages = n_pages, .length = o->length, .row_stride = width, .column_stride = 1};
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
            put(type, pages[page], (int64_t)i, type == SC_F16 ? 6e4 : 1e30);
        }
    }
    for (int64_t i = 0; i < o->kv_heads * o->length * width; i++) {
        const int64_t d = i % width, j = i / width % o->length, h = i / width / o->length;
        const int64_t at = h * view->head_stride + j % 64 * view->row_stride + d * view->column_stride;
        wide[i] = put(type, pages[j / 64], at, random_number(seed));
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

static void make_distances(struct setup *s, const struct options *o, uint64_t *seed)
{
    struct sc_attention *a = &s->a;
    const int64_t n = a->q_heads * o->n_distances;
    if (n == 0) {
        return;
    }
    void *data = need(s, (size_t)n * sc_type_bytes(o->type));
    s->distances = need(s, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        s->distances[i] = put(o->type, data, i, 2 * random_number(seed));
    }
    a->distances = data;
    a->n_distances = o->n_distances;
    a->before = o->before;
    a->distance_stride = o->one_for_all ? 0 : o->n_distances;
}

static void make(struct setup *s, const struct options *o)
{
    memset(s, 0, sizeof(*s));
    uint64_t seed = 17;
    const size_t element = sc_type_bytes(o->type);
    struct sc_attention *a = &s->a;
    s->length = o->length;
    *a = (struct sc_attention){.type = o->type,
        .v_type = o->v_type ? o->v_type : o->type,
        .batch = MAX_BATCH,
        .q_heads = o->kv_heads * o->group,
        .kv_heads = o->kv_heads,
        .n_q = o->n_q,
        .qk_width = o->qk_width,
        .v_width = o->v_width,
        .scale = 0.3,
        .softcap = o->softcap,
        .slopes = o->slopes,
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
    make_distances(s, o, &seed);
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

#endif
