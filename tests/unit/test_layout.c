/* SPDX-License-Identifier: Apache-2.0
 * Claims about memory planning: over random graphs, nothing that is still to be read is written. */
#include "exec/placement.h"
#include "random_graph.h"

static void compile(struct random_graph *g, bool infer, struct sc_program **program)
{
    const struct sc_kernels *kernels;
    assert_ok(sc_kernels_best(&kernels));
    if (infer) {
        assert_ok(sc_pass_infer(&g->graph, kernels));
    }
    const struct sc_program_spec spec = {.model = &g->model,
        .graph = &g->graph,
        .n_inputs = g->graph.n_inputs,
        .inputs = g->inputs,
        .n_outputs = g->graph.n_outputs,
        .outputs = g->outputs,
        .kernels = kernels};
    assert_ok(sc_program_compile(&spec, program));
    assert_ok(sc_program_load(*program, NULL));
}

/* What a frame holds for one set of dims. */
struct plan {
    struct sc_layout layout;
    struct sc_placement placement;
};

static void make_plan(struct random_graph *g, const struct sc_program *program, struct plan *plan)
{
    struct sc_fact facts[RANDOM_VALUES];
    for (int i = 0; i < g->graph.n_inputs; i++) {
        sc_fact_of(&facts[i], g->feeds[i]);
        facts[i].value = NULL;
    }
    memset(plan, 0, sizeof *plan);
    assert_ok(sc_layout_make(program, facts, g->feeds, NULL, &plan->layout));
    assert_ok(sc_placement_open(program, &plan->placement));
    sc_placement_make(program, &plan->layout, &plan->placement);
    assert_true(sc_placement_fits(program, &plan->placement, &plan->layout));
}

static void release_plan(struct plan *plan)
{
    sc_layout_release(&plan->layout);
    sc_placement_release(&plan->placement);
}

struct stretch {
    int64_t from, to;
};

/* Bytes of the block that a slot shows, by way of views; empty when it lies elsewhere. */
static struct stretch shown(const struct sc_program *program, const struct plan *plan, int slot)
{
    for (int s = program->slots[slot].step; s >= 0; s = program->slots[slot].step) {
        const struct sc_step *step = &program->steps[s];
        if (!(step->op->flags & SC_OP_VIEW)) {
            break;
        }
        slot = step->in[0];
    }
    if (plan->placement.offset[slot] == SC_NOT_IN_BLOCK) {
        return (struct stretch){0, 0};
    }
    const int64_t from = plan->placement.offset[slot];
    return (struct stretch){from, from + (int64_t)sc_tensor_bytes(&plan->layout.templates[slot].u.tensor)};
}

static bool meet(struct stretch a, struct stretch b)
{
    return a.from < b.to && b.from < a.to;
}

static bool reads_after(const struct sc_program *program, int s, int slot)
{
    for (int o = 0; o < program->n_outputs; o++) {
        if (program->outputs[o] == slot) {
            return true;
        }
    }
    for (int later = s + 1; later < program->n_steps; later++) {
        for (int i = 0; i < program->steps[later].n_in; i++) {
            if (program->steps[later].in[i] == slot) {
                return true;
            }
        }
    }
    return false;
}

/* What step s writes: nothing that is read later was made before, and none of its own inputs but the first of an
 * operator that works in place, and that only from the same first byte. Returns how many steps did so. */
static int check_step(const struct random_graph *g, const struct sc_program *program, const struct plan *plan, int s)
{
    const struct sc_step *step = &program->steps[s];
    if (!plan->layout.planned[s] || step->op->flags & SC_OP_VIEW) {
        return 0;
    }
    const struct stretch written = shown(program, plan, step->out[0]);
    assert_true(written.to <= plan->placement.block_bytes && written.from % 64 == 0);
    for (int slot = 0; slot < program->n_slots; slot++) {
        if (slot != step->out[0] && program->slots[slot].step < s && reads_after(program, s, slot) &&
            meet(written, shown(program, plan, slot))) {
            fail_msg("seed %llu: step %d writes over slot %d, which is read later", (unsigned long long)g->key.seed, s,
                slot);
        }
    }
    int in_place = 0;
    for (int i = 0; i < step->n_in; i++) {
        const struct stretch read = shown(program, plan, step->in[i]);
        if (meet(written, read)) {
            assert_true(i == 0 && step->op->flags & SC_OP_IN_PLACE && read.from == written.from);
            in_place++;
        }
    }
    return in_place;
}

static void live_values_never_share_memory(void **state)
{
    (void)state;
    struct random_graph *g = calloc(1, sizeof *g);
    int in_place = 0, reused = 0, late = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct sc_program *program = NULL;
        struct plan plan;
        int64_t total = 0;
        random_graph_make(g, seed, RANDOM_NODES, seed % 2);
        compile(g, seed % 4 < 2, &program);
        make_plan(g, program, &plan);
        for (int s = 0; s < program->n_steps; s++) {
            in_place += check_step(g, program, &plan, s);
            late += !plan.layout.planned[s];
            const int out = program->steps[s].out[0];
            total += plan.placement.offset[out] == SC_NOT_IN_BLOCK
                ? 0
                : (int64_t)sc_tensor_bytes(&plan.layout.templates[out].u.tensor);
        }
        reused += total > plan.placement.block_bytes;
        release_plan(&plan);
        sc_program_free(program);
        random_graph_release(g);
    }
    assert_true(in_place > 100 && reused > 100 && late > 100); /* the claim was about something */
    free(g);
}

static void random_graphs_compute_what_a_plain_evaluation_does(void **state)
{
    (void)state;
    struct random_graph *g = calloc(1, sizeof *g);
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct sc_program *program = NULL;
        struct sc_frame *frame = NULL;
        random_graph_make(g, seed, 10 + (int)(seed % 30), seed % 2);
        compile(g, seed % 4 < 2, &program);
        assert_ok(sc_frame_create(program, &(struct sc_frame_options){.team = NULL}, &frame));
        for (int round = 0; round < 2; round++) {
            assert_ok(sc_frame_run(frame, g->feeds, round));
            for (int o = 0; o < g->graph.n_outputs; o++) {
                random_graph_expect(g, g->outputs[o], sc_frame_output(frame, o));
            }
        }
        sc_frame_free(frame);
        sc_program_free(program);
        random_graph_release(g);
    }
    free(g);
}

static void a_chain_of_operators_that_work_in_place_takes_one_buffer(void **state)
{
    (void)state;
    struct random_graph *g = calloc(1, sizeof *g);
    random_graph_make(g, 1, 0, false);
    struct sc_program *program = NULL;
    struct plan plan;
    int last = g->inputs[0];
    for (int n = 0; n < 10; n++) {
        random_unary(g, last);
        last = g->graph.n_values - 1;
    }
    g->outputs[g->graph.n_outputs++] = last;
    compile(g, true, &program);
    make_plan(g, program, &plan);
    assert_int_equal(plan.placement.block_bytes, 128); /* 4 x 5 floats in whole cache lines */
    release_plan(&plan);
    sc_program_free(program);
    random_graph_release(g);
    free(g);
}

static void a_layout_is_of_dims_whose_bytes_can_be_counted(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_value value;
    struct sc_fact fact;
    sc_fact_tensor(&fact, SC_F32, 3, (const int64_t[]){(int64_t)1 << 40, (int64_t)1 << 40, 4});
    assert_fails(SC_LIMIT, "", sc_value_of_fact(&arena, &fact, &value));
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_values_never_share_memory),
        cmocka_unit_test(random_graphs_compute_what_a_plain_evaluation_does),
        cmocka_unit_test(a_chain_of_operators_that_work_in_place_takes_one_buffer),
        cmocka_unit_test(a_layout_is_of_dims_whose_bytes_can_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
