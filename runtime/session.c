/* SPDX-License-Identifier: Apache-2.0
 * Opening agrees, cuts and loads; then rank 0 feeds microbatches while every rank steps its stages. */
#include "runtime/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "passes/passes.h"
#include "runtime/agree.h"
#include "runtime/defaults.h"
#include "runtime/planning.h"
#include "runtime/stage.h"

#define SC_TICK_NS 100000000

static void bind_worker(void *arg, int worker)
{
    const struct sc_session *session = arg;
    if (sc_machine_bind_thread(session->machine, &session->share, worker) != SC_OK) {
        sc_log_write(&session->options.log, SC_LOG_DEBUG, "worker %d is not bound: %s", worker, sc_error_last()->text);
    }
}

static void count_stage(const struct sc_stage *stage, int64_t *done_bytes)
{
    for (int p = 0; p < SC_PARTS && stage->parts[p].program; p++) {
        int64_t own = 0, mapped = 0;
        sc_program_weight_bytes(stage->parts[p].program, &own, &mapped);
        *done_bytes += own + mapped;
    }
}

/* The stages of this rank: bytes of weights that are there, of those that are planned. */
static void count_loaded(const struct sc_session *session, int64_t *done_bytes, int64_t *all_bytes)
{
    for (int p = 0; p < session->n_pipes; p++) {
        const struct sc_pipe *pipe = &session->pipes[p];
        for (int s = 0; s < pipe->n_stages; s++) {
            count_stage(&pipe->stages[s], done_bytes);
        }
        for (int s = 0; pipe->plan && s < pipe->plan->n_stages; s++) {
            const struct sc_plan_stage *stage = &pipe->plan->stages[s];
            *all_bytes += stage->ranks[0] == sc_world_rank(session->world) ? stage->weight_bytes : 0;
        }
    }
    *done_bytes = *done_bytes < *all_bytes ? *done_bytes : *all_bytes; /* packed forms may be larger */
}

static void show_tick(struct sc_session *session)
{
    const struct sc_session_options *options = &session->options;
    int64_t done_bytes = 0, all_bytes = 0;
    if (!options->show_tick) {
        return;
    }
    const int64_t now_ns = sc_clock_ns();
    if (now_ns - session->shown_ns < SC_TICK_NS) {
        return;
    }
    session->shown_ns = now_ns;
    if (atomic_load_explicit(&session->activity.phase, memory_order_relaxed) == SC_PHASE_LOAD) {
        count_loaded(session, &done_bytes, &all_bytes);
    }
    options->show_tick(options->show_arg, done_bytes, all_bytes);
}

/* Between parts of long kernels messages go on. */
static void progress(void *arg)
{
    struct sc_session *session = arg;
    atomic_fetch_add_explicit(&session->activity.tick, 1, memory_order_relaxed);
    show_tick(session);
    sc_world_progress(session->world);
}

void sc_session_pause(struct sc_session *session, int64_t idle_calls)
{
    atomic_fetch_add_explicit(&session->activity.tick, 1, memory_order_relaxed);
    show_tick(session);
    sc_world_pause(session->world, idle_calls);
}

static enum sc_status make_team(struct sc_session *session)
{
    int seat, n_seats;
    sc_world_seat(session->world, &seat, &n_seats);
    SC_TRY(sc_machine_discover(NULL, &session->machine));
    if (sc_machine_binding_keep(session->machine, &session->binding) != SC_OK) {
        sc_log_write(&session->options.log, SC_LOG_DEBUG, "%s", sc_error_last()->text);
    }
    /* without a launcher a binding is the user's own: a taskset around the program */
    const bool keep = session->options.keep_binding || !sc_world_launched();
    SC_TRY(sc_machine_share(session->machine, seat, n_seats, keep, &session->arena, &session->share));
    const int64_t granted = sc_machine_group_memory(NULL, NULL) / n_seats; /* to all ranks of the host together */
    if (granted > 0 && (session->share.memory_bytes <= 0 || granted < session->share.memory_bytes)) {
        session->share.memory_bytes = granted;
    }
    const int wanted = session->options.n_threads > 0 ? session->options.n_threads : session->share.n_cpus;
    const struct sc_team_options team = {
        .n_workers = wanted > 0 ? wanted : 1, .on_start = bind_worker, .on_start_arg = session};
    SC_TRY(sc_team_create(&team, &session->team));
    sc_team_set_progress(session->team, progress, session);
    return SC_OK;
}

/* How many messages a microbatch takes from one rank to another, at most. */
static enum sc_status count_messages(const struct sc_session *session, struct sc_pipe *pipe, int *most)
{
    const int size = sc_world_size(session->world);
    int *edges = sc_arena_array(&pipe->arena, (size_t)size * (size_t)size, sizeof *edges);
    if (!edges) {
        return SC_NO_MEMORY;
    }
    *most = 1;
    for (int e = 0; e < pipe->n_edges; e++) {
        int *n = &edges[pipe->edges[e].from_rank * size + pipe->edges[e].to_rank];
        *most = ++*n > *most ? *n : *most;
    }
    return SC_OK;
}

/* Enough to keep every stage busy, of those whose messages can wait in the buffers of a link, which all plans share;
 * one for every rank in any case. */
static enum sc_status find_window(const struct sc_session *session, struct sc_pipe *pipe)
{
    int most;
    SC_TRY(count_messages(session, pipe, &most));
    const int n_stages = pipe->plan->n_stages + (pipe > session->pipes); /* handing over is one more */
    const int size = sc_world_size(session->world), waiting = SC_LINK_BUFFERS / 2 / session->n_pipes / most;
    int window = waiting > size ? waiting : size;
    window = window > 2 * n_stages ? 2 * n_stages : window;
    pipe->window = window > SC_MAX_WINDOW ? SC_MAX_WINDOW : window;
    return SC_OK;
}

static enum sc_status prepare(struct sc_session *session)
{
    if (session->options.n_slots > SC_WIRE_SLOTS) {
        return sc_fail(SC_LIMIT, "%d slots, at most %d work", session->options.n_slots, SC_WIRE_SLOTS);
    }
    SC_TRY(sc_model_check_files(session->model)); /* passes read it */
    if (session->options.trace_events > 0) {
        SC_TRY(sc_trace_start(&session->trace, session->options.trace_events));
    }
    SC_TRY(make_team(session));
    const struct sc_pass_options passes = {.given = session->given, .modes = session->modes};
    SC_TRY(sc_pass_functions(session->model));
    SC_TRY(sc_pass_keep_conditions(session->model, session->modes));
    SC_TRY(sc_passes_rewrite(session->model, &passes));
    SC_TRY(sc_planning_mark_states(
        session->model, session->options.n_pairs, session->options.pairs, &session->arena, &session->is_state));
    SC_TRY(sc_passes_run(session->model, session->kernels));
    SC_TRY(sc_session_find_parts(session));
    session->symbol_sizes =
        sc_arena_array(&session->arena, (size_t)session->model->n_symbols + 1, sizeof *session->symbol_sizes);
    return session->symbol_sizes ? SC_OK : SC_NO_MEMORY;
}

/* For the watchdog's thread. */
static const char *name_node(const void *arg, int stage, int node)
{
    const struct sc_session *session = arg;
    for (int p = 0; p < session->n_pipes; p++) {
        const struct sc_stage *here = sc_pipe_stage(&session->pipes[p], stage - session->pipes[p].first_stage);
        const int part = here ? atomic_load_explicit(&here->part, memory_order_relaxed) : 0;
        if (here && node < sc_program_n_steps(here->parts[part].program)) {
            return sc_program_step_name(here->parts[part].program, node);
        }
    }
    return "";
}

enum sc_status sc_session_lay_out(struct sc_session *session)
{
    sc_watchdog_attach(session->options.watchdog, &session->activity, NULL, NULL);
    enum sc_status status = sc_session_build(session);
    for (int p = 0; p < session->n_pipes && status == SC_OK; p++) {
        status = find_window(session, &session->pipes[p]);
    }
    status = status == SC_OK ? sc_session_find_ports(session) : status;
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_WAIT, -1, -1);
    SC_TRY(sc_world_agree(session->world, status));
    sc_watchdog_attach(session->options.watchdog, &session->activity, name_node, session);
    return SC_OK;
}

static enum sc_status open_session(struct sc_session *session)
{
    struct sc_world *world = session->world;
    sc_watchdog_attach(session->options.watchdog, &session->activity, NULL, NULL);
    SC_TRY(sc_session_agree(session));
    SC_TRY(sc_session_share_inputs(session));
    SC_TRY(sc_world_agree(world, prepare(session)));
    SC_TRY(sc_session_gather_memory(session));
    enum sc_status status = SC_OK;
    if (sc_world_rank(world) == 0) {
        status = sc_session_read_defaults(session);
        status = status == SC_OK ? sc_session_make_plans(session) : status;
    }
    SC_TRY(sc_world_agree(world, status));
    SC_TRY(sc_world_broadcast(world, &session->n_pipes, sizeof session->n_pipes));
    for (int p = 0; p < session->n_pipes; p++) {
        SC_TRY(sc_session_share_plan(session, &session->pipes[p]));
    }
    SC_TRY(sc_world_agree(world, sc_session_check_memory(session)));
    return sc_session_lay_out(session);
}

enum sc_status sc_session_open(
    struct sc_world *world, struct sc_model *model, const struct sc_session_options *options, struct sc_session **out)
{
    struct sc_session *session = calloc(1, sizeof *session);
    if (!session) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a session");
    }
    session->world = world;
    session->model = model;
    session->options = *options;
    session->options.n_slots = options->n_slots > 0 ? options->n_slots : 1;
    if (session->options.start_memory_bytes == 0) {
        session->options.start_memory_bytes = sc_memory_peak_bytes();
    }
    const enum sc_status status = open_session(session);
    if (status != SC_OK) {
        sc_session_close(session);
        return status;
    }
    *out = session;
    return SC_OK;
}

void sc_pipe_release(struct sc_pipe *pipe)
{
    for (int e = 0; e < pipe->n_edges && pipe->edges; e++) {
        while (pipe->edges[e].count > 0) {
            sc_edge_pop(&pipe->edges[e]);
        }
        sc_arena_release(&pipe->edges[e].arena);
    }
    for (int s = 0; s < pipe->n_stages; s++) {
        sc_stage_release(&pipe->stages[s]);
    }
    sc_plan_free(pipe->plan);
    sc_arena_release(&pipe->arena);
}

void sc_session_close(struct sc_session *session)
{
    if (!session) {
        return;
    }
    sc_watchdog_detach(session->options.watchdog);
    sc_world_away(session->world, true);
    for (; session->n_mail > 0; session->n_mail--) {
        struct sc_mail *mail = &session->mail[session->mail_head++ % SC_MAIL];
        sc_link_give_back(mail->link, &mail->received);
    }
    for (int p = session->n_pipes - 1; p >= 0; p--) { /* later ones use weights and states of the first */
        sc_pipe_release(&session->pipes[p]);
    }
    sc_trace_release(&session->trace);
    sc_team_free(session->team);
    sc_machine_binding_restore(session->machine, session->binding);
    sc_machine_free(session->machine);
    sc_arena_release(&session->submit_arena);
    sc_arena_release(&session->tail_arena);
    sc_arena_release(&session->arena);
    free(session);
}

const struct sc_plan *sc_session_plan(const struct sc_session *session)
{
    return session->pipes[0].plan;
}

const struct sc_plan *sc_session_prefill_plan(const struct sc_session *session)
{
    return session->n_pipes > 1 ? session->pipes[1].plan : NULL;
}

int sc_session_n_stages(const struct sc_session *session)
{
    const struct sc_pipe *last = &session->pipes[session->n_pipes - 1];
    return last->first_stage + last->plan->n_stages;
}

const struct sc_fact *sc_session_facts(const struct sc_session *session)
{
    return session->facts;
}

const bool *sc_session_is_state(const struct sc_session *session)
{
    return session->is_state;
}

int sc_session_threads(const struct sc_session *session)
{
    return sc_team_size(session->team);
}

enum sc_status sc_session_write_trace(struct sc_session *session, const char *path)
{
    return session->trace.events ? sc_trace_write(session, path) : SC_OK;
}

int sc_session_window(const struct sc_session *session)
{
    return session->pipes[0].window;
}

int sc_session_prefill_window(const struct sc_session *session)
{
    return session->pipes[session->n_pipes - 1].window;
}

int64_t sc_session_read_weight_bytes(const struct sc_session *session)
{
    int64_t bytes = 0;
    for (int p = 0; p < session->n_pipes; p++) {
        for (int s = 0; s < session->pipes[p].n_stages; s++) {
            const struct sc_stage *stage = &session->pipes[p].stages[s];
            for (int part = 0; part < stage->n_parts; part++) {
                bytes += sc_frame_read_weight_bytes(stage->parts[part].frame);
            }
        }
    }
    return bytes;
}

int sc_session_steps_writing_dim(const struct sc_session *session, int64_t dim)
{
    int n = 0;
    for (int p = 0; p < session->n_pipes; p++) {
        for (int s = 0; s < session->pipes[p].n_stages; s++) {
            const struct sc_stage *stage = &session->pipes[p].stages[s];
            for (int part = 0; part < stage->n_parts; part++) {
                n += sc_frame_steps_writing_dim(stage->parts[part].frame, dim);
            }
        }
    }
    return n;
}
