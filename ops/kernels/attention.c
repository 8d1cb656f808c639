/* SPDX-License-Identifier: Apache-2.0
 * Attention in f32. A part takes the query heads that share one head of keys, a few queries of each, and goes over the
 * keys in blocks of 64 counted from key 0: first all scores, then the softmax of each row, then the values. A row's
 * sums run over its visible keys in order, in company or alone. */
#include "ops/kernels/attention.h"

#include <math.h>
#include <string.h>

#include "base/int64.h"
#include "ops/kernels/attention_rows.h"
#include "tensor/page.h"

#define BLOCK SC_PAGE_ROWS
#define TILE_ROWS 64 /* query rows in a part: enough to make up for turning a block of keys */
#define PREFETCH_ROWS 16
#define FEW_ROWS 4 /* rows that do not make up for widening a block of words before the product */
#define ALIGN 64

/* Where a worker's scratch holds what; offsets in floats. */
struct layout {
    int64_t tile_q, rows; /* queries and rows (queries x heads of the group) of a part */
    int64_t score_stride, v_stride;
    size_t q, scores, sums, row, acc, k, wide, v, raw, total;
};

struct job {
    const struct sc_kernels *kernels;
    const struct sc_attention *attention;
    struct layout layout;
    int64_t group, n_tiles;
    float *scratch;
};

/* One part: rows r = query * group + head of the group. */
struct part {
    int64_t batch, kv_head, first_q, n_rows;
    int64_t from, to; /* keys of the score rows; from is a multiple of BLOCK */
    int64_t common_from, common_to; /* keys that every row with a visible key sees */
    const struct sc_state_view *keys, *values;
    float *q, *scores, *sums, *row, *acc, *k, *wide, *v;
    void *raw;
};

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static size_t take(struct layout *layout, int64_t floats)
{
    const size_t at = layout->total;
    layout->total += (size_t)round_up(floats, ALIGN / (int64_t)sizeof(float));
    return at;
}

static struct layout layout_of(const struct sc_attention *a, int64_t length)
{
    struct layout l = {0};
    const int64_t group = a->q_heads / a->kv_heads;
    l.tile_q = sc_max64(1, sc_min64(a->n_q, TILE_ROWS / group));
    l.rows = l.tile_q * group;
    l.score_stride = sc_max64(BLOCK, round_up(length, BLOCK));
    l.v_stride = round_up(a->v_width, 16);
    l.q = take(&l, l.rows * a->qk_width);
    l.scores = take(&l, l.rows * l.score_stride);
    l.sums = take(&l, l.rows);
    l.row = take(&l, l.score_stride);
    l.acc = take(&l, l.rows * l.v_stride);
    l.k = take(&l, BLOCK * a->qk_width);
    l.v = take(&l, BLOCK * l.v_stride);
    if (a->type != SC_F32 || a->v_type != SC_F32 || a->k_codes) {
        l.wide = take(&l, BLOCK * a->qk_width); /* keys before they are turned */
        l.raw =
            take(&l, sc_max64(l.score_stride, sc_max64(a->qk_width, a->v_width))); /* words before they are widened */
    }
    return l;
}

static void widen(const struct sc_kernels *kernels, enum sc_type type, const uint16_t *from, float *to, int64_t n)
{
    (type == SC_F16 ? kernels->f16_to_f32 : kernels->bf16_to_f32)(from, to, n);
}

/* From number `at` of `data` on, `stride` apart. */
struct elements {
    enum sc_type type;
    const void *data;
    int64_t at, stride;
    const struct sc_cache_codes *codes; /* of a row of a head; NULL: numbers */
    int64_t head;
};

/* n elements as f32. raw: room for n words. */
static void load_row(const struct job *job, const struct elements *elements, int64_t n, uint16_t *raw, float *to)
{
    const int64_t stride = elements->stride;
    if (elements->codes) {
        sc_codes_widen(
            job->kernels, elements->codes, elements->head, (const uint8_t *)elements->data + elements->at, to);
        return;
    }
    if (elements->type == SC_F32) {
        const float *from = (const float *)elements->data + elements->at;
        for (int64_t i = 0; i < n; i++) {
            to[i] = from[i * stride];
        }
        return;
    }
    const uint16_t *from = (const uint16_t *)elements->data + elements->at;
    if (stride != 1) {
        for (int64_t i = 0; i < n; i++) {
            raw[i] = from[i * stride];
        }
        from = raw;
    }
    widen(job->kernels, elements->type, from, to, n);
}

static void store_row(const struct job *job, const float *from, void *data, int64_t at, int64_t n)
{
    switch (job->attention->type) {
    case SC_F32:
        memcpy((float *)data + at, from, (size_t)n * sizeof(float));
        break;
    case SC_F16:
        job->kernels->f32_to_f16(from, (uint16_t *)data + at, n);
        break;
    default:
        job->kernels->f32_to_bf16(from, (uint16_t *)data + at, n);
        break;
    }
}

/* Keys or values as the product reads them: floats, or 16-bit words that it widens itself. */
struct block {
    const void *data;
    int64_t stride; /* between rows */
    void (*product)(const struct sc_gemm_tile *tile);
};

static struct block floats(const struct job *job, const float *data, int64_t stride)
{
    return (struct block){data, stride, job->kernels->gemm_tile};
}

static struct block words(const struct job *job, enum sc_type type, const uint16_t *data, int64_t stride)
{
    const struct sc_kernels *kernels = job->kernels;
    return (struct block){data, stride, type == SC_F16 ? kernels->gemm_tile_f16 : kernels->gemm_tile_bf16};
}

/* to[i] = codes[i] * scale: with a scale for each when step is 1, else one for all. */
static void widen_codes(const struct job *job, const uint8_t *codes, const void *scales, int step, int64_t n, float *to)
{
    const struct sc_byte_scale scale = {.scales = scales, .step = step, .is_signed = 1};
    job->kernels->bytes_to_floats(codes, &scale, n, to);
}

/* A block of keys from a page of codes as f32 [width][64]. */
static void key_codes(const struct job *job, const struct part *p, const uint8_t *head)
{
    for (int64_t d = 0; d < job->attention->qk_width; d++) {
        const uint8_t *scales = head + sc_page_scale_at(p->keys, job->attention->qk_width, 0, d);
        widen_codes(job, head + d * BLOCK, scales, 1, BLOCK, p->k + d * BLOCK);
    }
}

static void value_codes(const struct job *job, const struct part *p, const uint8_t *head, int64_t row, float *to)
{
    const int64_t width = job->attention->v_width;
    for (int64_t d = 0; d < width; d += SC_PAGE_CODES) {
        const uint8_t *scale = head + sc_page_scale_at(p->values, width, row, d);
        widen_codes(job, head + row * width + d, scale, 0, sc_min64(SC_PAGE_CODES, width - d), to + d);
    }
}

/* The block of keys from `key` on, [width][64]: in place where the page is laid out so and no wider than it is read. */
static struct block key_block(const struct job *job, const struct part *p, int64_t key)
{
    const struct sc_attention *a = job->attention;
    const struct sc_state_view *view = p->keys;
    const enum sc_type type = a->k_codes ? a->k_codes->type : sc_page_type(view->format, a->type);
    const int64_t at = p->kv_head * view->head_stride, n = sc_min64(BLOCK, view->length - key);
    const void *page = view->pages[key / BLOCK];
    const bool ready = view->row_stride == 1 && view->column_stride == BLOCK;
    if (a->k_codes && ready) {
        sc_codes_widen_page(job->kernels, a->k_codes, p->kv_head, (const uint8_t *)page + at, p->k);
    } else if (type == SC_F32 && ready) {
        return floats(job, (const float *)page + at, BLOCK);
    } else if (type == SC_F32) {
        sc_attention_turn((const float *)page + at, view->row_stride, view->column_stride, n, a->qk_width, p->k);
    } else if (type == SC_I8 && !a->k_codes) {
        key_codes(job, p, (const uint8_t *)page + at);
    } else if (ready && p->n_rows <= FEW_ROWS) {
        return words(job, type, (const uint16_t *)page + at, BLOCK);
    } else if (ready) {
        widen(job->kernels, type, (const uint16_t *)page + at, p->k, BLOCK * a->qk_width);
    } else {
        for (int64_t j = 0; j < n; j++) {
            const struct elements key_row = {
                type, page, at + j * view->row_stride, view->column_stride, a->k_codes, p->kv_head};
            load_row(job, &key_row, a->qk_width, p->raw, p->wide + j * a->qk_width);
        }
        sc_attention_turn(p->wide, a->qk_width, 1, n, a->qk_width, p->k);
    }
    return floats(job, p->k, BLOCK);
}

/* Rows [key, key + n) of one page of values, for a product of n_rows; a multiple of 16 columns can be read. */
static struct block value_rows(const struct job *job, const struct part *p, int64_t n_rows, int64_t key, int64_t n)
{
    const struct sc_attention *a = job->attention;
    const struct sc_state_view *view = p->values;
    const enum sc_type type = sc_page_type(view->format, a->v_type);
    const void *page = view->pages[key / BLOCK];
    const int64_t stride = job->layout.v_stride, head = p->kv_head * view->head_stride;
    const int64_t at = head + key % BLOCK * view->row_stride;
    const bool ready = view->column_stride == 1 && view->row_stride != 0 && a->v_width % 16 == 0 && !a->v_codes;
    if (ready && type == SC_F32) {
        return floats(job, (const float *)page + at, view->row_stride);
    }
    if (ready && type != SC_I8 && n_rows <= FEW_ROWS) {
        return words(job, type, (const uint16_t *)page + at, view->row_stride);
    }
    for (int64_t j = 0; j < n; j++) {
        float *to = p->v + j * stride;
        if (type == SC_I8 && !a->v_codes) {
            value_codes(job, p, (const uint8_t *)page + head, key % BLOCK + j, to);
        } else {
            const struct elements value_row = {
                type, page, at + j * view->row_stride, view->column_stride, a->v_codes, p->kv_head};
            load_row(job, &value_row, a->v_width, p->raw, to);
        }
        memset(to + a->v_width, 0, (size_t)(stride - a->v_width) * sizeof(float));
    }
    return floats(job, p->v, stride);
}

static void fill(float *x, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = value;
    }
}

/* Row r of the part: its head, its query, what it sees, and its scores (of key p->from on). */
struct row {
    int64_t head, query;
    struct sc_key_range visible;
    float *s;
};

static struct row row_of(const struct job *job, const struct part *p, int64_t r)
{
    struct row row;
    row.head = p->kv_head * job->group + r % job->group;
    row.query = p->first_q + r / job->group;
    row.visible = sc_attention_visible(job->attention, p->batch, row.query);
    row.s = p->scores + r * job->layout.score_stride;
    return row;
}

/* Copies the row of scores to qk_out when it is the one asked for; `rest` stands for keys that the view does not have.
 * With a tap, rows of scores begin at key 0 and hold every key. */
static void tap(
    const struct job *job, const struct part *p, const struct row *row, enum sc_attention_tap which, float rest)
{
    const struct sc_attention *a = job->attention;
    if (a->tap != which) {
        return;
    }
    const int64_t at = ((p->batch * a->q_heads + row->head) * a->n_q + row->query) * a->qk_length;
    const int64_t n = sc_min64(p->to, a->qk_length);
    store_row(job, row->s, a->qk_out, at, n);
    for (int64_t j = n; j < a->qk_length; j++) {
        store_row(job, &rest, a->qk_out, at + j, 1);
    }
}

/* s[j] += the number at place at + j of the head's, or the nearest that there is, for n keys. */
static void add_distances(const struct job *job, const struct part *p, int64_t head, int64_t at, int64_t n, float *s)
{
    const struct sc_attention *a = job->attention;
    const int64_t last = a->n_distances - 1, first = head * a->distance_stride;
    while (n > 0) {
        const bool inside =
            at >= 0 && at < last; /* else one number serves all that are left, or that come before the first */
        const int64_t here = at < 0 ? sc_min64(n, -at) : inside ? sc_min64(n, last - at) : n;
        const struct elements numbers = {a->type, a->distances, first + sc_min64(sc_max64(at, 0), last), 1, NULL, 0};
        load_row(job, &numbers, inside ? here : 1, p->raw, p->row);
        job->kernels->binary[SC_BINARY_add](s, 1, p->row, inside, s, here);
        at += here;
        s += here;
        n -= here;
    }
}

/* What is added for how far a key is from the query. A distance is as exact as a float of up to 2^24 positions. */
static void add_distance(const struct job *job, const struct part *p, const struct row *row)
{
    const struct sc_attention *a = job->attention;
    const int64_t from = row->visible.from, n = row->visible.to - from;
    const int64_t distance = from - (a->offset[p->batch] + row->query);
    float *s = row->s + (from - p->from);
    for (int64_t j = 0; a->slopes && j < n; j++) {
        s[j] += a->slopes[row->head] * (float)(distance + j);
    }
    if (a->distances) {
        add_distances(job, p, row->head, distance + a->before, n, s);
    }
}

static void add_bias(const struct job *job, const struct part *p, const struct row *row)
{
    const struct sc_attention *a = job->attention;
    const int64_t from = row->visible.from, n = row->visible.to - from, stride = a->bias_strides[3];
    if (a->bias == NULL || n <= 0) {
        return;
    }
    const int64_t at = sc_attention_at(a->bias_strides, p->batch, row->head, row->query) + from * stride;
    float *s = row->s + (from - p->from);
    if (a->bias_is_mask) {
        const uint8_t *mask = (const uint8_t *)a->bias + at;
        for (int64_t j = 0; j < n; j++) {
            s[j] = mask[j * stride] != 0 ? s[j] : -INFINITY;
        }
        return;
    }
    load_row(job, &(struct elements){a->type, a->bias, at, stride, NULL, 0}, n, p->raw, p->row);
    job->kernels->binary[SC_BINARY_add](s, 1, p->row, 1, s, n);
}

/* Scores to weights, which are exp(s - max): the division by their sum comes last. The sum is 0 when nothing is
 * visible. Its lanes count from a multiple of 64, so key j is in lane j mod 16. */
static void finish_row(const struct job *job, const struct part *p, int64_t r)
{
    const struct sc_attention *a = job->attention;
    const struct sc_kernels *kernels = job->kernels;
    const struct row row = row_of(job, p, r);
    const int64_t n = p->to - p->from;
    kernels->scale(row.s, (float)a->scale, row.s, n);
    tap(job, p, &row, SC_TAP_SCORES, 0.0f);
    if (a->softcap > 0) {
        const float cap = (float)a->softcap;
        kernels->binary[SC_BINARY_div](row.s, 1, &cap, 0, row.s, n);
        kernels->unary[SC_UNARY_tanh](row.s, row.s, n);
        kernels->scale(row.s, cap, row.s, n);
    }
    tap(job, p, &row, SC_TAP_SOFTCAP, 0.0f);
    add_distance(job, p, &row);
    add_bias(job, p, &row);
    const struct sc_key_range see = row.visible;
    const bool empty = see.from >= see.to;
    if (empty) {
        fill(row.s, n, -INFINITY);
    } else {
        fill(row.s, see.from - p->from, -INFINITY);
        fill(row.s + (see.to - p->from), p->to - see.to, -INFINITY);
    }
    tap(job, p, &row, SC_TAP_BIAS, -INFINITY);
    const float sink = a->sink ? a->sink[row.head] : -INFINITY;
    float most = empty ? -INFINITY : kernels->max(row.s + (see.from - p->from), see.to - see.from);
    most = most > -INFINITY && sink > most ? sink : most;
    p->sums[r] = 0.0f;
    if (most == -INFINITY) {
        fill(row.s, n, 0.0f);
    } else {
        const int64_t from = see.from / BLOCK * BLOCK;
        fill(row.s, from - p->from, 0.0f);
        fill(row.s + (see.to - p->from), p->to - see.to, 0.0f);
        p->sums[r] = kernels->exp_sum(row.s + (from - p->from), most, row.s + (from - p->from), see.to - from);
        if (a->sink) {
            float weight = sink - most;
            kernels->unary[SC_UNARY_exp](&weight, &weight, 1);
            p->sums[r] += weight;
        }
    }
}

/* Few rows go over narrow numbers faster than their products ask for them: the head's part of the page that comes next
 * is asked for while this one is worked on. Products of floats ask early enough by themselves. */
static void prefetch_next(
    const struct part *p, const struct sc_state_view *view, enum sc_type type, int64_t width, int64_t key)
{
    const enum sc_type held = sc_page_type(view->format, type);
    if (held == SC_F32 || p->n_rows > PREFETCH_ROWS || key + BLOCK >= p->to) {
        return;
    }
    const size_t at = (size_t)(p->kv_head * view->head_stride) * sc_type_bytes(held);
    const char *head = (const char *)view->pages[key / BLOCK + 1] + at;
    const int64_t bytes = BLOCK * sc_page_row_bytes(view->format, type, width);
    for (int64_t i = 0; i < bytes; i += ALIGN) {
        __builtin_prefetch(head + i, 0, 2); /* into the second cache */
    }
}

static void all_scores(const struct job *job, const struct part *p)
{
    const struct sc_attention *a = job->attention;
    for (int64_t r = 0; r < p->n_rows; r++) {
        const struct row row = row_of(job, p, r);
        const struct elements query = {
            a->type, a->q, sc_attention_at(a->q_strides, p->batch, row.head, row.query), a->q_strides[3], NULL, 0};
        load_row(job, &query, a->qk_width, p->raw, p->q + r * a->qk_width);
    }
    for (int64_t key = p->from; key < p->to; key += BLOCK) {
        if (!a->k_codes) {
            prefetch_next(p, p->keys, a->type, a->qk_width, key);
        }
        const struct block keys = key_block(job, p, key);
        const struct sc_gemm_tile tile = {.m = p->n_rows,
            .k = a->qk_width,
            .panels = BLOCK / 16,
            .a = p->q,
            .a_stride = a->qk_width,
            .b = keys.data,
            .panel_stride = 16,
            .b_stride = keys.stride,
            .c = p->scores + (key - p->from),
            .c_stride = job->layout.score_stride,
            .n = BLOCK};
        keys.product(&tile);
    }
}

/* acc += weights of keys [from, to), all in one page, for n_rows rows from row r on. */
static void mix(const struct job *job, const struct part *p, int64_t r, int64_t n_rows, int64_t from, int64_t to)
{
    if (from >= to) {
        return;
    }
    const int64_t width = job->layout.v_stride;
    const struct block values = value_rows(job, p, n_rows, from, to - from);
    const struct sc_gemm_tile tile = {.m = n_rows,
        .k = to - from,
        .panels = width / 16,
        .a = p->scores + r * job->layout.score_stride + (from - p->from),
        .a_stride = job->layout.score_stride,
        .b = values.data,
        .panel_stride = 16,
        .b_stride = values.stride,
        .c = p->acc + r * width,
        .c_stride = width,
        .n = width,
        .accumulate = 1};
    values.product(&tile);
}

/* Keys [from, to) of one page for each row as far as it sees them: what it does not see may hold anything. */
static void mix_each(const struct job *job, const struct part *p, int64_t from, int64_t to)
{
    for (int64_t r = 0; r < p->n_rows && from < to; r++) {
        const struct row row = row_of(job, p, r);
        mix(job, p, r, 1, sc_max64(from, row.visible.from), sc_min64(to, row.visible.to));
    }
}

static void all_values(const struct job *job, const struct part *p)
{
    const struct sc_attention *a = job->attention;
    memset(p->acc, 0, (size_t)(p->n_rows * job->layout.v_stride) * sizeof(float));
    for (int64_t key = p->from; key < p->to; key += BLOCK) {
        if (!a->v_codes) {
            prefetch_next(p, p->values, a->v_type, a->v_width, key);
        }
        const int64_t end = sc_min64(p->to, key + BLOCK);
        const int64_t from = sc_min64(end, sc_max64(key, p->common_from)),
                      to = sc_max64(from, sc_min64(end, p->common_to));
        mix_each(job, p, key, from);
        mix(job, p, 0, p->n_rows, from, to);
        mix_each(job, p, to, end);
    }
}

static void write_row(const struct job *job, const struct part *p, int64_t r)
{
    const struct sc_attention *a = job->attention;
    const struct sc_kernels *kernels = job->kernels;
    const struct row row = row_of(job, p, r);
    const float sum = p->sums[r], zero = 0.0f;
    float *acc = p->acc + r * job->layout.v_stride;
    if (sum == 0.0f) {
        fill(acc, a->v_width, 0.0f);
    } else {
        kernels->binary[SC_BINARY_div](acc, 1, &sum, 0, acc, a->v_width);
        /* masked keys turn -0 into 0, absent ones do not: let both be 0 */
        kernels->binary[SC_BINARY_add](acc, 1, &zero, 0, acc, a->v_width);
    }
    store_row(job, acc, a->y, sc_attention_at(a->y_strides, p->batch, row.head, row.query), a->v_width);
    if (a->tap == SC_TAP_SOFTMAX) {
        if (sum != 0.0f) {
            kernels->binary[SC_BINARY_div](row.s, 1, &sum, 0, row.s, p->to - p->from);
        }
        tap(job, p, &row, SC_TAP_SOFTMAX, 0.0f);
    }
}

/* The keys that any row of the part needs, and those that all rows that see any see. */
static void part_range(const struct job *job, struct part *p)
{
    p->from = p->common_to = p->keys->length;
    p->to = p->common_from = 0;
    for (int64_t r = 0; r < p->n_rows; r += job->group) {
        const struct sc_key_range see = row_of(job, p, r).visible;
        if (see.from < see.to) {
            p->from = sc_min64(p->from, see.from);
            p->to = sc_max64(p->to, see.to);
            p->common_from = sc_max64(p->common_from, see.from);
            p->common_to = sc_min64(p->common_to, see.to);
        }
    }
    p->from = sc_min64(p->from, p->to) / BLOCK * BLOCK;
    if (job->attention->tap != SC_TAP_NONE) {
        p->from = 0;
        p->to = p->keys->length;
    }
}

static void run_part(void *arg, int64_t index, int worker)
{
    const struct job *job = arg;
    const struct sc_attention *a = job->attention;
    const struct layout *l = &job->layout;
    float *scratch = job->scratch + (size_t)worker * l->total;
    struct part p = {.q = scratch + l->q,
        .scores = scratch + l->scores,
        .sums = scratch + l->sums,
        .row = scratch + l->row,
        .acc = scratch + l->acc,
        .k = scratch + l->k,
        .wide = scratch + l->wide,
        .v = scratch + l->v,
        .raw = scratch + l->raw};
    p.first_q = index % job->n_tiles * l->tile_q;
    p.kv_head = index / job->n_tiles % a->kv_heads;
    p.batch = index / job->n_tiles / a->kv_heads;
    p.n_rows = sc_min64(l->tile_q, a->n_q - p.first_q) * job->group;
    p.keys = &a->keys[p.batch];
    p.values = &a->values[p.batch];
    part_range(job, &p);
    all_scores(job, &p);
    for (int64_t r = 0; r < p.n_rows; r++) {
        finish_row(job, &p, r);
    }
    all_values(job, &p);
    for (int64_t r = 0; r < p.n_rows; r++) {
        write_row(job, &p, r);
    }
}

size_t sc_attention_scratch_bytes(const struct sc_attention *attention, int64_t max_length, int n_workers)
{
    if (sc_attention_in_f64(attention)) {
        return sc_attention_f64_scratch_bytes(attention, max_length, n_workers);
    }
    return layout_of(attention, max_length).total * sizeof(float) * (size_t)n_workers;
}

void sc_attention_run(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_attention *attention, void *scratch)
{
    if (attention->batch <= 0 || attention->n_q <= 0 || attention->kv_heads <= 0) {
        return;
    }
    if (sc_attention_in_f64(attention)) {
        sc_attention_f64_run(team, attention, scratch);
        return;
    }
    int64_t length = 0;
    for (int64_t b = 0; b < attention->batch; b++) {
        length = sc_max64(length, attention->keys[b].length);
    }
    struct job job = {.kernels = kernels, .attention = attention, .layout = layout_of(attention, length)};
    job.group = attention->q_heads / attention->kv_heads;
    job.n_tiles = (attention->n_q + job.layout.tile_q - 1) / job.layout.tile_q;
    job.scratch = scratch;
    sc_team_for(team, attention->batch * attention->kv_heads * job.n_tiles, run_part, &job);
}
