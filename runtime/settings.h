/* SPDX-License-Identifier: Apache-2.0
 * The options of a session by name: one meaning for the command line and for the library. */
#ifndef SC_RUNTIME_SETTINGS_H
#define SC_RUNTIME_SETTINGS_H

#include "runtime/option_value.h"
#include "runtime/session.h"

/* What each may be: type, argument, default, minimum, maximum. */
#define SC_SETTING_PP SC_OPTION_INT, "N", "0", 0, 4096
#define SC_SETTING_PLAN SC_OPTION_TEXT, "FILE", NULL, 0, 0
#define SC_SETTING_RANDOM_PLAN SC_OPTION_INT, "SEED", NULL, 0, 1 << 30
#define SC_SETTING_PIN SC_OPTION_INT, "RANK", NULL, 0, 4095
#define SC_SETTING_OVERRIDE SC_OPTION_TEXT, "NAMES", NULL, 0, 0
#define SC_SETTING_MEMORY SC_OPTION_SIZE, "BYTES", "0", 0, 9e15
#define SC_SETTING_THREADS SC_OPTION_INT, "N", "0", 0, 4096
#define SC_SETTING_GEMM SC_OPTION_CHOICE, "own|blas", "own", 0, 0
#define SC_SETTING_BIND SC_OPTION_CHOICE, "spread|keep", "spread", 0, 0
#define SC_SETTING_SEED SC_OPTION_INT, "S", "0", 0, 9e15

struct sc_setting {
    const char *name; /* as on the command line, without dashes */
    enum sc_option_type type;
    const char *argument, *otherwise; /* otherwise: the default, as it would be typed; NULL: none */
    double minimum, maximum;
    void (*apply)(struct sc_session_options *session, const struct sc_option_read *value);
};

const struct sc_setting *sc_settings(int *n);

/* Every setting at its default; the rest zeros, and no log. */
void sc_session_options_init(struct sc_session_options *session);

/* Reads and applies one. Texts are borrowed. Fails with SC_BAD_USAGE for an unknown name or a value that does not fit;
 * *session is then as before. */
enum sc_status sc_session_options_set(struct sc_session_options *session, const char *name, const char *text);

#endif
