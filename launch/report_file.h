/* SPDX-License-Identifier: Apache-2.0
 * --report FILE: what a job was, what was planned for it and what it did, as JSON. docs/REPORT.md tells every field. */
#ifndef SC_LAUNCH_REPORT_FILE_H
#define SC_LAUNCH_REPORT_FILE_H

#include "base/json.h"
#include "launch/app.h"

/* open ──► (model is loaded) ready ──► (run) ran ──► the command adds to `root` ──► write ──► release
 * `root` is NULL without --report and on other ranks than 0; the calls then do nothing. */
struct sc_report_file {
    const char *path;
    struct sc_json *root;
    int64_t start_ns, ready_ns, ran_ns;
};

/* Fails with SC_IO when no file can be made at that path. */
enum sc_status sc_report_file_open(const struct sc_app *app, struct sc_report_file *file);
void sc_report_file_ready(struct sc_report_file *file);
void sc_report_file_ran(struct sc_report_file *file);
enum sc_status sc_report_file_write(struct sc_report_file *file); /* timings too */
void sc_report_file_release(struct sc_report_file *file); /* safe on zeros */

/* What was measured: of every rank of the job and every stage of the plan. */
struct sc_measured {
    int n_ranks;
    const struct sc_rank_report *ranks;
    const struct sc_stage_report *stages;
};

/* Model, plan and ranks of a session, into an object. */
enum sc_status sc_report_file_add(struct sc_json *document, const struct sc_session *session,
    const struct sc_model *model, const struct sc_measured *measured);

#endif
