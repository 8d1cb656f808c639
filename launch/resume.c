/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/resume.h"

#include "base/file.h"
#include "decode/state_file.h"

enum sc_status sc_resume_read(const struct sc_options *options, bool many, struct sc_resume *resume)
{
    resume->load = sc_options_text(options, "load-state");
    resume->save = sc_options_text(options, "save-state");
    resume->plan = sc_options_text(options, "plan2");
    resume->replan_at = sc_options_int(options, "replan-at");
    if (many && (resume->load || resume->save)) {
        return sc_fail(SC_BAD_USAGE, "option '%s' is for one text, not for a file of requests",
            resume->load ? "--load-state" : "--save-state");
    }
    if (!resume->plan != !sc_options_given(options, "replan-at")) {
        return sc_fail(SC_BAD_USAGE, "options '--replan-at' and '--plan2' go together");
    }
    return SC_OK;
}

void sc_resume_release(struct sc_resume *resume)
{
    sc_state_file_close(resume->file);
    resume->file = NULL;
}

enum sc_status sc_resume_open(
    struct sc_resume *resume, const struct sc_decoder *decoder, const int64_t **tokens, int64_t *n)
{
    *n = 0;
    if (!resume->load) {
        return SC_OK;
    }
    const struct sc_state_owner owner = sc_decoder_states(decoder);
    SC_TRY(sc_state_file_open(resume->load, &owner, &resume->file));
    *tokens = sc_state_file_tokens(resume->file, n);
    return SC_OK;
}

enum sc_status sc_resume_check(const struct sc_resume *resume, struct sc_decoder *decoder)
{
    return resume->plan ? sc_session_check_plan(sc_decoder_session(decoder), resume->plan) : SC_OK;
}

enum sc_status sc_resume_begin(struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    struct sc_session *session = sc_decoder_session(decoder);
    int slot;
    int64_t n;
    if (!resume->file) {
        return SC_OK;
    }
    const int64_t *tokens = sc_state_file_tokens(resume->file, &n);
    const struct sc_held_text text = {.tokens = tokens,
        .n = n,
        .n_held = sc_state_file_length(resume->file),
        .n_source = sc_state_file_source(resume->file)};
    SC_TRY(sc_schedule_hold(schedule, &text, &slot));
    const enum sc_status status = sc_state_file_restore(resume->file, session, slot);
    sc_resume_release(resume);
    return status;
}

enum sc_status sc_resume_turn(
    struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule, int64_t n_made)
{
    if (!resume->plan || resume->replanned || n_made < resume->replan_at) {
        return SC_OK;
    }
    resume->replanned = true;
    SC_TRY(sc_schedule_settle(schedule));
    return sc_session_replan(sc_decoder_session(decoder), resume->plan);
}

enum sc_status sc_resume_end(const struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule,
    const struct sc_request *request)
{
    const struct sc_state_owner owner = sc_decoder_states(decoder);
    int64_t n_text, n_held;
    if (!resume->save) {
        return SC_OK;
    }
    const int64_t *text = sc_schedule_text(schedule, request->slot, &n_text, &n_held);
    return sc_state_file_save(resume->save, &owner, sc_decoder_session(decoder), request->slot, text, n_text);
}
