/* SPDX-License-Identifier: Apache-2.0
 * The caller's side of a session: microbatches in and results out on rank 0, serving on the others, the report at the
 * end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/stage.h"

static enum sc_status find_sources(struct sc_session *session, struct sc_pipe *pipe)
{
    const struct sc_graph *graph = session->model->graph;
    const size_t n_values = (size_t)graph->n_values + 1, n_outputs = (size_t)graph->n_outputs + 1;
    pipe->sources = sc_arena_array(&pipe->arena, n_outputs, sizeof *pipe->sources);
    struct sc_output_source *by_value = sc_arena_array(&pipe->arena, n_values, sizeof *by_value);
    if (!pipe->sources || !by_value) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        by_value[v].edge = -1;
    }
    for (int e = 0; e < pipe->n_edges; e++) {
        const struct sc_plan_edge *plan = pipe->edges[e].plan;
        for (int v = 0; plan->to < 0 && v < plan->n_values; v++) {
            by_value[plan->values[v]] = (struct sc_output_source){e, v};
        }
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        pipe->sources[o] = by_value[graph->outputs[o]];
    }
    return SC_OK;
}

enum sc_status sc_session_find_ports(struct sc_session *session)
{
    const struct sc_graph *graph = session->model->graph;
    session->input_of =
        sc_arena_array(&session->pipes[0].arena, (size_t)graph->n_values + 1, sizeof *session->input_of);
    if (!session->input_of) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        session->input_of[v] = -1;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        session->input_of[graph->inputs[i]] = i;
    }
    for (int p = 0; p < session->n_pipes; p++) {
        SC_TRY(find_sources(session, &session->pipes[p]));
    }
    return SC_OK;
}

/* Declared type, rank, dims; a symbol has one size in all inputs of a microbatch. */
static enum sc_status check_input(
    struct sc_session *session, const struct sc_graph_value *declared, const struct sc_value *value)
{
    const struct sc_fact *fact = &declared->fact;
    const struct sc_tensor *tensor = &value->u.tensor;
    if (fact->kind != SC_KIND_TENSOR) {
        return SC_OK; /* sequences and optionals are checked by the operators that take them apart */
    }
    if (value->kind != SC_KIND_TENSOR || tensor->type != fact->type) {
        return sc_fail(SC_BAD_INPUT, "input '%s' is %s, want %s", declared->name,
            value->kind == SC_KIND_TENSOR ? sc_type_name(tensor->type) : "no tensor", sc_type_name(fact->type));
    }
    if (fact->rank >= 0 && tensor->rank != fact->rank) {
        return sc_fail(SC_BAD_INPUT, "input '%s' has rank %d, want %d", declared->name, tensor->rank, fact->rank);
    }
    for (int d = 0; d < fact->rank; d++) {
        int64_t want = fact->dims[d];
        if (want < SC_DIM_UNKNOWN && -2 - want < session->model->n_symbols) {
            int64_t *size = &session->symbol_sizes[-2 - want];
            *size = *size < 0 ? tensor->dims[d] : *size;
            want = *size;
        }
        if (want >= 0 && want != tensor->dims[d]) {
            return sc_fail(SC_BAD_INPUT, "input '%s' has size %lld in dim %d, want %lld", declared->name,
                (long long)tensor->dims[d], d, (long long)want);
        }
    }
    return SC_OK;
}

static enum sc_status check_inputs(struct sc_session *session, const struct sc_value *const *inputs)
{
    const struct sc_graph *graph = session->model->graph;
    for (int s = 0; s < session->model->n_symbols; s++) {
        session->symbol_sizes[s] = -1;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *declared = &graph->values[graph->inputs[i]];
        if (inputs[i] && declared->place == SC_PLACE_INITIALIZER) {
            return sc_fail(SC_BAD_INPUT,
                "input '%s' has a default, which is a constant here: name it in the option 'override' to give it",
                declared->name);
        }
        const int mode = session->modes[i];
        if (inputs[i] && mode && sc_value_mode(inputs[i]) != mode) {
            return sc_fail(SC_BAD_INPUT, "input '%s' is not %s, which the session was opened for", declared->name,
                mode > 0 ? "true" : "false");
        }
        if (inputs[i] && !session->is_state[graph->inputs[i]]) {
            SC_TRY(check_input(session, declared, inputs[i]));
        }
    }
    return SC_OK;
}

/* The values of one edge from the caller; all of the part are there before anything is sent. */
static enum sc_status gather_inputs(struct sc_session *session, const struct sc_edge *edge, enum sc_part part,
    const struct sc_value *const *inputs, const struct sc_value **values)
{
    static const struct sc_value none = {.kind = SC_KIND_NONE};
    const struct sc_graph *graph = session->model->graph;
    for (int v = 0; v < edge->plan->n_values; v++) {
        const int input = session->input_of[edge->plan->values[v]];
        const struct sc_value *value = input < 0 ? NULL : inputs[input];
        if (!value && input >= 0 && session->given[input]) {
            value = &session->defaults[input];
        }
        if (!session->in_part[part][edge->plan->values[v]]) {
            value = &none;
        }
        if (!value) {
            return sc_fail(SC_BAD_INPUT, "input '%s' is missing", graph->values[edge->plan->values[v]].name);
        }
        values[v] = value;
    }
    return SC_OK;
}

/* Two rows that append to one slot would overwrite each other. */
static enum sc_status check_rows(const struct sc_microbatch *microbatch)
{
    if (microbatch->n_rows < 0 || microbatch->n_rows > SC_WIRE_ROWS) {
        return sc_fail(SC_BAD_INPUT, "a microbatch of %d rows, want at most %d", microbatch->n_rows, SC_WIRE_ROWS);
    }
    for (int a = 0; a < microbatch->n_rows; a++) {
        for (int b = 0; b < a; b++) {
            if (microbatch->rows[a].slot >= 0 && microbatch->rows[a].slot == microbatch->rows[b].slot) {
                return sc_fail(SC_BAD_INPUT, "rows %d and %d of a microbatch both continue slot %d", b, a,
                    microbatch->rows[a].slot);
            }
        }
    }
    return SC_OK;
}

enum sc_status sc_session_submit(
    struct sc_session *session, struct sc_microbatch *microbatch, const struct sc_value *const *inputs)
{
    struct sc_pipe *pipe = &session->pipes[microbatch->prefill && session->n_pipes > 1];
    SC_TRY(check_rows(microbatch));
    if (pipe > session->pipes && microbatch->n_rows != 1) {
        return sc_fail(SC_BAD_INPUT, "a microbatch of %d rows by the prefill plan, want 1", microbatch->n_rows);
    }
    sc_arena_reset(&session->submit_arena); /* here, so also after a microbatch that was refused */
    const struct sc_value **values =
        sc_arena_array(&session->submit_arena, (size_t)session->model->graph->n_inputs + 1, sizeof *values);
    if (!values) {
        return SC_NO_MEMORY;
    }
    SC_TRY(check_inputs(session, inputs));
    const enum sc_part part = sc_session_part(session, microbatch);
    for (int e = 0; e < pipe->n_edges; e++) {
        if (pipe->edges[e].plan->from < 0) {
            SC_TRY(gather_inputs(session, &pipe->edges[e], part, inputs, values));
        }
    }
    microbatch->seq = pipe->submitted;
    for (int e = 0; e < pipe->n_edges; e++) {
        struct sc_edge *edge = &pipe->edges[e];
        if (edge->plan->from < 0) {
            SC_TRY(gather_inputs(session, edge, part, inputs, values));
            SC_TRY(sc_edge_send(session, edge, microbatch, values, edge->plan->n_values, NULL));
        }
    }
    pipe->submitted++;
    return SC_OK;
}

static bool leaves(const struct sc_edge *edge)
{
    return edge->plan->to < 0;
}

static bool all_arrived(const struct sc_pipe *pipe)
{
    for (int e = 0; e < pipe->n_edges; e++) {
        if (leaves(&pipe->edges[e]) && pipe->edges[e].count == 0) {
            return false;
        }
    }
    return true;
}

/* The results that the caller has read go back to their links. */
static void drop_delivered(struct sc_session *session)
{
    for (int p = 0; p < session->n_pipes; p++) {
        struct sc_pipe *pipe = &session->pipes[p];
        for (int e = 0; e < pipe->n_edges && pipe->holding; e++) {
            if (leaves(&pipe->edges[e])) {
                sc_edge_pop(&pipe->edges[e]);
            }
        }
        pipe->holding = false;
    }
}

/* From edges that have all been opened. */
static void place_outputs(const struct sc_session *session, const struct sc_pipe *pipe, const struct sc_value **outputs)
{
    for (int e = 0; session->options.tail && e < pipe->n_edges; e++) {
        const struct sc_edge *edge = &pipe->edges[e];
        /* a tail gives nothing for edges that hold none of what it looks for */
        if (leaves(edge) && edge->values[0].kind != SC_KIND_NONE) {
            outputs[0] = &edge->values[0];
        }
    }
    for (int o = 0; !session->options.tail && o < session->model->graph->n_outputs; o++) {
        const struct sc_output_source *source = &pipe->sources[o];
        if (source->edge >= 0) {
            outputs[o] = &pipe->edges[source->edge].values[source->value];
        }
    }
}

struct sc_pipe *sc_session_arrived(struct sc_session *session)
{
    for (int p = 0; p < session->n_pipes; p++) {
        struct sc_pipe *pipe = &session->pipes[p];
        if (pipe->delivered < pipe->submitted && all_arrived(pipe)) {
            return pipe;
        }
    }
    return NULL;
}

/* Waits for the results of the oldest microbatch of a plan and opens them. One is in flight. */
static enum sc_status take_results(struct sc_session *session, struct sc_pipe **from, bool *poisoned)
{
    struct sc_pipe *pipe;
    drop_delivered(session);
    session->slowest_ns = 0;
    for (int64_t idle = 0; !(pipe = sc_session_arrived(session));) {
        SC_TRY(sc_session_turn(session, &idle));
    }
    for (int e = 0; e < pipe->n_edges; e++) {
        struct sc_edge *edge = &pipe->edges[e];
        if (!leaves(edge)) {
            continue;
        }
        SC_TRY(sc_edge_open(session, edge, poisoned));
        if (edge->header.seq != pipe->delivered) {
            return sc_fail(SC_PEER, "edge %d delivered microbatch %lld, want %lld", edge->index,
                (long long)edge->header.seq, (long long)pipe->delivered);
        }
        if (edge->header.slowest_ns > session->slowest_ns) {
            session->slowest_ns = edge->header.slowest_ns;
        }
    }
    pipe->holding = true;
    pipe->delivered++;
    *from = pipe;
    return SC_OK;
}

enum sc_status sc_session_next_of(struct sc_session *session, bool *prefill, const struct sc_value **outputs)
{
    bool poisoned = false;
    struct sc_pipe *from = NULL;
    if (sc_session_in_flight(session) == 0) {
        return sc_fail(SC_INTERNAL, "no microbatch is in flight");
    }
    for (int o = 0; o < session->model->graph->n_outputs; o++) {
        outputs[o] = NULL;
    }
    SC_TRY(take_results(session, &from, &poisoned));
    if (!poisoned) {
        place_outputs(session, from, outputs);
    }
    *prefill = from != session->pipes;
    return poisoned ? sc_error_set(&session->failed) : SC_OK;
}

enum sc_status sc_session_next(struct sc_session *session, const struct sc_value **outputs)
{
    bool prefill;
    return sc_session_next_of(session, &prefill, outputs);
}

int64_t sc_session_slowest_ns(const struct sc_session *session)
{
    return session->slowest_ns;
}

int64_t sc_session_in_flight(const struct sc_session *session)
{
    int64_t n = 0;
    for (int p = 0; p < session->n_pipes; p++) {
        n += session->pipes[p].submitted - session->pipes[p].delivered;
    }
    return n;
}

enum sc_status sc_session_serve(struct sc_session *session)
{
    for (int64_t idle = 0; !session->ended;) {
        if (session->replans) {
            SC_TRY(sc_session_follow_replan(session));
        }
        SC_TRY(sc_session_turn(session, &idle));
    }
    return sc_world_agree(session->world, SC_OK); /* nobody leaves while another still listens to it */
}

static enum sc_status announce_to(struct sc_session *session, enum sc_wire_kind kind, int peer)
{
    const struct sc_wire_header header = {.kind = (int32_t)kind, .edge = -1, .seq = session->pipes[0].submitted};
    struct sc_link *link;
    void *buffer = NULL;
    SC_TRY(sc_world_link(session->world, peer, &link));
    const size_t bytes = sc_wire_bytes(0, NULL, 0);
    for (int64_t idle = 0; !buffer; idle++) {
        bool did;
        SC_TRY(sc_link_reserve(link, bytes, &buffer));
        if (!buffer) {
            SC_TRY(sc_session_step(session, &did));
            sc_session_pause(session, idle);
        }
    }
    sc_wire_write(&header, NULL, 0, buffer);
    return sc_link_send(link, buffer, bytes);
}

enum sc_status sc_session_announce(struct sc_session *session, enum sc_wire_kind kind)
{
    drop_delivered(session);
    for (int peer = 1; peer < sc_world_size(session->world); peer++) {
        SC_TRY(announce_to(session, kind, peer));
    }
    return SC_OK;
}

enum sc_status sc_session_finish(struct sc_session *session)
{
    bool poisoned;
    struct sc_pipe *from;
    while (sc_session_in_flight(session) > 0) {
        SC_TRY(take_results(session, &from, &poisoned));
    }
    SC_TRY(sc_session_announce(session, SC_WIRE_END));
    return sc_world_agree(session->world, SC_OK);
}

static void count_stage(const struct sc_stage *stage, struct sc_rank_report *report)
{
    for (int p = 0; p < stage->n_parts; p++) {
        int64_t own, mapped;
        sc_program_weight_bytes(stage->parts[p].program, &own, &mapped);
        report->own_weight_bytes += own;
        report->mapped_weight_bytes += mapped;
        report->frame_bytes += (int64_t)sc_frame_bytes(stage->parts[p].frame);
        report->n_steps += sc_program_n_steps(stage->parts[p].program);
    }
}

/* What the stages of a plan on this rank have and did. */
static void add_pipe(const struct sc_session *session, const struct sc_pipe *pipe, struct sc_rank_report *mine)
{
    mine->n_microbatches += pipe->n_stages > 0 ? pipe->stages[0].next_seq : 0;
    for (int s = 0; s < pipe->n_stages; s++) {
        count_stage(&pipe->stages[s], mine);
    }
    const struct sc_state_options caches = {
        .n_slots = session->options.n_slots, .context = session->options.context, .n_pages = session->options.n_pages};
    for (int p = 0; p < session->options.n_pairs; p++) {
        if (pipe->store_pairs[p] >= 0) {
            mine->state_bytes += sc_state_pair_bytes(&session->options.pairs[p], &caches);
        }
    }
}

enum sc_status sc_session_report(struct sc_session *session, struct sc_rank_report *reports)
{
    struct sc_rank_report mine = {.sent_bytes = session->sent_bytes,
        .sent_messages = session->sent_messages,
        .link_bytes = (int64_t)sc_world_link_bytes(session->world),
        .grown_bytes = sc_memory_peak_bytes() - session->options.start_memory_bytes,
        .read_weight_bytes = sc_session_read_weight_bytes(session),
        .n_threads = sc_team_size(session->team)};
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_IDLE, -1, -1);
    const _Atomic int64_t *spent = session->activity.phase_ns;
    mine.busy_ns = atomic_load_explicit(&spent[SC_PHASE_COMPUTE], memory_order_relaxed);
    mine.wait_ns = atomic_load_explicit(&spent[SC_PHASE_WAIT], memory_order_relaxed);
    mine.send_ns = atomic_load_explicit(&spent[SC_PHASE_SEND], memory_order_relaxed);
    for (int p = 0; p < session->n_pipes; p++) {
        add_pipe(session, &session->pipes[p], &mine);
    }
    if (gethostname(mine.host, sizeof mine.host - 1) != 0) {
        mine.host[0] = '\0';
    }
    return sc_world_gather(session->world, &mine, sizeof mine, reports);
}

enum sc_status sc_session_report_stages(struct sc_session *session, struct sc_stage_report *stages)
{
    const bool root = sc_world_rank(session->world) == 0;
    const int n = sc_session_n_stages(session), size = sc_world_size(session->world);
    struct sc_stage_report *mine = calloc((size_t)n + 1, sizeof *mine);
    struct sc_stage_report *all = root ? calloc((size_t)n * (size_t)size + 1, sizeof *all) : NULL;
    const bool room = mine && (all || !root);
    enum sc_status status =
        sc_world_agree(session->world, room ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %d stages", n));
    for (int p = 0; p < session->n_pipes && status == SC_OK; p++) {
        const struct sc_pipe *pipe = &session->pipes[p];
        for (int s = 0; s < pipe->n_stages; s++) {
            mine[pipe->stages[s].number] = pipe->stages[s].done;
        }
    }
    status = status == SC_OK ? sc_world_gather(session->world, mine, (size_t)n * sizeof *mine, all) : status;
    for (int p = 0; p < session->n_pipes && root && status == SC_OK; p++) {
        const struct sc_pipe *pipe = &session->pipes[p];
        for (int s = 0; s < pipe->plan->n_stages; s++) {
            const int number = pipe->first_stage + s;
            stages[number] = all[pipe->plan->stages[s].ranks[0] * n + number];
        }
    }
    free(all);
    free(mine);
    return status;
}
