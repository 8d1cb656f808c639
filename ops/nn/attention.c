/* SPDX-License-Identifier: Apache-2.0
 * Attention-23 to -25, and our own whose scores depend on distances too: parameters, sizes and checks. Caches are dense
 * tensors that grow by concatenation, or states that the rank keeps; TensorScatter's caches come as K and V with the
 * number of their valid rows. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/attention_op.h"
#include "ops/nn/cache.h"
#include "ops/shape/shape.h"

static enum sc_status params_attention(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_attention_params), params));
    struct sc_attention_params *p = *params;
    int64_t causal, mode, precision;
    SC_TRY(sc_node_int(node, "q_num_heads", 0, &p->q_heads));
    SC_TRY(sc_node_int(node, "kv_num_heads", 0, &p->kv_heads));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_float(node, "softcap", 0.0F, &p->softcap));
    SC_TRY(sc_node_int(node, "is_causal", 0, &causal));
    SC_TRY(sc_node_int(node, "qk_matmul_output_mode", 0, &mode));
    SC_TRY(sc_node_int(node, "softmax_precision", SC_F32, &precision));
    SC_TRY(sc_node_int(node, "left_window_size", -1, &p->left_window));
    SC_TRY(sc_node_int(node, "right_window_size", -1, &p->right_window));
    SC_TRY(sc_node_int(node, "before", 0, &p->before));
    const struct {
        const char *name;
        int64_t value, low, high;
    } bounds[] = {{"q_num_heads", p->q_heads, 0, INT32_MAX}, {"kv_num_heads", p->kv_heads, 0, INT32_MAX},
        {"qk_matmul_output_mode", mode, 0, 3}, {"left_window_size", p->left_window, -1, INT64_MAX},
        {"right_window_size", p->right_window, -1, INT64_MAX}, {"before", p->before, 0, INT32_MAX}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (bounds[i].value < bounds[i].low || bounds[i].value > bounds[i].high) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "%s is %lld, want %lld to %lld", bounds[i].name,
                (long long)bounds[i].value, (long long)bounds[i].low, (long long)bounds[i].high);
        }
    }
    if (!(p->softcap >= 0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "softcap is %g, want 0 or more", (double)p->softcap);
    }
    if (precision != SC_F32 && precision != SC_F16 && precision != SC_BF16 && precision != SC_F64) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "softmax_precision is %lld, want the number of a float type",
            (long long)precision);
    }
    SC_TRY(sc_node_floats(node, "slopes", &p->n_slopes, &p->slopes));
    p->causal = causal != 0;
    p->tap = (enum sc_attention_tap)mode;
    return SC_OK;
}

/* What is known of a dim from one more place. */
static enum sc_status meet(const struct sc_infer *infer, const char *what, int64_t *dim, int64_t other)
{
    if (*dim >= 0 && other >= 0 && *dim != other) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s is both %lld and %lld", what, (long long)*dim,
            (long long)other);
    }
    if (*dim == SC_DIM_UNKNOWN || (*dim < 0 && other >= 0)) {
        *dim = other;
    }
    return SC_OK;
}

/* Heads, rows and width of Q, K or V. */
static enum sc_status read_input(const struct sc_infer *infer, const char *name, const struct sc_fact *fact,
    int64_t want_heads, struct sc_attention_sizes *s, int64_t dims[3])
{
    for (int i = 0; i < 3; i++) {
        dims[i] = SC_DIM_UNKNOWN;
    }
    if (fact->rank < 0) {
        return SC_OK;
    }
    if (fact->rank != 3 && fact->rank != 4) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has rank %d, want 3 or 4", name, fact->rank);
    }
    SC_TRY(meet(infer, "the batch", &s->batch, fact->dims[0]));
    if (fact->rank == 4) {
        memcpy(dims, fact->dims + 1, 3 * sizeof(*dims));
        if (want_heads && dims[0] >= 0 && dims[0] != want_heads) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has %lld heads, the attribute says %lld",
                name, (long long)dims[0], (long long)want_heads);
        }
        return SC_OK;
    }
    const int64_t width = fact->dims[2];
    if (want_heads == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s has rank 3, which needs %s", name,
            name[0] == 'Q' ? "q_num_heads" : "kv_num_heads");
    }
    if (width >= 0 && width % want_heads != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s of width %lld cannot be cut in %lld heads",
            name, (long long)width, (long long)want_heads);
    }
    dims[0] = want_heads;
    dims[1] = fact->dims[1];
    dims[2] = width >= 0 ? width / want_heads : SC_DIM_UNKNOWN;
    return SC_OK;
}

static enum sc_status read_past(const struct sc_infer *infer, struct sc_attention_sizes *s)
{
    const struct sc_fact *past[2] = {sc_infer_in(infer, SC_ATTENTION_PAST_K), sc_infer_in(infer, SC_ATTENTION_PAST_V)};
    if (!past[0] != !past[1]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "only one of past_key and past_value is given");
    }
    if (!past[0]) {
        return SC_OK;
    }
    s->past = SC_DIM_UNKNOWN;
    s->past_resident = past[0]->kind == SC_KIND_STATE;
    if (past[0]->kind != past[1]->kind && past[0]->kind != SC_KIND_NONE && past[1]->kind != SC_KIND_NONE) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "only one of past_key and past_value is a resident cache");
    }
    if (s->kv_resident || sc_infer_in(infer, SC_ATTENTION_NONPAD)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "a past is given together with %s",
            s->kv_resident ? "a cache as K" : "nonpad_kv_seqlen");
    }
    for (int i = 0; i < 2; i++) {
        if (past[i]->rank < 0) {
            continue;
        }
        if (past[i]->rank != 4) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a past has rank %d, want 4", past[i]->rank);
        }
        SC_TRY(meet(infer, "the batch", &s->batch, past[i]->dims[0]));
        SC_TRY(meet(infer, "the number of key heads", &s->kv_heads, past[i]->dims[1]));
        SC_TRY(meet(infer, "the head width", i == 0 ? &s->qk_width : &s->v_width, past[i]->dims[3]));
        if (!s->past_resident) {
            SC_TRY(meet(infer, "the length of the past", &s->past, past[i]->dims[2]));
        }
    }
    return SC_OK;
}

enum sc_status sc_attention_sizes_of(const struct sc_infer *infer, struct sc_attention_sizes *s)
{
    const struct sc_attention_params *p = infer->params;
    const struct sc_fact *in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = sc_infer_in(infer, i);
        if (!in[i]) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is missing", i);
        }
    }
    *s = (struct sc_attention_sizes){.batch = SC_DIM_UNKNOWN,
        .flat = in[0]->rank == 3,
        .kv_resident = in[1]->kind == SC_KIND_STATE && in[2]->kind == SC_KIND_STATE};
    if (!s->kv_resident && (in[1]->kind == SC_KIND_STATE || in[2]->kind == SC_KIND_STATE)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "only one of K and V is a resident cache");
    }
    int64_t q[3], k[3], v[3];
    SC_TRY(read_input(infer, "Q", in[0], p->q_heads, s, q));
    SC_TRY(read_input(infer, "K", in[1], p->kv_heads, s, k));
    SC_TRY(read_input(infer, "V", in[2], p->kv_heads, s, v));
    s->q_heads = q[0];
    s->n_q = q[1];
    s->qk_width = q[2];
    s->kv_heads = k[0];
    s->n_kv = k[1];
    s->v_width = v[2];
    SC_TRY(meet(infer, "the head width", &s->qk_width, k[2]));
    SC_TRY(meet(infer, "the number of key heads", &s->kv_heads, v[0]));
    SC_TRY(meet(infer, "the number of keys", &s->n_kv, v[1]));
    SC_TRY(read_past(infer, s));
    if (s->q_heads >= 0 && s->kv_heads >= 0 && (s->kv_heads == 0 || s->q_heads % s->kv_heads != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%lld query heads cannot share %lld key heads",
            (long long)s->q_heads, (long long)s->kv_heads);
    }
    if (p->n_slopes > 0 && s->q_heads >= 0 && p->n_slopes != s->q_heads) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%d slopes for %lld query heads", p->n_slopes,
            (long long)s->q_heads);
    }
    s->total = s->past == 0 ? s->n_kv : SC_DIM_UNKNOWN;
    if (s->past >= 0 && s->n_kv >= 0) {
        s->total = s->past + s->n_kv;
    }
    return SC_OK;
}

static enum sc_status check_mask(const struct sc_infer *infer, const struct sc_attention_sizes *s)
{
    const struct sc_fact *mask = sc_infer_in(infer, SC_ATTENTION_MASK);
    if (!mask || mask->rank < 0) {
        return SC_OK;
    }
    const int64_t want[4] = {s->batch, s->q_heads, s->n_q, s->total};
    bool fits = mask->rank >= 1 && mask->rank <= 4;
    for (int i = 0; fits && i < mask->rank; i++) {
        const int axis = 4 - mask->rank + i;
        const int64_t dim = mask->dims[i];
        fits = dim < 0 || want[axis] < 0 || dim == 1 || (axis == 3 ? dim <= want[axis] : dim == want[axis]);
    }
    if (!fits) {
        char a[128], b[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a mask %s does not broadcast to %s",
            sc_dims_text(mask->rank, mask->dims, a, sizeof a), sc_dims_text(4, want, b, sizeof b));
    }
    return SC_OK;
}

static enum sc_status check_distances(const struct sc_infer *infer, const struct sc_attention_sizes *s)
{
    const struct sc_attention_params *p = infer->params;
    const struct sc_fact *table = sc_infer_in(infer, SC_ATTENTION_DISTANCES);
    if (!table || table->rank < 0) {
        return SC_OK;
    }
    const int64_t heads = table->rank == 2 ? table->dims[0] : 1, n = table->rank == 2 ? table->dims[1] : 0;
    if ((heads >= 0 && heads != 1 && s->q_heads >= 0 && heads != s->q_heads) || (n >= 0 && n <= p->before)) {
        char dims[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "a table of distances %s is not one of %lld heads with distance 0 at place %lld",
            sc_dims_text(table->rank, table->dims, dims, sizeof dims), (long long)s->q_heads, (long long)p->before);
    }
    return SC_OK;
}

static void present_fact(struct sc_infer *infer, int output, const struct sc_attention_sizes *s)
{
    struct sc_fact *out = sc_infer_out(infer, output);
    if (!out) {
        return;
    }
    const bool key = output == SC_ATTENTION_PRESENT_K;
    if (s->past_resident) {
        *out = *infer->in[key ? SC_ATTENTION_PAST_K : SC_ATTENTION_PAST_V];
        return;
    }
    const int64_t dims[4] = {s->batch, s->kv_heads, s->total, key ? s->qk_width : s->v_width};
    sc_fact_tensor(out, infer->in[key ? SC_ATTENTION_K : SC_ATTENTION_V]->type, 4, dims);
}

static enum sc_status infer_attention(struct sc_infer *infer)
{
    struct sc_attention_sizes s;
    SC_TRY(sc_attention_sizes_of(infer, &s));
    SC_TRY(check_mask(infer, &s));
    SC_TRY(check_distances(infer, &s));
    const struct sc_fact *q = infer->in[SC_ATTENTION_Q];
    struct sc_fact *y = sc_infer_out(infer, SC_ATTENTION_Y);
    if (y && q->rank == 3) {
        int64_t width;
        SC_TRY(sc_dim_multiply(infer, s.q_heads, s.v_width, &width));
        const int64_t dims[3] = {s.batch, s.n_q, width};
        sc_fact_tensor(y, q->type, 3, dims);
    } else if (y && q->rank == 4) {
        const int64_t dims[4] = {s.batch, s.q_heads, s.n_q, s.v_width};
        sc_fact_tensor(y, q->type, 4, dims);
    } else {
        sc_fact_of_type(y, q->type);
    }
    if (s.kv_resident && (sc_infer_out(infer, SC_ATTENTION_PRESENT_K) || sc_infer_out(infer, SC_ATTENTION_PRESENT_V))) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED,
            "K and V are resident caches, and present outputs are asked for");
    }
    present_fact(infer, SC_ATTENTION_PRESENT_K, &s);
    present_fact(infer, SC_ATTENTION_PRESENT_V, &s);
    if (sc_infer_out(infer, SC_ATTENTION_QK)) {
        const int64_t dims[4] = {s.batch, s.q_heads, s.n_q, s.total};
        sc_fact_tensor(infer->out[SC_ATTENTION_QK], q->type, 4, dims);
    }
    return SC_OK;
}

struct sc_attention_sizes sc_attention_call_sizes(const struct sc_call *call)
{
    struct sc_call_facts facts;
    struct sc_attention_sizes sizes = {0};
    sc_call_facts_init(&facts, call);
    (void)sc_attention_sizes_of(&facts.infer, &sizes); /* resolve fails where this would */
    return sizes;
}

static enum sc_status check_nonpad(const struct sc_call *call, const struct sc_attention_sizes *s)
{
    const struct sc_tensor *nonpad = sc_call_in(call, SC_ATTENTION_NONPAD);
    if (!nonpad) {
        return SC_OK;
    }
    if (nonpad->rank != 1 || nonpad->dims[0] != s->batch) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "nonpad_kv_seqlen does not have one entry per batch row");
    }
    for (int64_t b = 0; b < s->batch; b++) {
        const int64_t n = sc_index_at(nonpad, b);
        int64_t room = s->n_kv;
        if (s->kv_resident) {
            const int64_t keys = call->in[SC_ATTENTION_K]->u.state->rows[b].n_pages;
            const int64_t values = call->in[SC_ATTENTION_V]->u.state->rows[b].n_pages;
            const int64_t pages = keys < values ? keys : values;
            room = room < pages * SC_PAGE_ROWS ? room : pages * SC_PAGE_ROWS;
        }
        if (n < 0 || n > room) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "nonpad_kv_seqlen is %lld in batch row %lld, there are %lld keys", (long long)n, (long long)b,
                (long long)room);
        }
    }
    return SC_OK;
}

/* The past is a state: room for the new rows, and as many keys as values. */
static enum sc_status check_states(const struct sc_call *call, const struct sc_attention_sizes *s, int64_t *longest)
{
    const struct sc_state *keys = call->in[s->past_resident ? SC_ATTENTION_PAST_K : SC_ATTENTION_K]->u.state;
    const struct sc_state *values = call->in[s->past_resident ? SC_ATTENTION_PAST_V : SC_ATTENTION_V]->u.state;
    *longest = 0;
    for (int64_t b = 0; b < s->batch; b++) {
        const int64_t length = keys->rows[b].length;
        if (length != values->rows[b].length) {
            return sc_node_fail(call->graph, call->node, SC_INTERNAL, "%lld keys and %lld values in batch row %lld",
                (long long)length, (long long)values->rows[b].length, (long long)b);
        }
        if (s->past_resident) {
            SC_TRY(sc_cache_check_room(call, keys, (int)b, length, s->n_kv));
            SC_TRY(sc_cache_check_room(call, values, (int)b, length, s->n_kv));
        }
        const int64_t total = s->past_resident ? length + s->n_kv : s->n_kv;
        *longest = total > *longest ? total : *longest;
    }
    return SC_OK;
}

static enum sc_status resolve_attention(const struct sc_call *call)
{
    struct sc_value *qk = call->n_out > SC_ATTENTION_QK ? call->out[SC_ATTENTION_QK] : NULL;
    const struct sc_attention_sizes s = sc_attention_call_sizes(call);
    if (!s.past_resident && !s.kv_resident) {
        SC_TRY(sc_resolve_by_infer(call));
        return check_nonpad(call, &s);
    }
    struct sc_call without = *call; /* the qk output's length comes from the states, not from infer */
    without.n_out = call->n_out < SC_ATTENTION_QK ? call->n_out : SC_ATTENTION_QK;
    SC_TRY(sc_resolve_by_infer(&without));
    int64_t longest;
    SC_TRY(check_states(call, &s, &longest));
    SC_TRY(check_nonpad(call, &s));
    if (qk) {
        const int64_t dims[4] = {s.batch, s.q_heads, s.n_q, longest};
        SC_TRY(sc_resolve_dims(call, SC_ATTENTION_QK, sc_call_in(call, SC_ATTENTION_Q)->type, 4, dims));
    }
    return SC_OK;
}

static void cost_attention(const struct sc_infer *infer, struct sc_cost *cost)
{
    struct sc_attention_sizes s;
    if (sc_attention_sizes_of(infer, &s) != SC_OK) {
        return;
    }
    const struct sc_fact *past = sc_infer_in(infer, SC_ATTENTION_PAST_K);
    const double total = (double)(s.total >= 0 ? s.total : past && past->rank == 4 ? past->dims[2] : s.n_kv);
    const double widths = (double)(s.qk_width * (int64_t)sc_type_bytes(infer->in[SC_ATTENTION_K]->type) +
        s.v_width * (int64_t)sc_type_bytes(infer->in[SC_ATTENTION_V]->type));
    const double bytes = (double)sc_type_bytes(infer->in[SC_ATTENTION_Q]->type);
    const double queries = (double)(s.batch * s.q_heads * s.n_q);
    cost->operations = 2 * queries * total * (double)(s.qk_width + s.v_width) + 8 * queries * total;
    cost->read_bytes = (double)(s.batch * s.kv_heads) * total * widths + bytes * queries * (double)s.qk_width;
    cost->written_bytes = bytes * queries * (double)s.v_width + (double)(s.batch * s.kv_heads * s.n_kv) * widths;
}

#define ATTENTION(of, version)                                                                                         \
    {                                                                                                                  \
        .domain = (of), .name = "Attention", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_STATE,      \
        .strided = 0x3f, .params = params_attention, .infer = infer_attention, .scratch = sc_attention_op_scratch,     \
        .resolve = resolve_attention, .run = sc_attention_op_run, .cost = cost_attention                               \
    }

const struct sc_op sc_ops_nn_attention[] = {
    ATTENTION("", 23), ATTENTION("", 24), ATTENTION("", 25), ATTENTION("sc", 1), {.name = NULL}};
