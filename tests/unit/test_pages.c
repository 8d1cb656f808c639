/* SPDX-License-Identifier: Apache-2.0
 * Claims about tables of pages. */
#include "graph_case.h"

#include "base/random.h"
#include "runtime/pages.h"

enum { SLOTS = 5, SLOT_PAGES = 6, POOL = 14 };

/* What the table told, kept a second time: pages of positions, each with the number of its first writer. */
struct mirror {
    struct sc_pages *pages;
    int64_t table[SLOTS][SLOT_PAGES];
    int content[POOL];
};

static void changed(void *arg, int slot, int64_t index, int64_t page, int64_t copied_from)
{
    struct mirror *m = arg;
    m->table[slot][index] = page;
    if (copied_from >= 0) {
        m->content[page] = m->content[copied_from];
    }
}

static void open_mirror(struct mirror *m)
{
    memset(m, 0, sizeof *m);
    const struct sc_pages_options options = {
        .n_slots = SLOTS, .slot_pages = SLOT_PAGES, .n_pages = POOL, .changed = changed, .arg = m};
    assert_ok(sc_pages_create(&options, &m->pages));
}

static void positions_take_whole_pages(void **state)
{
    (void)state;
    struct mirror m;
    open_mirror(&m);
    assert_int_equal(sc_pages_wanted(m.pages, 0, 0, 65), 2);
    assert_ok(sc_pages_write(m.pages, 0, 0, 65));
    assert_int_equal(sc_pages_held(m.pages, 0), 2);
    assert_int_equal(sc_pages_wanted(m.pages, 0, 65, 63), 0);
    assert_ok(sc_pages_write(m.pages, 0, 65, 64));
    assert_int_equal(sc_pages_n_free(m.pages), POOL - 3);
    sc_pages_drop(m.pages, 0);
    assert_int_equal(sc_pages_n_free(m.pages), POOL);
    assert_fails(SC_BAD_INPUT, "position 64", sc_pages_write(m.pages, 0, 64, 1));
    sc_pages_free(m.pages);
}

static void a_slot_and_the_pool_have_their_limits(void **state)
{
    (void)state;
    struct mirror m;
    open_mirror(&m);
    assert_fails(SC_LIMIT, "slot 0", sc_pages_write(m.pages, 0, 0, 64 * SLOT_PAGES + 1));
    assert_ok(sc_pages_write(m.pages, 1, 0, 64 * SLOT_PAGES));
    assert_fails(SC_LIMIT, "the pool 14", sc_pages_write(m.pages, 2, 0, 64 * 3));
    assert_int_equal(sc_pages_n_free(m.pages), 0);
    sc_pages_free(m.pages);
}

static void shared_pages_are_free_when_nobody_has_them(void **state)
{
    (void)state;
    struct mirror m;
    open_mirror(&m);
    assert_ok(sc_pages_write(m.pages, 0, 0, 200));
    assert_ok(sc_pages_share(m.pages, 1, 0, 130));
    assert_int_equal(sc_pages_n_free(m.pages), POOL - 4);
    assert_int_equal(sc_pages_wanted(m.pages, 1, 130, 1), 1);
    assert_ok(sc_pages_write(m.pages, 1, 130, 1)); /* its own third page; two stay shared */
    assert_int_equal(sc_pages_n_free(m.pages), POOL - 5);
    assert_int_equal(m.table[0][1], m.table[1][1]);
    assert_int_not_equal(m.table[0][2], m.table[1][2]);
    sc_pages_drop(m.pages, 0);
    assert_int_equal(sc_pages_n_free(m.pages), POOL - 3);
    sc_pages_drop(m.pages, 1);
    assert_int_equal(sc_pages_n_free(m.pages), POOL);
    assert_fails(SC_BAD_INPUT, "slot 1", sc_pages_share(m.pages, 2, 1, 1));
    sc_pages_free(m.pages);
}

/* Random requests against plain copies: every slot reads what it, or the one it began as, has written. */
static void nobody_writes_into_what_another_slot_reads(void **state)
{
    (void)state;
    struct mirror m;
    int want[SLOTS][SLOT_PAGES] = {{0}};
    int64_t length[SLOTS] = {0};
    const struct sc_random_key key = {.seed = 7};
    open_mirror(&m);
    int shared = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        const int slot = (int)(sc_random_uniform(&key, (uint64_t)(4 * i)) * SLOTS);
        const int other = (int)(sc_random_uniform(&key, (uint64_t)(4 * i + 1)) * SLOTS);
        const double what = sc_random_uniform(&key, (uint64_t)(4 * i + 2));
        const int64_t n = (int64_t)(sc_random_uniform(&key, (uint64_t)(4 * i + 3)) * 100);
        if (what < 0.1) {
            sc_pages_drop(m.pages, slot);
            length[slot] = 0;
        } else if (what < 0.4 && slot != other) {
            const int64_t from = length[other] * n / 100;
            assert_ok(sc_pages_share(m.pages, slot, other, from));
            memcpy(want[slot], want[other], sizeof want[slot]);
            length[slot] = from;
            shared++;
        } else if (sc_pages_write(m.pages, slot, length[slot], n) == SC_OK) {
            for (int64_t p = length[slot] / 64; p < sc_pages_for(length[slot] + n); p++) {
                want[slot][p] = i;
                m.content[m.table[slot][p]] = i;
            }
            length[slot] += n;
        } else {
            refused++;
        }
        for (int s = 0; s < SLOTS; s++) {
            for (int64_t p = 0; p < sc_pages_for(length[s]); p++) {
                assert_int_equal(m.content[m.table[s][p]], want[s][p]);
            }
        }
    }
    assert_true(shared > 1000 && refused > 1000);
    for (int s = 0; s < SLOTS; s++) {
        sc_pages_drop(m.pages, s);
    }
    assert_int_equal(sc_pages_n_free(m.pages), POOL);
    sc_pages_free(m.pages);
}

static void a_table_is_taken_over_as_it_is(void **state)
{
    (void)state;
    struct mirror m, other;
    int64_t packed[SLOTS * (SLOT_PAGES + 1)];
    open_mirror(&m);
    open_mirror(&other);
    assert_ok(sc_pages_write(m.pages, 3, 0, 200));
    assert_ok(sc_pages_share(m.pages, 1, 3, 130));
    assert_ok(sc_pages_write(m.pages, 0, 0, 1));
    assert_ok(sc_pages_write(other.pages, 2, 0, 300)); /* given up */
    assert_int_equal(sc_pages_packed_bytes(m.pages), sizeof packed);
    sc_pages_pack(m.pages, packed);
    assert_ok(sc_pages_unpack(other.pages, packed));
    assert_int_equal(sc_pages_n_free(other.pages), sc_pages_n_free(m.pages));
    assert_int_equal(sc_pages_held(other.pages, 2), 0);
    assert_memory_equal(other.table[3], m.table[3], 4 * sizeof m.table[3][0]);
    assert_memory_equal(other.table[1], m.table[1], 3 * sizeof m.table[1][0]);
    assert_int_equal(sc_pages_wanted(other.pages, 1, 130, 1), 1); /* shared still */
    sc_pages_drop(other.pages, 3);
    assert_int_equal(sc_pages_wanted(other.pages, 1, 130, 1), 0);
    for (int i = 0; i < 3; i++) {
        const int64_t bad[] = {SLOT_PAGES + 1, -1, POOL};
        const int64_t before = packed[i < 2 ? 3 : SLOTS + 3 * SLOT_PAGES];
        packed[i < 2 ? 3 : SLOTS + 3 * SLOT_PAGES] = bad[i];
        assert_fails(SC_PEER, "table of pages", sc_pages_unpack(other.pages, packed));
        assert_int_equal(sc_pages_n_free(other.pages), POOL);
        packed[i < 2 ? 3 : SLOTS + 3 * SLOT_PAGES] = before;
    }
    sc_pages_free(m.pages);
    sc_pages_free(other.pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_take_whole_pages),
        cmocka_unit_test(a_slot_and_the_pool_have_their_limits),
        cmocka_unit_test(shared_pages_are_free_when_nobody_has_them),
        cmocka_unit_test(nobody_writes_into_what_another_slot_reads),
        cmocka_unit_test(a_table_is_taken_over_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
