/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/hearing.h"

void sc_hearing_begin(struct sc_hearing *hearing, struct sc_request *request)
{
    if (!hearing->path || hearing->begin->n_languages == 0) {
        return;
    }
    request->prompt = hearing->prompt;
    hearing->after = *request;
    hearing->listens = true;
    request->n_prompt = SC_BEGIN_LANGUAGE;
    request->n_predict = 1;
    request->n_eos = 0;
    request->last = NULL;
    request->sample = (struct sc_sample_options){.top_p = 1};
    request->among = hearing->begin->languages;
    request->n_among = hearing->begin->n_languages;
}

bool sc_hearing_token(struct sc_hearing *hearing, int64_t token)
{
    const struct sc_begin *begin = hearing->begin;
    for (int l = 0; hearing->listens && l < begin->n_languages; l++) {
        hearing->language = begin->languages[l] == token ? begin->language_names[l] : hearing->language;
    }
    if (hearing->listens) {
        hearing->prompt[SC_BEGIN_LANGUAGE] = token;
    }
    return hearing->listens;
}

/* What the caller set, again: what the schedule keeps in a request starts anew when it is added. */
static void find_text(struct sc_hearing *hearing, struct sc_request *request)
{
    hearing->listens = false;
    *request = hearing->after;
    sc_log_write(hearing->log, SC_LOG_INFO, "'%s': the language found is %s", hearing->path, hearing->language);
}

static bool is_whole(enum sc_stop stop)
{
    return stop == SC_STOP_EOS || stop == SC_STOP_LENGTH || stop == SC_STOP_CONTEXT;
}

bool sc_hearing_goes_on(struct sc_hearing *hearing, struct sc_request *request)
{
    if (!hearing->path) {
        return false;
    }
    if (hearing->listens) {
        if (request->stop == SC_STOP_LENGTH) {
            find_text(hearing, request);
            return true;
        }
        request->n_made = 0;
        return false;
    }
    hearing->n_made += request->n_made;
    hearing->begun_ns = hearing->at == 0 ? request->begun_ns : hearing->begun_ns;
    hearing->first_ns = hearing->at == 0 ? request->first_ns : hearing->first_ns;
    if (is_whole(request->stop) && hearing->at + 1 < hearing->n_windows) {
        request->source.features = &hearing->windows[++hearing->at];
        return true;
    }
    request->n_made = hearing->n_made;
    request->begun_ns = hearing->begun_ns;
    request->first_ns = hearing->first_ns;
    return false;
}
