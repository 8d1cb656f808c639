/* SPDX-License-Identifier: Apache-2.0
 * From the plan to this rank's part of it: edges with their links, one program and frame a stage, the states that its
 * nodes join. */
#include <string.h>

#include "partitioner/reads.h"
#include "runtime/handover.h"
#include "runtime/stream.h"

/* Beyond the stages of the prefill plan are the owners of what it hands over. */
static int stage_rank(const struct sc_session *session, const struct sc_pipe *pipe, int stage)
{
    const int owner = stage - pipe->plan->n_stages;
    return stage < 0 ? 0
        : owner >= 0 ? session->pipes[0].plan->stages[owner].ranks[0]
                     : pipe->plan->stages[stage].ranks[0];
}

struct sc_stage *sc_pipe_stage(const struct sc_pipe *pipe, int stage)
{
    for (int s = 0; s < pipe->n_stages; s++) {
        if (pipe->stages[s].index == stage) {
            return &pipe->stages[s];
        }
    }
    return NULL;
}

/* A stage that nobody reads, as it makes or owns states alone, tells the caller by an edge with no values that it is
 * through with a microbatch: one that is delivered has been through all stages. */
static enum sc_status add_ends(struct sc_session *session, struct sc_pipe *pipe)
{
    const int n_stages = pipe->plan->n_stages + session->pipes[0].plan->n_stages;
    struct sc_plan_edge *edges = sc_arena_array(&pipe->arena, (size_t)(pipe->n_edges + n_stages) + 1, sizeof *edges);
    if (!edges) {
        return SC_NO_MEMORY;
    }
    int n = 0;
    for (; n < pipe->n_edges; n++) {
        edges[n] = pipe->plan_edges[n];
    }
    for (int s = 0; s < n_stages; s++) {
        bool reads = false, read = false;
        for (int e = 0; e < pipe->n_edges; e++) {
            reads |= pipe->plan_edges[e].to == s;
            read |= pipe->plan_edges[e].from == s;
        }
        if (reads && !read) {
            edges[n++] = (struct sc_plan_edge){.from = s, .to = -1};
        }
    }
    pipe->plan_edges = edges;
    pipe->n_edges = n;
    return SC_OK;
}

static enum sc_status build_edges(struct sc_session *session, struct sc_pipe *pipe)
{
    struct sc_graph *graph = session->model->graph;
    const int rank = sc_world_rank(session->world);
    SC_TRY(sc_plan_edges(pipe->plan, graph, session->is_state, &pipe->arena, &pipe->n_edges, &pipe->plan_edges));
    SC_TRY(pipe > session->pipes ? sc_handover_edges(session, pipe) : SC_OK);
    SC_TRY(add_ends(session, pipe));
    pipe->edges = sc_arena_array(&pipe->arena, (size_t)pipe->n_edges, sizeof *pipe->edges);
    if (!pipe->edges) {
        return SC_NO_MEMORY;
    }
    for (int e = 0; e < pipe->n_edges; e++) {
        struct sc_edge *edge = &pipe->edges[e];
        edge->plan = &pipe->plan_edges[e];
        edge->index = pipe->first_edge + e;
        edge->from_rank = stage_rank(session, pipe, edge->plan->from);
        edge->to_rank = stage_rank(session, pipe, edge->plan->to);
        const int room = edge->plan->n_values > 0 ? edge->plan->n_values : 1;
        edge->values = sc_arena_array(&pipe->arena, (size_t)room, sizeof *edge->values);
        if (!edge->values) {
            return SC_NO_MEMORY;
        }
        if (edge->from_rank == rank) {
            SC_TRY(sc_world_link(session->world, edge->to_rank, &edge->out));
        }
        if (edge->to_rank == rank) {
            SC_TRY(sc_world_link(session->world, edge->from_rank, &edge->in));
        }
    }
    return SC_OK;
}

/* A pair lives where its new value is made. */
int sc_session_pair_stage(const struct sc_session *session, const struct sc_pipe *pipe, int pair)
{
    const struct sc_graph *graph = session->model->graph;
    const int producer = graph->values[session->options.pairs[pair].out].producer;
    return producer < 0 ? -1 : sc_plan_stage_of(pipe->plan, &graph->nodes[producer]);
}

/* The states of a stage; store_pairs says where they are. */
static enum sc_status build_store(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage)
{
    const struct sc_session_options *options = &session->options;
    struct sc_state_pair *pairs = sc_arena_array(&pipe->arena, (size_t)options->n_pairs, sizeof *pairs);
    if (!pairs) {
        return SC_NO_MEMORY;
    }
    int n = 0;
    for (int p = 0; p < options->n_pairs; p++) {
        if (sc_session_pair_stage(session, pipe, p) == stage->index) {
            pipe->store_pairs[p] = n;
            pairs[n++] = options->pairs[p];
        }
    }
    const struct sc_state_options store = {.n_pairs = n,
        .pairs = pairs,
        .n_slots = options->n_slots,
        .context = options->context,
        .n_pages = options->n_pages};
    stage->n_pairs = n;
    return n > 0 ? sc_state_store_create(&store, &stage->store) : SC_OK;
}

/* What to compile for a part of a stage, gathered in arrays of the session's arena. */
struct sc_builder {
    struct sc_session *session;
    struct sc_pipe *pipe;
    struct sc_stage *stage;
    struct sc_stage_part *part;
    const bool *in_part; /* by value */
    int *nodes, *inputs, *outputs;
    int n_nodes, n_inputs, n_outputs;
};

static void gather_nodes(struct sc_builder *builder)
{
    const struct sc_graph *graph = builder->session->model->graph;
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        if (!node->dead && sc_plan_stage_of(builder->pipe->plan, node) == builder->stage->index &&
            sc_part_runs(node, builder->in_part)) {
            builder->nodes[builder->n_nodes++] = n;
        }
    }
}

/* The edges at the ends of a stage, in their order. */
static void find_edges(const struct sc_pipe *pipe, struct sc_stage *stage)
{
    for (int e = 0; e < pipe->n_edges; e++) {
        if (pipe->plan_edges[e].to == stage->index) {
            stage->in[stage->n_in++] = e;
        }
        if (pipe->plan_edges[e].from == stage->index && pipe->plan_edges[e].to < pipe->plan->n_stages) {
            stage->out[stage->n_out++] = e;
        }
    }
}

static void gather_edges(struct sc_builder *builder)
{
    const struct sc_pipe *pipe = builder->pipe;
    const struct sc_stage *stage = builder->stage;
    struct sc_stage_part *part = builder->part;
    for (int i = 0; i < stage->n_in; i++) {
        const struct sc_plan_edge *edge = &pipe->plan_edges[stage->in[i]];
        for (int v = 0; v < edge->n_values; v++) {
            if (builder->in_part[edge->values[v]]) {
                part->inputs[builder->n_inputs] = (struct sc_stage_input){.edge = stage->in[i], .value = v};
                builder->inputs[builder->n_inputs++] = edge->values[v];
            }
        }
    }
    int n = 0;
    for (int o = 0; o < stage->n_out; o++) {
        const struct sc_plan_edge *edge = &pipe->plan_edges[stage->out[o]];
        for (int v = 0; v < edge->n_values; v++) {
            const bool given = builder->in_part[edge->values[v]];
            part->out_values[n++] = given ? builder->n_outputs : -1;
            if (given) {
                builder->outputs[builder->n_outputs++] = edge->values[v];
            }
        }
    }
}

/* is_read[v]: a node of the part reads the value v. */
static enum sc_status find_reads(const struct sc_builder *builder, struct sc_arena *arena, bool **is_read)
{
    const struct sc_graph *graph = builder->session->model->graph;
    *is_read = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof **is_read);
    if (!*is_read) {
        return SC_NO_MEMORY;
    }
    for (int n = 0; n < builder->n_nodes; n++) {
        int n_values = 0, *values = NULL;
        SC_TRY(sc_node_reads(graph, &graph->nodes[builder->nodes[n]], arena, &n_values, &values));
        for (int i = 0; i < n_values; i++) {
            (*is_read)[values[i]] = true;
        }
    }
    return SC_OK;
}

static enum sc_status gather_pairs(struct sc_builder *builder, const bool *is_read)
{
    struct sc_session *session = builder->session;
    struct sc_stage_part *part = builder->part;
    for (int p = 0; p < session->options.n_pairs; p++) {
        const struct sc_state_pair *pair = &session->options.pairs[p];
        const bool mine = sc_session_pair_stage(session, builder->pipe, p) == builder->stage->index;
        const bool read = is_read[pair->in];
        if (read && !mine) {
            return sc_fail(SC_BAD_INPUT, "plan: stage %d reads the state '%s', which another stage continues",
                builder->stage->index, session->model->graph->values[pair->in].name);
        }
        if (read) {
            part->inputs[builder->n_inputs] =
                (struct sc_stage_input){.edge = -1, .value = builder->pipe->store_pairs[p]};
            builder->inputs[builder->n_inputs++] = pair->in;
        }
        if (mine && builder->in_part[pair->out]) {
            part->pairs[part->n_pairs] = builder->pipe->store_pairs[p];
            part->pair_outputs[part->n_pairs++] = builder->n_outputs;
            builder->outputs[builder->n_outputs++] = pair->out;
        }
    }
    return SC_OK;
}

static enum sc_status build_pairs(struct sc_builder *builder)
{
    struct sc_arena scratch = {0};
    bool *is_read;
    enum sc_status status = find_reads(builder, &scratch, &is_read);
    if (status == SC_OK) {
        status = gather_pairs(builder, is_read);
    }
    sc_arena_release(&scratch);
    return status;
}

/* How many values a stage may have at its ends, and the most of one edge. */
static size_t count_ends(const struct sc_session *session, const struct sc_pipe *pipe, size_t *widest)
{
    size_t n = (size_t)session->options.n_pairs + 1;
    *widest = 1;
    for (int e = 0; e < pipe->n_edges; e++) {
        const size_t values = (size_t)pipe->plan_edges[e].n_values;
        n += values;
        *widest = values > *widest ? values : *widest;
    }
    return n;
}

static enum sc_status make_room(struct sc_builder *builder)
{
    struct sc_session *session = builder->session;
    struct sc_stage_part *part = builder->part;
    struct sc_arena *arena = &builder->pipe->arena;
    size_t widest;
    const size_t n_values = count_ends(session, builder->pipe, &widest), n_pairs = (size_t)session->options.n_pairs;
    builder->nodes = sc_arena_array(arena, (size_t)session->model->graph->n_nodes, sizeof *builder->nodes);
    builder->inputs = sc_arena_array(arena, n_values, sizeof *builder->inputs);
    builder->outputs = sc_arena_array(arena, n_values, sizeof *builder->outputs);
    part->inputs = sc_arena_array(arena, n_values, sizeof *part->inputs);
    part->feeds = sc_arena_array(arena, n_values, sizeof *part->feeds);
    part->out_values = sc_arena_array(arena, n_values, sizeof *part->out_values);
    part->pairs = sc_arena_array(arena, n_pairs, sizeof *part->pairs);
    part->pair_outputs = sc_arena_array(arena, n_pairs, sizeof *part->pair_outputs);
    const bool made = builder->nodes && builder->inputs && builder->outputs && part->inputs && part->feeds &&
        part->out_values && part->pairs && part->pair_outputs;
    return made ? SC_OK : SC_NO_MEMORY;
}

/* Weights that what was loaded before has are used from there. */
static enum sc_status build_part(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage, int p)
{
    struct sc_stage_part *part = &stage->parts[p];
    struct sc_builder builder = {
        .session = session, .pipe = pipe, .stage = stage, .part = part, .in_part = session->in_part[p]};
    SC_TRY(make_room(&builder));
    gather_nodes(&builder);
    gather_edges(&builder);
    SC_TRY(build_pairs(&builder));
    part->n_inputs = builder.n_inputs;
    const struct sc_program_spec spec = {.model = session->model,
        .graph = session->model->graph,
        .n_nodes = builder.n_nodes,
        .nodes = builder.nodes,
        .n_inputs = builder.n_inputs,
        .inputs = builder.inputs,
        .n_outputs = builder.n_outputs,
        .outputs = builder.outputs,
        .kernels = session->kernels,
        .n_beside = session->n_loaded,
        .beside = session->loaded,
        .blas = session->options.blas,
        .seed = session->options.seed};
    SC_TRY(sc_program_compile(&spec, &part->program));
    SC_TRY(sc_program_load(part->program, session->team));
    session->loaded[session->n_loaded++] = part->program;
    struct sc_frame_options frame = {.team = session->team, .activity = &session->activity};
    if (pipe > session->pipes && stage->store) {
        SC_TRY(sc_giver_make(session, pipe, stage, (enum sc_part)p));
        frame.on_step = sc_giver_on_step;
        frame.on_step_arg = stage->giver;
    }
    return sc_frame_create(part->program, &frame, &part->frame);
}

static enum sc_status build_stage(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage)
{
    size_t widest;
    struct sc_arena *arena = &pipe->arena;
    (void)count_ends(session, pipe, &widest);
    stage->sent = sc_arena_array(arena, widest, sizeof *stage->sent);
    stage->in = sc_arena_array(arena, (size_t)pipe->n_edges, sizeof *stage->in);
    stage->out = sc_arena_array(arena, (size_t)pipe->n_edges, sizeof *stage->out);
    if (!stage->sent || !stage->in || !stage->out) {
        return SC_NO_MEMORY;
    }
    find_edges(pipe, stage);
    SC_TRY(build_store(session, pipe, stage));
    stage->n_parts = session->n_parts;
    for (int p = 0; p < stage->n_parts; p++) {
        SC_TRY(build_part(session, pipe, stage, p));
    }
    return SC_OK;
}

static enum sc_status build_frame(struct sc_session *session, struct sc_pipe *pipe)
{
    const struct sc_pipe *before = pipe > session->pipes ? pipe - 1 : NULL;
    pipe->first_stage = before ? before->first_stage + before->plan->n_stages : 0;
    pipe->first_edge = before ? before->first_edge + before->n_edges : 0;
    SC_TRY(build_edges(session, pipe));
    const int n_stages = pipe->plan->n_stages, n_pairs = session->options.n_pairs;
    pipe->stages = sc_arena_array(&pipe->arena, (size_t)n_stages, sizeof *pipe->stages);
    pipe->store_pairs = sc_arena_array(&pipe->arena, (size_t)n_pairs, sizeof *pipe->store_pairs);
    if (!pipe->stages || !pipe->store_pairs) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n_pairs; p++) {
        pipe->store_pairs[p] = -1;
    }
    return SC_OK;
}

static enum sc_status build_stages(struct sc_session *session, struct sc_pipe *pipe)
{
    const struct sc_plan *plan = pipe->plan;
    for (int s = 0; s < plan->n_stages; s++) {
        if (stage_rank(session, pipe, s) == sc_world_rank(session->world)) {
            struct sc_stage *stage = &pipe->stages[pipe->n_stages++];
            stage->index = s;
            stage->number = pipe->first_stage + s;
            sc_trace_enter(&session->trace, &session->activity, SC_PHASE_LOAD, stage->number, -1);
            SC_TRY(build_stage(session, pipe, stage));
        }
    }
    return SC_OK;
}

enum sc_status sc_session_build(struct sc_session *session)
{
    const bool root = sc_world_rank(session->world) == 0;
    enum sc_status status = SC_OK;
    int n_stages = 0;
    for (int p = 0; p < session->n_pipes && status == SC_OK; p++) {
        status = build_frame(session, &session->pipes[p]);
        n_stages += session->pipes[p].plan->n_stages;
    }
    session->n_loaded = 0;
    session->loaded =
        sc_arena_array(&session->pipes[0].arena, (size_t)n_stages * SC_PARTS, sizeof(struct sc_program *));
    status = session->loaded ? status : SC_NO_MEMORY;
    SC_TRY(sc_world_agree(session->world, status)); /* from here on rank 0 may be asked for weights */
    SC_TRY(sc_stream_find(session));
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_LOAD, -1, -1);
    sc_world_away(session->world, false); /* passes and planning have no parts; loading has */
    if (root) {
        status = sc_stream_serve(session);
    }
    sc_stream_begin(session);
    for (int p = 0; p < session->n_pipes && status == SC_OK; p++) {
        status = build_stages(session, &session->pipes[p]);
        status = status == SC_OK && p > 0 ? sc_takers_make(session, &session->pipes[p]) : status;
    }
    status = status == SC_OK ? sc_model_check_files(session->model) : status; /* what was packed is of one model */
    const struct sc_error error = *sc_error_last();
    SC_TRY(sc_stream_finish(session)); /* also after a failure, which rank 0 would not know of */
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}

void sc_stage_release_programs(struct sc_stage *stage)
{
    for (int p = SC_PARTS - 1; p >= 0; p--) { /* later ones show weights of the first */
        sc_frame_free(stage->parts[p].frame);
        sc_program_free(stage->parts[p].program);
        stage->parts[p].frame = NULL;
        stage->parts[p].program = NULL;
    }
}

void sc_stage_release(struct sc_stage *stage)
{
    if (stage->giver) {
        sc_arena_release(&stage->giver->arena);
    }
    sc_state_store_free(stage->store);
    sc_stage_release_programs(stage);
}
