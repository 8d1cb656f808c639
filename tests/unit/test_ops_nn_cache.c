/* SPDX-License-Identifier: Apache-2.0
 * Claims about pages that hold other numbers than their tensors: what is written, and that attention reads just
 * that. */
#include "op_case.h"

#include <math.h>

#include "ops/kernels/attention.h"
#include "ops/nn/cache.h"
#include "tensor/convert.h"
#include "tensor/page.h"

enum { HEADS = 2, GROUP = 2, POSITIONS = 150, PAGES = 3, MOST = 80 }; /* MOST: of the widths */

static const enum sc_page_format formats[] = {SC_PAGE_F32, SC_PAGE_F16, SC_PAGE_BF16, SC_PAGE_Q8_0};

#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

/* A cache of one row, as the state store lays it out. */
struct cache {
    struct sc_state_view view;
    void *pages[PAGES];
    float memory[PAGES][HEADS * SC_PAGE_ROWS * 2 * MOST];
    int64_t width;
};

static void open_cache(struct cache *c, bool keys, enum sc_page_format format, enum sc_type type, int64_t width)
{
    memset(c, 0, sizeof *c);
    for (int p = 0; p < PAGES; p++) {
        c->pages[p] = c->memory[p];
    }
    const int64_t bytes = SC_PAGE_ROWS * sc_page_row_bytes(format, type, width);
    c->width = width;
    c->view = (struct sc_state_view){.pages = c->pages,
        .n_pages = PAGES,
        .head_stride = bytes / (int64_t)sc_type_bytes(sc_page_type(format, type)),
        .row_stride = keys ? 1 : width,
        .column_stride = keys ? SC_PAGE_ROWS : 1,
        .format = format};
}

static float number(int64_t i)
{
    return (float)((i * 7919 + 13) % 2003 - 1001) * 0.003F * (float)(1 + i % 5);
}

/* Positions [from, to) of `rows`, [position][head][width]. */
static void write(
    const struct sc_kernels *kernels, struct cache *c, enum sc_type type, const void *rows, int64_t from, int64_t to)
{
    const int64_t row = HEADS * c->width;
    const struct sc_cache_rows some = {.type = type,
        .heads = HEADS,
        .n = to - from,
        .width = c->width,
        .data = (const char *)rows + (size_t)(from * row) * sc_type_bytes(type),
        .head_stride = c->width,
        .row_stride = row,
        .column_stride = 1};
    sc_cache_write(kernels, &c->view, from, &some);
    c->view.length = to;
}

/* The numbers of one row by the meaning of the format, not by our kernels. */
static void keep(enum sc_page_format format, const float *x, int64_t n, float *kept)
{
    const enum sc_type type = sc_page_type(format, SC_F32);
    for (int64_t first = 0; format == SC_PAGE_Q8_0 && first < n; first += 32) {
        const int64_t end = first + 32 < n ? first + 32 : n;
        float most = 0;
        for (int64_t i = first; i < end; i++) {
            most = fmaxf(most, fabsf(x[i]));
        }
        for (int64_t i = first; i < end; i++) {
            kept[i] = most > 0 ? nearbyintf(x[i] * (127.0F / most)) * (most / 127.0F) : 0;
        }
    }
    for (int64_t i = 0; format != SC_PAGE_Q8_0 && i < n; i++) {
        uint32_t room;
        sc_convert(SC_F32, &x[i], type, &room, 1, 0);
        sc_convert(type, &room, SC_F32, &kept[i], 1, 0);
    }
}

/* What the page holds of a position, read by the addresses that tensor/page.h states. */
static float held(const struct cache *c, int64_t head, int64_t position, int64_t d)
{
    const struct sc_state_view *v = &c->view;
    const enum sc_type type = sc_page_type(v->format, SC_F32);
    const char *part = (const char *)v->pages[position / 64] + head * v->head_stride * (int64_t)sc_type_bytes(type);
    const char *at = part + (position % 64 * v->row_stride + d * v->column_stride) * (int64_t)sc_type_bytes(type);
    float x, scale = 1;
    sc_convert(type, at, SC_F32, &x, 1, 0);
    if (v->format == SC_PAGE_Q8_0) {
        const int64_t blocks = (c->width + 31) / 32, block = d / 32;
        const int64_t s = v->row_stride == 1 ? block * 64 + position % 64 : position % 64 * blocks + block;
        memcpy(&scale, part + 64 * c->width + s * 4, sizeof scale);
    }
    return x * scale;
}

static void pages_hold_what_their_format_says(void **state)
{
    (void)state;
    static struct cache c;
    static float rows[POSITIONS * HEADS * MOST], kept[MOST];
    static const int64_t widths[] = {1, 31, 64, 80};
    for (int64_t i = 0; i < POSITIONS * HEADS * MOST; i++) {
        rows[i] = i / MOST % 11 == 3 ? 0 : number(i); /* rows of zeros too */
    }
    EACH_LEVEL for (int i = 0; i < 4 * 4 * 2; i++)
    {
        const enum sc_page_format format = formats[i / 8];
        open_cache(&c, i % 2 == 0, format, SC_F32, widths[i / 2 % 4]);
        write(kernels, &c, SC_F32, rows, 0, POSITIONS);
        for (int64_t r = 0; r < POSITIONS * HEADS; r++) {
            keep(format, rows + r * c.width, c.width, kept);
            for (int64_t d = 0; d < c.width; d++) {
                assert_true(held(&c, r % HEADS, r / HEADS, d) == kept[d]);
            }
        }
    }
}

static void a_row_is_kept_alike_alone_and_in_company(void **state)
{
    (void)state;
    static struct cache whole, piecewise;
    static float rows[POSITIONS * HEADS * MOST];
    for (int64_t i = 0; i < POSITIONS * HEADS * MOST; i++) {
        rows[i] = number(i);
    }
    EACH_LEVEL for (int i = 0; i < 8; i++)
    {
        open_cache(&whole, i % 2 == 0, formats[i / 2], SC_F32, 80);
        open_cache(&piecewise, i % 2 == 0, formats[i / 2], SC_F32, 80);
        write(kernels, &whole, SC_F32, rows, 0, POSITIONS);
        for (int64_t at = 0; at < POSITIONS; at += 7) {
            write(kernels, &piecewise, SC_F32, rows, at, at + 7 < POSITIONS ? at + 7 : POSITIONS);
        }
        assert_memory_equal(whole.memory, piecewise.memory, sizeof whole.memory);
    }
}

/* Of a model of 16-bit numbers, too. */
static void rows_of_words_are_kept_as_their_numbers(void **state)
{
    (void)state;
    static struct cache from_words, from_floats;
    static float rows[POSITIONS * HEADS * 40];
    static uint16_t words[POSITIONS * HEADS * 40];
    const int64_t n = POSITIONS * HEADS * 40;
    static const enum sc_type types[] = {SC_F16, SC_BF16};
    for (int i = 0; i < 8; i++) {
        const enum sc_type type = types[i % 2];
        for (int64_t e = 0; e < n; e++) {
            rows[e] = number(e);
        }
        sc_convert(SC_F32, rows, type, words, n, 0);
        sc_convert(type, words, SC_F32, rows, n, 0);
        open_cache(&from_words, true, formats[i / 2], type, 40);
        open_cache(&from_floats, true, formats[i / 2], SC_F32, 40);
        write(sc_kernels_at(SC_ISA_BASE), &from_words, type, words, 0, POSITIONS);
        write(sc_kernels_at(SC_ISA_BASE), &from_floats, SC_F32, rows, 0, POSITIONS);
        assert_memory_equal(from_words.memory, from_floats.memory, sizeof from_words.memory);
    }
}

static void attend(const struct sc_kernels *kernels, const struct cache *k, const struct cache *v, int64_t n_q,
    const float *q, float *y)
{
    const int64_t offset = POSITIONS - n_q, q_row = HEADS * GROUP * k->width, y_row = HEADS * GROUP * v->width;
    const struct sc_attention a = {.type = SC_F32,
        .v_type = SC_F32,
        .batch = 1,
        .q_heads = HEADS * GROUP,
        .kv_heads = HEADS,
        .n_q = n_q,
        .qk_width = k->width,
        .v_width = v->width,
        .q = q,
        .q_strides = {0, k->width, q_row, 1},
        .keys = &k->view,
        .values = &v->view,
        .offset = &offset,
        .scale = 0.2,
        .causal = true,
        .left_window = -1,
        .right_window = -1,
        .y = y,
        .y_strides = {0, v->width, y_row, 1},
        .tap = SC_TAP_NONE};
    void *scratch = malloc(sc_attention_scratch_bytes(&a, POSITIONS, 1));
    assert_non_null(scratch);
    sc_attention_run(kernels, NULL, &a, scratch);
    free(scratch);
}

/* Few queries, for which words are read as they lie, and many; widths that vectors fill, and others. */
static void attention_reads_the_numbers_that_pages_hold(void **state)
{
    (void)state;
    enum { MOST_Q = 40 };
    static struct cache k, v, plain_k, plain_v;
    static float rows[POSITIONS * HEADS * MOST], kept[POSITIONS * HEADS * MOST];
    static float q[MOST_Q * HEADS * GROUP * MOST], y[2][MOST_Q * HEADS * GROUP * MOST];
    static const int64_t widths[][2] = {{64, 64}, {40, 24}, {80, 33}}, queries[] = {1, 2, 3, MOST_Q};
    for (int64_t i = 0; i < MOST_Q * HEADS * GROUP * MOST; i++) {
        q[i] = number(i + 77);
    }
    for (int64_t i = 0; i < POSITIONS * HEADS * MOST; i++) {
        rows[i] = number(i);
    }
    EACH_LEVEL for (int i = 0; i < 4 * 4 * 3 * 4; i++)
    {
        const enum sc_page_format of_k = formats[i % 4], of_v = formats[i / 4 % 4];
        const int64_t *width = widths[i / 16 % 3], n_q = queries[i / 48];
        struct cache *caches[2] = {&k, &v}, *plain[2] = {&plain_k, &plain_v};
        for (int c = 0; c < 2; c++) {
            open_cache(caches[c], c == 0, c == 0 ? of_k : of_v, SC_F32, width[c]);
            open_cache(plain[c], c == 0, SC_PAGE_AS_TYPE, SC_F32, width[c]);
            for (int64_t r = 0; r < POSITIONS * HEADS; r++) {
                keep(c == 0 ? of_k : of_v, rows + r * width[c], width[c], kept + r * width[c]);
            }
            write(kernels, caches[c], SC_F32, rows, 0, POSITIONS);
            write(kernels, plain[c], SC_F32, kept, 0, POSITIONS);
        }
        attend(kernels, &k, &v, n_q, q, y[0]);
        attend(kernels, &plain_k, &plain_v, n_q, q, y[1]);
        assert_memory_equal(y[0], y[1], (size_t)(n_q * HEADS * GROUP * width[1]) * sizeof(float));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_hold_what_their_format_says),
        cmocka_unit_test(a_row_is_kept_alike_alone_and_in_company),
        cmocka_unit_test(rows_of_words_are_kept_as_their_numbers),
        cmocka_unit_test(attention_reads_the_numbers_that_pages_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
