/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "partitioner/plan.h"
#include "plan_fixture.h"

/*  x ─ a ─ b ─ c ─ d ─ e    and a value that skips from a to d */
static const char *const skips = "a = Relu x;b = Relu a;c = Relu b;d = Add c a;e = MatMul d w1";

static char path[] = "/tmp/sc_test_plan_XXXXXX";

static enum sc_status read_text(struct fixture_model *f, const char *text, struct sc_plan **plan)
{
    assert_int_equal(sc_file_write(path, text, strlen(text)), SC_OK);
    return sc_plan_read(path, &f->model, plan);
}

static struct sc_plan *make_plan(int n_stages, int n_nodes, const int *stage_of)
{
    struct sc_plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->n_stages = n_stages;
    plan->n_nodes = n_nodes;
    plan->stages = sc_arena_array(&plan->arena, (size_t)n_stages, sizeof *plan->stages);
    plan->stage_of = sc_arena_array(&plan->arena, (size_t)n_nodes, sizeof *plan->stage_of);
    for (int k = 0; k < n_stages; k++) {
        plan->stages[k].n_ranks = 1;
        plan->stages[k].ranks = sc_arena_array(&plan->arena, 1, sizeof(int));
        plan->stages[k].ranks[0] = k;
    }
    for (int i = 0; i < n_nodes; i++) {
        plan->stage_of[i] = stage_of[i];
        if (stage_of[i] >= 0) {
            plan->stages[stage_of[i]].n_nodes++;
        }
    }
    return plan;
}

static void assert_same_plan(const struct sc_plan *a, const struct sc_plan *b)
{
    assert_int_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->latency, b->latency);
    assert_int_equal(a->aim, b->aim);
    assert_int_equal(a->n_stages, b->n_stages);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_memory_equal(a->stage_of, b->stage_of, (size_t)a->n_nodes * sizeof(int));
    assert_true(a->bound_seconds == b->bound_seconds);
    assert_int_equal(!a->note, !b->note);
    if (a->note) {
        assert_string_equal(a->note, b->note);
    }
    for (int k = 0; k < a->n_stages; k++) {
        assert_int_equal(a->stages[k].n_ranks, b->stages[k].n_ranks);
        assert_int_equal(a->stages[k].ranks[0], b->stages[k].ranks[0]);
        assert_true(a->stages[k].seconds == b->stages[k].seconds);
        assert_true(a->stages[k].chunk_seconds == b->stages[k].chunk_seconds);
        assert_int_equal(a->stages[k].weight_bytes, b->stages[k].weight_bytes);
        assert_int_equal(a->stages[k].packed_bytes, b->stages[k].packed_bytes);
        assert_int_equal(a->stages[k].activation_bytes, b->stages[k].activation_bytes);
        assert_int_equal(a->stages[k].state_bytes, b->stages[k].state_bytes);
        assert_int_equal(a->stages[k].n_nodes, b->stages[k].n_nodes);
    }
}

static struct sc_plan *rich_plan(const struct fixture_model *f)
{
    static const int stage_of[] = {0, -1, 0, 1, 1};
    struct sc_plan *plan = make_plan(2, 5, stage_of);
    plan->fingerprint = f->model.fingerprint;
    plan->latency = true;
    plan->aim = SC_PLAN_FOR_PROMPTS;
    plan->bound_seconds = 0.25;
    plan->note = "2 of 4 ranks";
    plan->stages[0].ranks[0] = 3;
    plan->stages[1].ranks[0] = 1;
    plan->stages[0].seconds = 0.5;
    plan->stages[1].chunk_seconds = 2.5;
    plan->stages[1].weight_bytes = 40;
    plan->stages[1].packed_bytes = 64;
    plan->stages[0].activation_bytes = 80;
    plan->stages[1].state_bytes = 1LL << 40;
    return plan;
}

static void text_round_trip_keeps_everything(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    f.nodes[1].dead = true; /* b was removed: c reads a */
    f.nodes[2].in[0] = f.nodes[1].in[0];
    struct sc_plan *plan = rich_plan(&f), *again = NULL;
    char *text = NULL;
    assert_int_equal(sc_plan_write(plan, &f.model, &text), SC_OK);
    assert_int_equal(read_text(&f, text, &again), SC_OK);
    assert_same_plan(plan, again);
    free(text);
    sc_plan_free(plan);
    sc_plan_free(again);
}

static void packed_round_trip_keeps_everything(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    f.nodes[1].dead = true;
    f.nodes[2].in[0] = f.nodes[1].in[0];
    struct sc_plan *plan = rich_plan(&f), *again = NULL;
    void *bytes = NULL;
    size_t n_bytes = 0;
    assert_int_equal(sc_plan_pack(plan, &bytes, &n_bytes), SC_OK);
    assert_int_equal(sc_plan_unpack(bytes, n_bytes, &f.model, &again), SC_OK);
    assert_same_plan(plan, again);
    sc_plan_free(again);
    for (size_t cut = 0; cut < n_bytes; cut++) { /* whatever is missing is noticed */
        void *shorter = malloc(cut ? cut : 1);
        memcpy(shorter, bytes, cut);
        assert_int_equal(sc_plan_unpack(shorter, cut, &f.model, &again), SC_BAD_INPUT);
        free(shorter);
    }
    free(bytes);
    sc_plan_free(plan);
}

/* Any single byte changed: refused, or a plan that is legal; never a crash. */
static void packed_damage_is_survived(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    static const int stage_of[] = {0, 0, 0, 1, 1};
    struct sc_plan *plan = make_plan(2, 5, stage_of), *again = NULL;
    unsigned char *bytes = NULL;
    void *packed = NULL;
    size_t n_bytes = 0;
    int n_refused = 0;
    assert_int_equal(sc_plan_pack(plan, &packed, &n_bytes), SC_OK);
    bytes = packed;
    for (size_t i = 0; i < n_bytes; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            if (sc_plan_unpack(bytes, n_bytes, &f.model, &again) == SC_OK) {
                assert_int_equal(again->n_nodes, 5);
                assert_in_range(again->n_stages, 1, 5);
                sc_plan_free(again);
            } else {
                n_refused++;
            }
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    assert_true(n_refused > 8 * 8);
    free(packed);
    sc_plan_free(plan);
}

static void hand_written_plan_is_put_in_order(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    struct sc_plan *plan = NULL;
    assert_int_equal(read_text(&f,
                         "{\"format\": 1, \"stages\": [{\"nodes\": [\"e\", \"d\"], \"ranks\": [7]},\n"
                         "{\"ranks\": [2], \"nodes\": [\"a..c\"]}]}",
                         &plan),
        SC_OK);
    static const int want[] = {0, 0, 0, 1, 1};
    assert_memory_equal(plan->stage_of, want, sizeof want);
    assert_int_equal(plan->stages[0].ranks[0], 2);
    assert_int_equal(plan->stages[1].ranks[0], 7);
    assert_int_equal(plan->stages[0].n_nodes, 3);
    assert_int_equal(plan->fingerprint, 0);
    sc_plan_free(plan);
}

static void names_with_dots_are_read_back(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Relu a;a..b = Relu b;c..c = Relu a..b;.. = Relu c..c");
    static const int stage_of[] = {0, 0, 0, 0, 0}, one_alone[] = {0, 0, 0, 1, 2};
    const int *const cases[] = {stage_of, one_alone};
    for (int i = 0; i < 2; i++) {
        struct sc_plan *plan = make_plan(i ? 3 : 1, 5, cases[i]), *again = NULL;
        char *text = NULL;
        assert_int_equal(sc_plan_write(plan, &f.model, &text), SC_OK);
        assert_int_equal(read_text(&f, text, &again), SC_OK);
        assert_same_plan(plan, again);
        free(text);
        sc_plan_free(plan);
        sc_plan_free(again);
    }
}

static void runs_are_written_short(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    static const int stage_of[] = {0, 0, 0, 1, 1};
    struct sc_plan *plan = make_plan(2, 5, stage_of);
    char *text = NULL;
    assert_int_equal(sc_plan_write(plan, &f.model, &text), SC_OK);
    assert_non_null(strstr(text, "\"a..c\""));
    assert_null(strstr(text, "\"b\""));
    assert_non_null(strstr(text, "\"d\""));
    free(text);
    sc_plan_free(plan);
}

static void bad_plans_are_refused_with_their_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..d\", \"f\", \"e\"]}]}",
            "stage 0: 'f' is not the first output of a node of the model"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..x\"]}]}",
            "stage 0: 'a..x' is not the first output of a node of the model"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"e..a\"]}]}",
            "stage 0: 'e..a' is not the first output of a node of the model"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..c\"]}, {\"nodes\": [\"c\", \"d\", \"e\"]}]}",
            "stage 1: 'c' is in stage 0 too"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\", \"b\"]}]}", "stage 0: 'b' stands there twice"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"]}], \"removed\": [\"b\"]}",
            "removed: 'b' is in stage 0 too"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..d\"]}]}", "node 'e' is in no stage"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a\", \"e\"]}]}", "node 'b' and 2 more are in no stage"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"]}, {\"nodes\": []}]}", "stage 1: it has no nodes"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"ranks\": [-2]}]}", "stage 0: rank -2, want 0 or more"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"ranks\": [\"x\"]}]}",
            "stage 0: the rank is not a whole number"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"ranks\": []}]}",
            "stage 0: 'ranks' is not a list of a rank"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"ranks\": [0, 1]}]}",
            "stage 0: 2 ranks, want 1: a stage cannot be replicated yet"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a\", \"c\", \"d\", \"e\"]}, {\"nodes\": [\"b\"]}]}",
            "the stages cannot be ordered: stage 1 reads 'a' of stage 0, stage 0 reads 'b' of stage 1"},
        {"{\"format\": 1, \"model\": \"0000000000000001\", \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "it was made for another model: fingerprint 0000000000000001, this model has 0123456789abcdef (without "
            "\"model\" it is tried all the same)"},
        {"{\"format\": 1, \"model\": \"123\", \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'model' is not a fingerprint of 16 hexadecimal digits"},
        {"{\"format\": 1, \"model\": 5, \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'model' is not a fingerprint of 16 hexadecimal digits"},
        {"{\"stages\": [{\"nodes\": [\"a..e\"]}]}", "'format' is missing, want 1"},
        {"{\"format\": 2, \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'format' is one that this version does not know, want 1"},
        {"{\"format\": 1}", "'stages' is not a list of stages"},
        {"{\"format\": 1, \"stages\": []}", "'stages' is not a list of stages"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"]}, 5]}", "stage 1: not an object with 'nodes'"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": \"a\"}]}", "stage 0: the nodes are not a list of names"},
        {"{\"format\": 1, \"stages\": [{\"ranks\": [0]}]}", "stage 0: the nodes are not a list of names"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..d\", 4]}]}", "stage 0: entry 1 of the nodes is not a name"},
        {"{\"format\": 1, \"stages\": [{\"node\": [\"a..e\"]}]}", "stage 0: unknown key 'node'"},
        {"{\"format\": 1, \"stage\": [{\"nodes\": [\"a..e\"]}]}", "unknown key 'stage'"},
        {"{\"format\": 1, \"objective\": \"speed\", \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'objective' is neither \"throughput\" nor \"latency\""},
        {"{\"format\": 1, \"for\": \"speed\", \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'for' is none of \"both\", \"steps\" and \"prompts\""},
        {"{\"format\": 1, \"for\": 1, \"stages\": [{\"nodes\": [\"a..e\"]}]}",
            "'for' is none of \"both\", \"steps\" and \"prompts\""},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"chunk_ms\": -1}]}",
            "stage 0: 'chunk_ms' is not a time"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"ms\": -1}]}", "stage 0: 'ms' is not a time"},
        {"{\"format\": 1, \"bound_ms\": \"x\", \"stages\": [{\"nodes\": [\"a..e\"]}]}", "'bound_ms' is not a time"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"], \"weight_bytes\": -1}]}",
            "stage 0: 'weight_bytes' is not a number of bytes"},
        {"{\"format\": 1, \"stages\": [{\"nodes\": [\"a..e\"]},{},{},{},{},{}]}", "6 stages for 5 nodes"},
        {"[]", "not a plan: want an object with 'format' and 'stages'"},
    };
    static struct fixture_model f;
    fixture_model(&f, skips);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_plan *plan = NULL;
        char want[SC_ERROR_TEXT];
        snprintf(want, sizeof want, "%s: %s", path, cases[i].why);
        assert_int_not_equal(read_text(&f, cases[i].text, &plan), SC_OK);
        assert_string_equal(sc_error_last()->text, want);
        assert_null(plan);
    }
}

static void malformed_json_names_file_and_line(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    struct sc_plan *plan = NULL;
    assert_int_equal(read_text(&f, "{\"format\": 1,\n \"stages\": [}", &plan), SC_BAD_INPUT);
    char want[64];
    snprintf(want, sizeof want, "%s:2:", path);
    assert_memory_equal(sc_error_last()->text, want, strlen(want));
    assert_int_equal(read_text(&f, "", &plan), SC_BAD_INPUT);
    assert_int_equal(sc_plan_read("/nonexistent/plan.json", &f.model, &plan), SC_IO);
}

static void live_node_under_removed_is_refused(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, skips);
    struct sc_plan *plan = NULL;
    assert_int_equal(
        read_text(&f, "{\"format\": 1, \"stages\": [{\"nodes\": [\"a\", \"c..e\"]}], \"removed\": [\"b\"]}", &plan),
        SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "is in no stage of the plan"));
    assert_non_null(strstr(sc_error_last()->text, "'b'"));
}

static int make_file(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_round_trip_keeps_everything),
        cmocka_unit_test(packed_round_trip_keeps_everything),
        cmocka_unit_test(packed_damage_is_survived),
        cmocka_unit_test(hand_written_plan_is_put_in_order),
        cmocka_unit_test(names_with_dots_are_read_back),
        cmocka_unit_test(runs_are_written_short),
        cmocka_unit_test(bad_plans_are_refused_with_their_reason),
        cmocka_unit_test(malformed_json_names_file_and_line),
        cmocka_unit_test(live_node_under_removed_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
