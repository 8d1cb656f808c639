/* SPDX-License-Identifier: Apache-2.0
 * How many rows the next chunk of a prompt has. The number depends on times, so nothing but the chunk may depend on
 * it. */
#include "decode/schedule_parts.h"

void sc_schedule_note_time(struct sc_schedule *schedule, const struct sc_flight *flight)
{
    if (!flight->encodes) {
        const int64_t slowest_ns = sc_session_slowest_ns(schedule->session);
        sc_pace_note(&schedule->pace, flight->step, flight->n_new, slowest_ns);
    }
}

static int count_ranks(const struct sc_plan *plan)
{
    int n = 0;
    for (int s = 0; s < plan->n_stages; s++) {
        bool first = true;
        for (int t = 0; t < s && first; t++) {
            first = plan->stages[t].ranks[0] != plan->stages[s].ranks[0];
        }
        n += first;
    }
    return n;
}

static void add_ready(const struct sc_schedule *schedule, struct sc_pace_traffic *traffic)
{
    struct sc_pace_flight step = {.step = true, .token_ns = traffic->now_ns};
    for (int s = 0; s < schedule->n_slots; s++) {
        const struct sc_lane *lane = &schedule->lanes[s];
        if (sc_lane_is_ready(lane)) {
            step.n_rows++;
            step.token_ns = lane->token_ns < step.token_ns ? lane->token_ns : step.token_ns;
        }
    }
    if (step.n_rows > 0) {
        traffic->flights[traffic->n_back + traffic->n_flights] = step;
        traffic->n_ready = 1;
    }
}

static void describe(const struct sc_schedule *schedule, struct sc_pace_traffic *traffic)
{
    const struct sc_plan *plan = sc_session_plan(schedule->session);
    const struct sc_flights *flights = &schedule->flights[0];
    const int n_ranks = count_ranks(plan);
    *traffic = (struct sc_pace_traffic){
        .now_ns = sc_clock_ns(), .n_ranks = n_ranks, .n_rounds = (plan->n_stages + n_ranks - 1) / n_ranks};
    const int64_t kept = flights->sent < SC_MOST_FLIGHTS ? flights->sent : SC_MOST_FLIGHTS;
    traffic->n_flights = (int)(flights->sent - flights->received);
    traffic->n_back = (int)kept - traffic->n_flights;
    for (int64_t i = 0; i < kept; i++) {
        const struct sc_flight *flight = &flights->ring[(flights->sent - kept + i) % SC_MOST_FLIGHTS];
        traffic->flights[i] = (struct sc_pace_flight){.step = flight->step,
            .n_rows = flight->n_new,
            .sent_ns = flight->sent_ns,
            .back_ns = flight->back_ns,
            .token_ns = flight->token_ns};
    }
    add_ready(schedule, traffic);
}

int64_t sc_schedule_chunk_rows(const struct sc_schedule *schedule, int64_t left, int n_running)
{
    const struct sc_decoder_options *options = &schedule->decoder->options;
    const int64_t most = left < options->chunk ? left : options->chunk;
    struct sc_pace_traffic traffic;
    if (options->max_tbt_ns == 0 || n_running == 0 || schedule->split) {
        return most;
    }
    describe(schedule, &traffic);
    return sc_pace_rows(&schedule->pace, &traffic, options->max_tbt_ns, most);
}
