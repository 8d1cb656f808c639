/* SPDX-License-Identifier: Apache-2.0
 * Recording phases, and bringing them together at the end. */
#include "runtime/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/parcel.h"
#include "runtime/stage.h"

#define SC_ROUND_TRIPS 16

/* What a rank sends beside its events. */
struct sc_trace_head {
    int64_t n, n_dropped, offset_ns; /* its clock minus rank 0's */
    char host[64];
};

enum sc_status sc_trace_start(struct sc_trace *trace, int64_t capacity)
{
    trace->events = calloc((size_t)capacity, sizeof *trace->events);
    if (!trace->events) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a trace of %" PRId64 " events", capacity);
    }
    trace->capacity = capacity;
    return SC_OK;
}

void sc_trace_release(struct sc_trace *trace)
{
    free(trace->events);
    memset(trace, 0, sizeof *trace);
}

void sc_trace_enter(struct sc_trace *trace, struct sc_activity *activity, enum sc_phase phase, int stage, int64_t seq)
{
    const struct sc_trace_event left = {.start_ns = atomic_load_explicit(&activity->since_ns, memory_order_relaxed),
        .seq = atomic_load_explicit(&activity->seq, memory_order_relaxed),
        .phase = atomic_load_explicit(&activity->phase, memory_order_relaxed),
        .stage = atomic_load_explicit(&activity->stage, memory_order_relaxed)};
    sc_activity_enter(activity, phase, stage, seq);
    if (!trace->events || left.start_ns == 0 || left.phase == SC_PHASE_IDLE) {
        return;
    }
    if (trace->n == trace->capacity) {
        trace->n_dropped++;
        return;
    }
    trace->events[trace->n] = left;
    trace->events[trace->n++].end_ns = atomic_load_explicit(&activity->since_ns, memory_order_relaxed);
}

static enum sc_status send_bytes(struct sc_session *session, int peer, const void *data, size_t bytes)
{
    struct sc_value value;
    sc_wire_bytes_value(data, bytes, &value);
    return sc_parcel_send(session, peer, SC_WIRE_CONTROL, &value);
}

/* Rank 0 asks a peer for its clock; the fastest answer is the truest. */
static enum sc_status measure_offset(struct sc_session *session, int peer, int64_t *offset_ns)
{
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < SC_ROUND_TRIPS; i++) {
        const int64_t sent = sc_clock_ns();
        int64_t there;
        SC_TRY(send_bytes(session, peer, &sent, sizeof sent));
        SC_TRY(sc_parcel_take(session, peer, &there, sizeof there));
        const int64_t came = sc_clock_ns();
        if (came - sent < fastest) {
            fastest = came - sent;
            *offset_ns = there - (sent + came) / 2;
        }
    }
    return SC_OK;
}

static enum sc_status answer(struct sc_session *session)
{
    for (int i = 0; i < SC_ROUND_TRIPS; i++) {
        int64_t asked;
        SC_TRY(sc_parcel_take(session, 0, &asked, sizeof asked));
        const int64_t now = sc_clock_ns();
        SC_TRY(send_bytes(session, 0, &now, sizeof now));
    }
    return SC_OK;
}

static void fill_head(const struct sc_trace *trace, struct sc_trace_head *head)
{
    memset(head, 0, sizeof *head);
    head->n = trace->n;
    head->n_dropped = trace->n_dropped;
    if (gethostname(head->host, sizeof head->host - 1) != 0) {
        head->host[0] = '\0';
    }
    for (char *c = head->host; *c; c++) { /* it goes into JSON as it is */
        *c = *c == '"' || *c == '\\' || (unsigned char)*c < 32 ? '_' : *c;
    }
}

static enum sc_status send_mine(struct sc_session *session)
{
    const struct sc_trace *trace = &session->trace;
    struct sc_trace_head head;
    fill_head(trace, &head);
    SC_TRY(answer(session));
    SC_TRY(send_bytes(session, 0, &head, sizeof head));
    return send_bytes(session, 0, trace->events, (size_t)trace->n * sizeof *trace->events);
}

static void print_rank(
    FILE *out, int rank, const struct sc_trace_head *head, const struct sc_trace_event *events, int64_t origin_ns)
{
    fprintf(out, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d on %s\"}}",
        rank ? ",\n" : "", rank, rank, head->host);
    for (int64_t e = 0; e < head->n; e++) {
        const int64_t start = events[e].start_ns - head->offset_ns - origin_ns;
        fprintf(out,
            ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"stage\":%d,\"microbatch\":%" PRId64 "}}",
            sc_phase_name((enum sc_phase)events[e].phase), rank, (double)start / 1e3,
            (double)(events[e].end_ns - events[e].start_ns) / 1e3, events[e].stage, events[e].seq);
    }
    if (head->n_dropped) {
        fprintf(out,
            ",\n{\"name\":\"%" PRId64 " events did not fit\",\"ph\":\"i\",\"pid\":%d,\"tid\":0,\"ts\":0,\"s\":\"p\"}",
            head->n_dropped, rank);
    }
}

static enum sc_status print_peer(struct sc_session *session, int peer, int64_t origin_ns, FILE *out)
{
    struct sc_trace_head head;
    int64_t offset_ns = 0;
    SC_TRY(measure_offset(session, peer, &offset_ns));
    SC_TRY(sc_parcel_take(session, peer, &head, sizeof head));
    head.host[sizeof head.host - 1] = '\0';
    head.offset_ns = offset_ns;
    if (head.n < 0 || head.n > INT32_MAX) {
        return sc_fail(SC_PEER, "rank %d says that it has %" PRId64 " events", peer, head.n);
    }
    struct sc_trace_event *events = malloc((size_t)head.n * sizeof *events + 1);
    if (!events) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %" PRId64 " events of rank %d", head.n, peer);
    }
    const enum sc_status status = sc_parcel_take(session, peer, events, (size_t)head.n * sizeof *events);
    if (status == SC_OK) {
        print_rank(out, peer, &head, events, origin_ns);
    }
    free(events);
    return status;
}

static enum sc_status write_all(struct sc_session *session, const char *path)
{
    const struct sc_trace *trace = &session->trace;
    struct sc_trace_head head;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the trace's text");
    }
    const int64_t origin_ns = trace->n ? trace->events[0].start_ns : sc_clock_ns();
    enum sc_status status = SC_OK;
    fill_head(trace, &head);
    fprintf(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    print_rank(out, 0, &head, trace->events, origin_ns);
    for (int peer = 1; peer < sc_world_size(session->world) && status == SC_OK; peer++) {
        status = print_peer(session, peer, origin_ns, out);
    }
    fprintf(out, "\n]}\n");
    if (fclose(out) != 0 && status == SC_OK) {
        status = sc_fail(SC_NO_MEMORY, "out of memory for the trace's text");
    }
    if (status == SC_OK) {
        status = sc_file_write(path, text, bytes);
    }
    free(text);
    return status;
}

enum sc_status sc_trace_write(struct sc_session *session, const char *path)
{
    const bool root = sc_world_rank(session->world) == 0;
    return sc_world_agree(session->world, root ? write_all(session, path) : send_mine(session));
}
