/* SPDX-License-Identifier: Apache-2.0
 * A number of stages that cannot be had ends the table with the reason. */
#include "launch/plan_compare.h"

#include "partitioner/report.h"

enum { RANDOM_PLANS = 20 };

struct sc_compared {
    double slowest_seconds, sum_seconds, bound_seconds;
    int64_t largest_bytes; /* weights, activations and state of a stage */
};

static struct sc_compared measure(const struct sc_plan *plan)
{
    struct sc_compared all = {.slowest_seconds = sc_plan_slowest(plan), .bound_seconds = plan->bound_seconds};
    for (int s = 0; s < plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &plan->stages[s];
        const int64_t bytes = stage->weight_bytes + stage->activation_bytes + stage->state_bytes;
        all.sum_seconds += sc_plan_load(plan, stage);
        all.largest_bytes = bytes > all.largest_bytes ? bytes : all.largest_bytes;
    }
    return all;
}

static enum sc_status make(
    struct sc_model *model, const struct sc_planning *planning, const bool *is_state, struct sc_compared *compared)
{
    struct sc_arena arena = {0};
    struct sc_fact *facts;
    struct sc_plan *plan = NULL;
    const enum sc_status status = sc_planning_make(model, planning, is_state, &arena, &facts, &plan);
    if (status == SC_OK) {
        *compared = measure(plan);
    }
    sc_plan_free(plan);
    sc_arena_release(&arena);
    return status;
}

/* The fastest of some random plans with as many stages. */
static enum sc_status best_random(
    struct sc_model *model, const struct sc_planning *planning, const bool *is_state, double *seconds)
{
    struct sc_planning random = *planning;
    random.random = true;
    for (int seed = 0; seed < RANDOM_PLANS; seed++) {
        struct sc_compared compared;
        random.random_seed = (uint64_t)seed;
        SC_TRY(make(model, &random, is_state, &compared));
        *seconds = seed == 0 || compared.slowest_seconds < *seconds ? compared.slowest_seconds : *seconds;
    }
    return SC_OK;
}

static void print_line(FILE *out, int n, const struct sc_compared *plan, double random, double whole)
{
    char slowest[24], sum[24], bound[24], chance[24], memory[24], gap[16] = "";
    if (plan->bound_seconds > 0 && plan->slowest_seconds > 0) {
        const double over = 100 * (plan->slowest_seconds / plan->bound_seconds - 1);
        (void)snprintf(gap, sizeof gap, "%.1f %%", over > 0 ? over : 0);
    }
    fprintf(out, "%6d %10s %10s %10s %8s %12s %10s %9.2f\n", n,
        sc_seconds_text(plan->slowest_seconds, slowest, sizeof slowest),
        sc_seconds_text(plan->sum_seconds, sum, sizeof sum),
        plan->bound_seconds > 0 ? sc_seconds_text(plan->bound_seconds, bound, sizeof bound) : "-", gap,
        sc_seconds_text(random, chance, sizeof chance), sc_bytes_text(plan->largest_bytes, memory, sizeof memory),
        plan->slowest_seconds > 0 ? whole / plan->slowest_seconds : 0);
}

enum sc_status sc_plan_compare(
    struct sc_model *model, const struct sc_planning *planning, const bool *is_state, FILE *out)
{
    double whole = 0;
    fprintf(out, "%6s %10s %10s %10s %8s %12s %10s %9s\n", "stages", "slowest", "sum", "bound", "gap", "best of 20",
        "most", "speed-up");
    fprintf(out, "%6s %10s %10s %10s %8s %12s %10s\n", "", "", "", "", "", "random", "memory");
    for (int n = 1; n <= planning->n_stages; n++) {
        struct sc_planning some = *planning;
        struct sc_compared plan;
        double random = 0;
        some.n_stages = some.n_ranks = n;
        const enum sc_status status = make(model, &some, is_state, &plan);
        if (status == SC_LIMIT || status == SC_BAD_INPUT) {
            fprintf(out, "%6d %s\n", n, sc_error_last()->text);
            continue;
        }
        SC_TRY(status);
        SC_TRY(best_random(model, &some, is_state, &random));
        whole = n == 1 ? plan.slowest_seconds : whole;
        print_line(out, n, &plan, random, whole);
    }
    return SC_OK;
}
