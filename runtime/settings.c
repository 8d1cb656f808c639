/* SPDX-License-Identifier: Apache-2.0
 * One row per option: what may be given is in the header, what it means to a session is here. */
#include "runtime/settings.h"

#include <assert.h>
#include <string.h>

static void apply_pp(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->n_stages = (int)value->integer;
}

static void apply_plan(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->plan_path = value->text;
}

static void apply_random_plan(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->random_plan = true;
    session->plan_seed = (uint64_t)value->integer;
}

static void apply_pin(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->pin = (int)value->integer;
}

static void apply_override(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->override = value->text;
}

static void apply_memory(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->memory_bytes = value->integer;
}

static void apply_threads(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->n_threads = (int)value->integer;
}

static void apply_gemm(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->blas = value->integer == 1;
}

static void apply_bind(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->keep_binding = value->integer == 1;
}

static void apply_seed(struct sc_session_options *session, const struct sc_option_read *value)
{
    session->seed = (uint64_t)value->integer;
}

static const struct sc_setting settings[] = {
    {"pp", SC_SETTING_PP, apply_pp},
    {"plan", SC_SETTING_PLAN, apply_plan},
    {"random-plan", SC_SETTING_RANDOM_PLAN, apply_random_plan},
    {"pin", SC_SETTING_PIN, apply_pin},
    {"override", SC_SETTING_OVERRIDE, apply_override},
    {"memory", SC_SETTING_MEMORY, apply_memory},
    {"threads", SC_SETTING_THREADS, apply_threads},
    {"gemm", SC_SETTING_GEMM, apply_gemm},
    {"bind", SC_SETTING_BIND, apply_bind},
    {"seed", SC_SETTING_SEED, apply_seed},
};

const struct sc_setting *sc_settings(int *n)
{
    *n = (int)(sizeof settings / sizeof settings[0]);
    return settings;
}

static enum sc_status set(struct sc_session_options *session, const struct sc_setting *setting, const char *text)
{
    const struct sc_option_domain domain = {setting->type, setting->argument, setting->minimum, setting->maximum};
    struct sc_option_read value = {0};
    SC_TRY(sc_option_read(&domain, setting->name, text, &value));
    setting->apply(session, &value);
    return SC_OK;
}

void sc_session_options_init(struct sc_session_options *session)
{
    *session = (struct sc_session_options){.pin = -1, .log = {.fd = -1, .rank = -1}};
    int n;
    const struct sc_setting *rows = sc_settings(&n);
    for (int i = 0; i < n; i++) {
        const enum sc_status status = rows[i].otherwise ? set(session, &rows[i], rows[i].otherwise) : SC_OK;
        assert(status == SC_OK);
        (void)status;
    }
}

enum sc_status sc_session_options_set(struct sc_session_options *session, const char *name, const char *text)
{
    int n;
    const struct sc_setting *rows = sc_settings(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return set(session, &rows[i], text);
        }
    }
    return sc_fail(SC_BAD_USAGE, "unknown option '%.60s'", name);
}
