/* SPDX-License-Identifier: Apache-2.0
 * A model without recorded data: all ranks against one. */
#ifndef SC_LAUNCH_VERIFY_ONE_H
#define SC_LAUNCH_VERIFY_ONE_H

#include "launch/app.h"
#include "launch/verify_case.h"

/* Runs the model on made inputs, as the command line says on all ranks and as one stage on rank 0, which then holds the
 * whole model: every bit of every output must be the same. Else fails with SC_BAD_INPUT, naming the first value inside
 * that differs, its node, stage, rank and element. SC_BAD_USAGE when one rank with one stage is all there is.
 * Collective. */
enum sc_status sc_verify_one(
    struct sc_app *app, const char *path, struct sc_json *report, struct sc_verify_result *result);

#endif
