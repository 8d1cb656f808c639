/* SPDX-License-Identifier: Apache-2.0
 * If: one of two bodies runs; both see the outer values. What the branches disagree in is unknown before. */
#include <string.h>

#include "ops/control/stack.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

struct params {
    const struct sc_graph *branch[2]; /* else, then */
};

static enum sc_status params_if(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    static const char *const names[2] = {"else_branch", "then_branch"};
    for (int i = 0; i < 2; i++) {
        SC_TRY(sc_node_body(graph, node, names[i], &p->branch[i]));
        if (p->branch[i]->n_outputs != node->n_out || p->branch[i]->n_inputs != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d inputs and %d outputs, want 0 and %d", names[i],
                p->branch[i]->n_inputs, p->branch[i]->n_outputs, node->n_out);
        }
    }
    return SC_OK;
}

static bool known_condition(const struct sc_fact *fact, int *branch)
{
    if (!fact || !fact->value || fact->value->type != SC_BOOL || sc_tensor_count(fact->value) != 1) {
        return false;
    }
    *branch = *(const unsigned char *)fact->value->data != 0;
    return true;
}

/* The outputs when one branch cannot run: as the other says, in any dims. */
static enum sc_status forget_dims(struct sc_infer *infer, const struct sc_fact *facts)
{
    for (int o = 0; o < infer->n_out; o++) {
        if (infer->out[o]) {
            *infer->out[o] = facts[o].kind != SC_KIND_NONE ? facts[o] : facts[infer->n_out + o];
            infer->out[o]->rank = -1;
            infer->out[o]->value = NULL;
        }
    }
    return SC_OK;
}

static enum sc_status infer_if(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const int n = infer->n_out;
    struct sc_fact *facts = sc_arena_array(infer->arena, (size_t)n * 2, sizeof(*facts));
    if (!facts) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < 2 * n; i++) {
        sc_fact_init(&facts[i]);
    }
    int branch = 0, n_failed = 0;
    const bool known = known_condition(infer->in[0], &branch);
    for (int i = 0; i < 2; i++) {
        if (known && i != branch) {
            continue;
        }
        struct sc_fact *mine = facts + (size_t)i * (size_t)n;
        const enum sc_status status = infer->infer_body(infer, p->branch[i], NULL, mine);
        n_failed += status != SC_OK;
        if (status != SC_OK && (known || n_failed == 2)) {
            return status;
        }
    }
    if (n_failed == 1) { /* a branch that is wrong for these dims need not be the one that runs */
        return forget_dims(infer, facts);
    }
    for (int o = 0; o < n; o++) {
        if (infer->out[o] && known) {
            *infer->out[o] = facts[branch * n + o];
        } else if (infer->out[o]) {
            sc_fact_join(&facts[o], &facts[n + o], infer->out[o]); /* what holds whichever runs */
        }
    }
    return SC_OK;
}

static enum sc_status exec_if(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *condition = sc_call_in(call, 0);
    if (condition->type != SC_BOOL || sc_tensor_count(condition) != 1) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the condition is not one boolean");
    }
    const int branch = *(const unsigned char *)condition->data != 0;
    struct sc_value *out = sc_arena_array(call->arena, (size_t)call->n_out, sizeof(*out));
    if (!out) {
        return SC_NO_MEMORY;
    }
    SC_TRY(call->call_body(call, p->branch[branch], NULL, out));
    for (int o = 0; o < call->n_out; o++) {
        if (call->out[o]) {
            *call->out[o] = out[o];
        }
    }
    return SC_OK;
}

#define IF(version)                                                                                                    \
    {                                                                                                                  \
        .domain = "", .name = "If", .since = (version), .params = params_if, .infer = infer_if, .exec = exec_if        \
    }

const struct sc_op sc_ops_control_if[] = {
    IF(1), IF(11), IF(13), IF(16), IF(19), IF(21), IF(23), IF(24), IF(25), {.name = NULL}};
