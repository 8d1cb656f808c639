/* SPDX-License-Identifier: Apache-2.0
 * Shares of recorded machines (tests/topologies), worked out by hand from their descriptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"

static struct sc_machine *open_machine(const char *name)
{
    char path[512];
    struct sc_machine *machine = NULL;
    snprintf(path, sizeof path, "%s/tests/topologies/%s.xml", SC_SOURCE_DIR, name);
    assert_int_equal(sc_machine_discover(path, &machine), SC_OK);
    return machine;
}

/* The map of all ranks: "0 1 2 3@0 | 4 5 6 7@1", CPUs and the domain of each. */
static void assert_map(const char *name, int n_local, const char *want)
{
    struct sc_machine *machine = open_machine(name);
    struct sc_arena arena = {0};
    char text[512] = "";
    for (int r = 0; r < n_local; r++) {
        struct sc_share share = {0};
        assert_int_equal(sc_machine_share(machine, r, n_local, false, &arena, &share), SC_OK);
        for (int i = 0; i < share.n_cpus; i++) {
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%d", i ? " " : r ? " | " : "", share.cpus[i]);
        }
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "@%d%s", share.numa_node, share.overlapped ? "!" : "");
    }
    assert_string_equal(text, want);
    sc_arena_release(&arena);
    sc_machine_free(machine);
}

static void one_rank_has_every_core_and_one_thread_of_each(void **state)
{
    (void)state;
    assert_map("two_domains", 1, "0 1 2 3 4 5 6 7@-1");
    assert_map("one_domain", 1, "0 1 2 3@0");
}

static void two_ranks_have_a_domain_each(void **state)
{
    (void)state;
    assert_map("two_domains", 2, "0 1 2 3@0 | 4 5 6 7@1");
    assert_map("split_l3", 2, "0 1@0 | 2 3@1");
}

static void four_ranks_have_an_l3_each(void **state)
{
    (void)state;
    assert_map("two_domains", 4, "0 1@0 | 2 3@0 | 4 5@1 | 6 7@1");
}

static void no_rank_spans_domains_when_ranks_do_not_divide(void **state)
{
    (void)state;
    assert_map("two_domains", 3, "0 1@0 | 2 3@0 | 4 5 6 7@1");
    assert_map("two_domains", 5, "0@0 | 1@0 | 2 3@0 | 4 5@1 | 6 7@1");
    assert_map("one_domain", 3, "0@0 | 1@0 | 2 3@0");
}

static void as_many_ranks_as_cores_have_one_each(void **state)
{
    (void)state;
    assert_map("two_domains", 8, "0@0 | 1@0 | 2@0 | 3@0 | 4@1 | 5@1 | 6@1 | 7@1");
    assert_map("one_domain", 4, "0@0 | 1@0 | 2@0 | 3@0");
}

static void more_ranks_than_cores_share_all(void **state)
{
    (void)state;
    assert_map("one_domain", 5, "0 1 2 3@0! | 0 1 2 3@0! | 0 1 2 3@0! | 0 1 2 3@0! | 0 1 2 3@0!");
}

/* Allowed: CPUs 0 to 4 of domain 0 and 12 of domain 1. */
static void ranks_follow_the_allowed_cores(void **state)
{
    (void)state;
    assert_map("uneven", 1, "0 1 2 3 4 12@-1");
    assert_map("uneven", 2, "0 1@0 | 2 3 4@0");
    assert_map("uneven", 6, "0@0 | 1@0 | 2@0 | 3@0 | 4@0 | 12@1");
}

/* Allowed: CPU 1 of core 0 (0 and 1), CPUs 2 and 3 of core 1. */
static void first_allowed_thread_of_a_core_is_taken(void **state)
{
    (void)state;
    assert_map("partly_threads", 1, "1 2@0");
    assert_map("partly_threads", 2, "1@0 | 2@0");
}

static void memory_of_a_domain_is_parted_among_its_ranks(void **state)
{
    (void)state;
    struct sc_machine *machine = open_machine("two_domains"); /* 1 GiB each */
    struct sc_arena arena = {0};
    static const int64_t gib = 1 << 30;
    static const struct {
        int rank, n_local;
        int64_t bytes;
    } cases[] = {{0, 1, 2 * gib}, {1, 2, gib}, {0, 3, gib / 2}, {2, 3, gib}, {3, 4, gib / 2}, {0, 20, 2 * gib / 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_share share = {0};
        assert_int_equal(sc_machine_share(machine, cases[i].rank, cases[i].n_local, false, &arena, &share), SC_OK);
        assert_int_equal(share.memory_bytes, cases[i].bytes);
    }
    sc_arena_release(&arena);
    sc_machine_free(machine);
}

static void machines_and_shares_are_put_in_words(void **state)
{
    (void)state;
    struct sc_machine *machine = open_machine("two_domains");
    struct sc_arena arena = {0};
    struct sc_share share = {0};
    assert_string_equal(sc_machine_text(machine, &arena), "8 cores, 2 NUMA domains, 2.0 GiB");
    assert_int_equal(sc_machine_share(machine, 1, 2, false, &arena, &share), SC_OK);
    assert_string_equal(sc_share_text(&share, &arena), "4 cores (CPUs 4-7), NUMA domain 1, 1.0 GiB");
    sc_machine_free(machine);
    machine = open_machine("uneven");
    assert_int_equal(sc_machine_share(machine, 0, 1, false, &arena, &share), SC_OK);
    assert_string_equal(sc_share_text(&share, &arena), "6 cores (CPUs 0-4,12), several NUMA domains, 2.0 GiB");
    sc_arena_release(&arena);
    sc_machine_free(machine);
}

static void rank_out_of_range_is_refused(void **state)
{
    (void)state;
    struct sc_machine *machine = open_machine("one_domain");
    struct sc_arena arena = {0};
    struct sc_share share = {.n_cpus = 77};
    assert_int_equal(sc_machine_share(machine, 2, 2, false, &arena, &share), SC_BAD_USAGE);
    assert_int_equal(sc_machine_share(machine, -1, 2, false, &arena, &share), SC_BAD_USAGE);
    assert_int_equal(sc_machine_share(machine, 0, 0, false, &arena, &share), SC_BAD_USAGE);
    assert_int_equal(share.n_cpus, 77);
    sc_arena_release(&arena);
    sc_machine_free(machine);
}

static void topology_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct sc_machine *machine = NULL;
    assert_int_not_equal(sc_machine_discover("/nonexistent.xml", &machine), SC_OK);
    assert_non_null(strstr(sc_error_last()->text, "/nonexistent.xml"));
    assert_int_not_equal(sc_machine_discover(SC_SOURCE_DIR "/tests/topologies/README.md", &machine), SC_OK);
    assert_null(machine);
    sc_machine_free(NULL);
}

/* Whatever this machine is: kept binding and own share are usable, and binding to them works or says why not. */
static void this_machine_is_found_and_bound_to(void **state)
{
    (void)state;
    struct sc_machine *machine = NULL;
    struct sc_arena arena = {0};
    struct sc_share share = {0}, kept = {0};
    assert_int_equal(sc_machine_discover(NULL, &machine), SC_OK);
    assert_int_equal(sc_machine_share(machine, 0, 1, false, &arena, &share), SC_OK);
    assert_in_range(share.n_cpus, 1, 65536);
    assert_false(share.overlapped);
    assert_int_equal(sc_machine_bind_thread(machine, &share, 0), SC_OK);
    assert_int_equal(sc_machine_share(machine, 0, 1, true, &arena, &kept), SC_OK);
    assert_int_equal(kept.n_cpus, 1);
    assert_int_equal(kept.cpus[0], share.cpus[0]);
    assert_int_equal(sc_machine_bind_process(machine, &share), SC_OK);
    assert_int_equal(sc_machine_share(machine, 0, 1, true, &arena, &kept), SC_OK);
    assert_int_equal(kept.n_cpus, share.n_cpus);
    char data[64] = "touched";
    bool local = false;
    if (sc_machine_bind_memory(machine, &share) == SC_OK) {
        assert_int_equal(sc_machine_memory_is_local(machine, &share, data, sizeof data, &local), SC_OK);
    }
    sc_arena_release(&arena);
    sc_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_has_every_core_and_one_thread_of_each),
        cmocka_unit_test(two_ranks_have_a_domain_each),
        cmocka_unit_test(four_ranks_have_an_l3_each),
        cmocka_unit_test(no_rank_spans_domains_when_ranks_do_not_divide),
        cmocka_unit_test(as_many_ranks_as_cores_have_one_each),
        cmocka_unit_test(more_ranks_than_cores_share_all),
        cmocka_unit_test(ranks_follow_the_allowed_cores),
        cmocka_unit_test(first_allowed_thread_of_a_core_is_taken),
        cmocka_unit_test(memory_of_a_domain_is_parted_among_its_ranks),
        cmocka_unit_test(machines_and_shares_are_put_in_words),
        cmocka_unit_test(rank_out_of_range_is_refused),
        cmocka_unit_test(topology_that_cannot_be_read_is_named),
        cmocka_unit_test(this_machine_is_found_and_bound_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
