/* SPDX-License-Identifier: Apache-2.0
 * stagecoach verify: folders of a model and recorded data sets, and models alone, any number of them in one job. */
#include <inttypes.h>
#include <stdio.h>

#include "launch/app.h"
#include "launch/recorded.h"
#include "launch/report_file.h"
#include "launch/verify_case.h"
#include "launch/verify_one.h"

struct sc_verifier {
    struct sc_app *app;
    struct sc_verify_options options;
    bool print_bits;
    struct sc_names cases; /* folders */
    struct sc_names alone; /* models without recorded data */
    struct sc_arena arena;
    int64_t passed, failed, skipped;
    int stages_used; /* the most */
    struct sc_report_file report;
    struct sc_json *reported; /* the list of cases in it; NULL: no report here */
};

/* BITS digest, N runs, stages 1 2 3: folder */
static void print_bits(const char *folder, const struct sc_verify_result *result)
{
    printf("BITS %016" PRIx64 ", %d run%s, stages", result->bits, result->n_runs, result->n_runs == 1 ? "" : "s");
    for (int n = 0; n <= SC_VERIFY_STAGES; n++) {
        if (result->stages_seen[n]) {
            printf(" %d", n);
        }
    }
    printf(": %s\n", folder);
}

static void tell(
    struct sc_verifier *verifier, const char *folder, enum sc_status status, const struct sc_verify_result *result)
{
    if (status == SC_OK) {
        verifier->passed++;
        if (verifier->print_bits) {
            print_bits(folder, result);
        }
    } else if (status == SC_UNSUPPORTED) {
        verifier->skipped++;
        printf("SKIP %s: %s\n", folder, sc_error_last()->text);
    } else {
        verifier->failed++;
        printf("FAIL %s: %s\n", folder, sc_error_last()->text);
    }
}

/* The case's name and result, beside what its session has added. */
static enum sc_status report_case(struct sc_json *at, const char *folder, enum sc_status status)
{
    const char *result = status == SC_OK ? "passed" : status == SC_UNSUPPORTED ? "skipped" : "failed";
    SC_TRY(sc_json_add_text(at, "folder", folder));
    SC_TRY(sc_json_add_text(at, "result", result));
    return status == SC_OK ? SC_OK : sc_json_add_text(at, "message", sc_error_last()->text);
}

static enum sc_status open_report(struct sc_verifier *verifier)
{
    SC_TRY(sc_report_file_open(verifier->app, &verifier->report));
    struct sc_json *root = verifier->report.root;
    return root ? sc_json_add(root, "cases", true, &verifier->reported) : SC_OK;
}

/* What the command line has wrong is no verdict on a model: options, dims without a size, the file of --plan. */
static bool is_mine(const struct sc_verifier *verifier, enum sc_status status, const struct sc_verify_result *result)
{
    const bool plan = sc_options_text(verifier->app->options, "plan") && !result->opened;
    return status == SC_BAD_USAGE || (plan && (status == SC_BAD_INPUT || status == SC_IO));
}

/* Options that would do nothing are refused. */
static enum sc_status check_options(const struct sc_verifier *verifier)
{
    static const struct {
        const char *name;
        bool recorded; /* is of models with recorded data; else of those without */
    } rows[] = {{"plans", true}, {"state", true}, {"rtol", true}, {"atol", true}, {"ltol", true}, {"dim", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool used = rows[i].recorded ? verifier->cases.n > 0 : verifier->alone.n > 0;
        if (sc_options_given(verifier->app->options, rows[i].name) && !used) {
            return sc_fail(SC_BAD_USAGE, "option '--%s' is for models %s recorded data, and '%s' is none", rows[i].name,
                rows[i].recorded ? "with" : "without", verifier->app->options->arguments[0]);
        }
    }
    return SC_OK;
}

/* One case on all ranks; a failure of it is told, and is none of the job. `path` is a folder with data sets, or else a
 * model to be run on all ranks and on one. */
static enum sc_status take_case(struct sc_verifier *verifier, const char *path, bool recorded)
{
    struct sc_app *app = verifier->app;
    struct sc_json *at = NULL;
    struct sc_verify_result result;
    SC_TRY(verifier->reported ? sc_json_add(verifier->reported, NULL, false, &at) : SC_OK);
    const enum sc_status status =
        recorded ? sc_verify_case(app, &verifier->options, path, at, &result) : sc_verify_one(app, path, at, &result);
    if (is_mine(verifier, status, &result)) {
        return sc_fail_in("'%s'", path);
    }
    verifier->stages_used = result.most_stages > verifier->stages_used ? result.most_stages : verifier->stages_used;
    sc_progress_clear(&app->progress);
    SC_TRY(at ? report_case(at, path, status) : SC_OK);
    if (sc_app_is_root(app)) {
        tell(verifier, path, status, &result);
    }
    return SC_OK;
}

static void print_last_line(const struct sc_verifier *verifier)
{
    fprintf(stderr, "stages used: up to %d on %d ranks\n", verifier->stages_used, sc_world_size(verifier->app->world));
    printf("%" PRId64 " passed, %" PRId64 " failed", verifier->passed, verifier->failed);
    if (verifier->skipped) {
        printf(", %" PRId64 " skipped", verifier->skipped);
    }
    printf("\n");
}

static enum sc_status verify_all(struct sc_verifier *verifier)
{
    struct sc_app *app = verifier->app;
    struct sc_names *cases = &verifier->cases, *alone = &verifier->alone;
    for (int i = 0; i < app->options->n_arguments; i++) {
        const char *path = app->options->arguments[i];
        const bool root = sc_app_is_root(app);
        SC_TRY(sc_world_agree(app->world, root ? sc_recorded_find(&verifier->arena, path, cases, alone) : SC_OK));
    }
    SC_TRY(sc_recorded_share(app->world, &verifier->arena, cases));
    SC_TRY(sc_recorded_share(app->world, &verifier->arena, alone));
    SC_TRY(check_options(verifier));
    SC_TRY(sc_world_agree(app->world, open_report(verifier)));
    sc_app_opened(app, "verifying", cases->n + alone->n);
    for (int c = 0; c < cases->n + alone->n; c++) {
        const bool recorded = c < cases->n;
        SC_TRY(take_case(verifier, recorded ? cases->name[c] : alone->name[c - cases->n], recorded));
        sc_progress_set(&app->progress, c + 1);
    }
    sc_progress_end(&app->progress);
    if (sc_app_is_root(app)) {
        print_last_line(verifier);
    }
    SC_TRY(sc_report_file_write(&verifier->report));
    if (verifier->failed == 0) {
        return SC_OK;
    }
    sc_error_last()->text[0] = '\0'; /* failures have had their lines */
    return SC_INTERNAL;
}

enum sc_status sc_command_verify(struct sc_app *app)
{
    const struct sc_options *options = app->options;
    struct sc_verifier verifier = {.app = app, .print_bits = sc_options_flag(options, "bits")};
    verifier.options.tolerance = (struct sc_tolerance){.relative = sc_options_real(options, "rtol"),
        .absolute = sc_options_real(options, "atol"),
        .of_largest = sc_options_real(options, "ltol")};
    verifier.options.n_plans = sc_options_given(options, "plans") ? (int)sc_options_int(options, "plans") : -1;
    verifier.options.n_states = sc_options_list(options, "state", &verifier.options.states);
    const enum sc_status status = verify_all(&verifier);
    sc_report_file_release(&verifier.report);
    sc_names_release(&verifier.cases);
    sc_names_release(&verifier.alone);
    sc_arena_release(&verifier.arena);
    return status;
}
