/* SPDX-License-Identifier: Apache-2.0
 * For one text every post-processor amounts to ids before and ids after; each one in a Sequence goes around the last.
 */
#include "text/postprocess.h"

#include <string.h>

#include "text/steps.h"

enum { MAX_IDS = sizeof((struct sc_surround *)0)->ids / sizeof(int64_t) };

static enum sc_status insert(struct sc_surround *surround, size_t at, int64_t id)
{
    if (surround->n == MAX_IDS) {
        return sc_fail(SC_UNSUPPORTED, "more than %d special tokens around a text", MAX_IDS);
    }
    if (id < 0 || id > SC_MAX_TOKEN_ID) {
        return sc_fail(SC_BAD_MODEL, "a special token of the post-processor has id %lld", (long long)id);
    }
    memmove(surround->ids + at + 1, surround->ids + at, (surround->n - at) * sizeof(int64_t));
    surround->ids[at] = id;
    surround->n++;
    return SC_OK;
}

/* The ids that {"SpecialToken": {"id": NAME}} stands for. */
static enum sc_status add_special(
    const struct sc_json *table, const char *name, struct sc_surround *surround, size_t *at)
{
    const struct sc_json *const ids = sc_json_get(sc_json_get(table, name), "ids");
    if (!sc_json_is_array(ids)) {
        return sc_fail(SC_BAD_MODEL, "post-processor TemplateProcessing: special token '%.60s' has no ids", name);
    }
    for (size_t i = 0; i < sc_json_size(ids); i++) {
        SC_TRY(insert(surround, (*at)++, sc_json_int(sc_json_at(ids, i), -1)));
    }
    return SC_OK;
}

static enum sc_status read_template(const struct sc_json *node, struct sc_surround *surround)
{
    const struct sc_json *const table = sc_json_get(node, "special_tokens");
    const struct sc_json *const pieces = sc_json_get(node, "single");
    size_t n_sequences = 0;
    size_t at = 0;
    for (size_t i = 0; i < sc_json_size(pieces); i++) {
        const struct sc_json *const piece = sc_json_at(pieces, i);
        const char *const name = sc_json_text(sc_json_get(sc_json_get(piece, "SpecialToken"), "id"), NULL);
        const char *const sequence = sc_json_text(sc_json_get(sc_json_get(piece, "Sequence"), "id"), NULL);
        if (name != NULL) {
            const size_t before = at;
            SC_TRY(add_special(table, name, surround, &at));
            surround->n_before += n_sequences == 0 ? at - before : 0;
        } else if (sequence != NULL && strcmp(sequence, "A") == 0) {
            n_sequences++;
            at = surround->n; /* behind what earlier post-processors put after the text */
        } else {
            return sc_fail(SC_BAD_MODEL, "post-processor TemplateProcessing: piece %zu of 'single' is unknown", i);
        }
    }
    if (n_sequences != 1) {
        return sc_fail(SC_UNSUPPORTED, "post-processor TemplateProcessing: 'single' has the text %zu times, want once",
            n_sequences);
    }
    return SC_OK;
}

/* "cls": ["<s>", 0], "sep": ["</s>", 2] */
static enum sc_status read_pair(const struct sc_json *node, struct sc_surround *surround)
{
    const struct sc_json *const cls = sc_json_at(sc_json_get(node, "cls"), 1);
    const struct sc_json *const sep = sc_json_at(sc_json_get(node, "sep"), 1);
    SC_TRY(insert(surround, 0, sc_json_int(cls, -1)));
    surround->n_before++;
    return insert(surround, surround->n, sc_json_int(sep, -1));
}

/* Changes offsets only, which this program does not keep. */
static enum sc_status read_nothing(const struct sc_json *node, struct sc_surround *surround)
{
    (void)node;
    (void)surround;
    return SC_OK;
}

static const struct kind {
    const char *type;
    enum sc_status (*read)(const struct sc_json *node, struct sc_surround *surround);
} kinds[] = {
    {"ByteLevel", read_nothing},
    {"TemplateProcessing", read_template},
    {"RobertaProcessing", read_pair},
    {"BertProcessing", read_pair},
};

static enum sc_status read_step(void *arg, const char *type, const struct sc_json *node)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].read(node, arg);
        }
    }
    return sc_fail(SC_UNSUPPORTED, "post-processor '%.100s' is not supported", type);
}

enum sc_status sc_surround_read(const struct sc_json *node, struct sc_surround *surround)
{
    *surround = (struct sc_surround){0};
    const struct sc_step_source source = {
        .what = "post-processor", .members = "processors", .read = read_step, .arg = surround};
    return sc_steps_read(node, &source);
}
