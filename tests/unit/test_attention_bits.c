/* SPDX-License-Identifier: Apache-2.0
 * Attention gives the same bits in every company: chunks, threads, views, later keys. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attention_setup.h"

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
        cmocka_unit_test(chunks_and_threads_do_not_change_a_bit),
        cmocka_unit_test(views_do_not_change_a_bit),
        cmocka_unit_test(masked_later_keys_are_as_absent_ones),
        cmocka_unit_test(nan_in_a_later_key_or_value_stays_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
