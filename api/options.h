/* SPDX-License-Identifier: Apache-2.0
 * What options of the public header hold; for the files of api/ alone. */
#ifndef SC_API_OPTIONS_H
#define SC_API_OPTIONS_H

#include "include/stagecoach.h"
#include "runtime/settings.h"

struct sc_run_options {
    struct sc_session_options session;
    struct sc_arena arena; /* texts */
};

#endif
