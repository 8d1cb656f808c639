/* SPDX-License-Identifier: Apache-2.0
 * A plan as a table for people. */
#ifndef SC_PARTITIONER_REPORT_H
#define SC_PARTITIONER_REPORT_H

#include "partitioner/plan.h"

/* One line a stage: its rank, nodes, bytes, time (of a decoder's step and of its chunk) with a bar for its share of the
 * slowest; values that come in and go out below; at the end the total, the bound and the gap. ASCII, lines end with a
 * newline. facts (one per value, dims closed or not) give the bytes of values; NULL: they are not shown. is_state as
 * for sc_plan_edges. The text is in the arena. */
enum sc_status sc_plan_table(const struct sc_plan *plan, const struct sc_model *model, const struct sc_graph *graph,
    const struct sc_fact *facts, const bool *is_state, struct sc_arena *arena, const char **text);

/* "1.23 ms", of a decoder "1.23 ms a step, 45.6 ms a chunk". Returns buffer. */
char *sc_stage_time_text(const struct sc_plan_stage *stage, char *buffer, size_t buffer_bytes);

/* What the load of the plan's stages is of: " for a step and a chunk", or "" where microbatches are alike. */
const char *sc_plan_of_what(const struct sc_plan *plan);

/* "12.3 MiB", "512 B"; "-" for 0. Returns buffer. */
char *sc_bytes_text(int64_t n_bytes, char *buffer, size_t buffer_bytes);

/* "1.23 s", "45.6 ms", "7.89 us". Returns buffer. */
char *sc_seconds_text(double seconds, char *buffer, size_t buffer_bytes);

#endif
