/* SPDX-License-Identifier: Apache-2.0
 * Failures are what is hoped for: only crashes, hangs and lost memory count, and the caller notices those. */
#include "tests/hostile/drive.h"

#include <stdlib.h>
#include <string.h>

#include "comm/world.h"
#include "decode/decoder.h"
#include "exec/frame.h"
#include "ops/schema.h"
#include "partitioner/partition.h"
#include "partitioner/report.h"
#include "passes/passes.h"
#include "runtime/settings.h"
#include "text/tokenizer.h"

#define MOST_BYTES (1 << 20)

struct driven {
    struct sc_draw *draw;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_plan *plan;
    struct sc_program *program;
    struct sc_frame *frame;
    const struct sc_kernels *kernels;
    struct sc_fact *facts; /* by value, at the inputs' sizes */
    struct sc_value *inputs; /* by graph input */
};

static enum sc_status fill(struct driven *driven, struct sc_tensor *tensor)
{
    const size_t bytes = sc_tensor_bytes(tensor);
    for (int64_t i = 0; i < sc_tensor_count(tensor); i++) {
        const int64_t small = (int64_t)sc_draw_below(driven->draw, 4) - (sc_draw_below(driven->draw, 8) == 0);
        switch (tensor->type) {
        case SC_F32:
            ((float *)tensor->data)[i] = (float)small / 2;
            break;
        case SC_F64:
            ((double *)tensor->data)[i] = (double)small / 2;
            break;
        case SC_I64:
            ((int64_t *)tensor->data)[i] = sc_draw_below(driven->draw, 16) ? small : sc_draw_number(driven->draw);
            break;
        case SC_I32:
            ((int32_t *)tensor->data)[i] = (int32_t)small;
            break;
        case SC_BOOL:
            ((uint8_t *)tensor->data)[i] = (uint8_t)(small & 1);
            break;
        case SC_STRING:
            ((struct sc_string *)tensor->data)[i] = (struct sc_string){.data = "ab c", .bytes = (size_t)(small & 3)};
            break;
        default: /* narrow types: valid codes only, as a reader would give */
            memset((char *)tensor->data + (size_t)i * (bytes / (size_t)sc_tensor_count(tensor)), (int)(small & 1),
                bytes / (size_t)sc_tensor_count(tensor));
        }
    }
    return SC_OK;
}

static enum sc_status make_tensor(struct driven *driven, const struct sc_fact *fact, struct sc_value *value)
{
    int64_t dims[SC_MAX_RANK];
    int64_t count = 1;
    const int rank = fact->rank < 0 ? 1 : fact->rank;
    for (int d = 0; d < rank; d++) {
        dims[d] = fact->rank < 0 ? 2 : fact->dims[d];
        if (dims[d] < 0) { /* one size for each symbol */
            dims[d] = dims[d] == SC_DIM_UNKNOWN ? 1 + (int64_t)sc_draw_below(driven->draw, 3) : 1 + (-dims[d]) % 3;
        }
        count = dims[d] > MOST_BYTES || count > MOST_BYTES ? MOST_BYTES + 1 : count * dims[d];
    }
    if (count > MOST_BYTES || fact->type == SC_TYPE_NONE) {
        return sc_fail(SC_LIMIT, "an input is too large for a test");
    }
    value->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(&driven->arena, fact->type, rank, dims, &value->u.tensor));
    return fill(driven, &value->u.tensor);
}

/* What a caller would feed: a value of the declared kind. */
static enum sc_status make_input(struct driven *driven, const struct sc_fact *fact, struct sc_value *value)
{
    struct sc_value *item = sc_arena_array(&driven->arena, 2, sizeof *item);
    if (!item) {
        return SC_NO_MEMORY;
    }
    struct sc_fact inner = *fact;
    inner.rank = fact->kind == SC_KIND_TENSOR ? fact->rank : 2;
    inner.dims[0] = inner.rank > 0 && fact->kind != SC_KIND_TENSOR ? 2 : inner.dims[0];
    inner.dims[1] = inner.rank > 1 && fact->kind != SC_KIND_TENSOR ? 3 : inner.dims[1];
    if (fact->kind == SC_KIND_TENSOR) {
        return make_tensor(driven, fact, value);
    }
    SC_TRY(make_tensor(driven, &inner, &item[0]));
    SC_TRY(make_tensor(driven, &inner, &item[1]));
    value->kind = fact->kind;
    if (fact->kind == SC_KIND_SEQUENCE) {
        value->u.sequence.type = fact->type;
        value->u.sequence.n = (int64_t)sc_draw_below(driven->draw, 3);
        value->u.sequence.items = item;
    } else if (fact->kind == SC_KIND_OPTIONAL && fact->item_kind == SC_KIND_TENSOR) {
        value->u.optional.type = fact->type;
        value->u.optional.item_kind = SC_KIND_TENSOR;
        value->u.optional.item = sc_draw_below(driven->draw, 3) ? item : NULL;
    } else {
        return sc_fail(SC_UNSUPPORTED, "no value of this kind");
    }
    return SC_OK;
}

static enum sc_status rewrite(struct driven *driven)
{
    const struct sc_graph *graph = driven->model->graph;
    SC_TRY(sc_kernels_best(&driven->kernels));
    driven->inputs = sc_arena_array(&driven->arena, (size_t)graph->n_inputs + 1, sizeof *driven->inputs);
    if (!driven->inputs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *declared = &graph->values[graph->inputs[i]];
        if (declared->weight < 0) {
            SC_TRY(make_input(driven, &declared->fact, &driven->inputs[i]));
        }
    }
    return sc_passes_run(driven->model, driven->kernels);
}

static enum sc_status cut(struct driven *driven)
{
    const struct sc_graph *graph = driven->model->graph;
    const char *table;
    struct sc_fact *known = sc_arena_array(&driven->arena, (size_t)graph->n_values + 1, sizeof *known);
    if (!known) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        known[v] = graph->values[v].fact;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        if (driven->inputs[i].kind != SC_KIND_NONE) {
            sc_fact_of(&known[graph->inputs[i]], &driven->inputs[i]);
            known[graph->inputs[i]].value = NULL;
        }
    }
    SC_TRY(sc_infer_graph(graph, driven->kernels, &driven->arena, NULL, known));
    SC_TRY(sc_facts_closed(graph, known, &driven->arena, &driven->facts));
    struct sc_partition_options options = sc_partition_options_default(1 + (int)sc_draw_below(driven->draw, 4));
    options.random = sc_draw_below(driven->draw, 4) == 0;
    options.seed = sc_draw(driven->draw);
    options.kernels = driven->kernels;
    SC_TRY(sc_partition(driven->model, graph, driven->facts, &options, &driven->plan));
    return sc_plan_table(driven->plan, driven->model, graph, driven->facts, NULL, &driven->arena, &table);
}

static enum sc_status compile(struct driven *driven)
{
    const struct sc_graph *graph = driven->model->graph;
    int *inputs = sc_arena_array(&driven->arena, (size_t)graph->n_inputs + 1, sizeof *inputs);
    struct sc_value *values = sc_arena_array(&driven->arena, (size_t)graph->n_inputs + 1, sizeof *values);
    int n = 0;
    if (!inputs || !values) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        if (driven->inputs[i].kind != SC_KIND_NONE) {
            values[n] = driven->inputs[i];
            inputs[n++] = graph->inputs[i];
        }
    }
    driven->inputs = values;
    const struct sc_program_spec spec = {.model = driven->model,
        .graph = graph,
        .n_inputs = n,
        .inputs = inputs,
        .n_outputs = graph->n_outputs,
        .outputs = graph->outputs,
        .kernels = driven->kernels};
    SC_TRY(sc_program_compile(&spec, &driven->program));
    SC_TRY(sc_program_load(driven->program, NULL));
    const struct sc_frame_options options = {0};
    return sc_frame_create(driven->program, &options, &driven->frame);
}

static enum sc_status run(struct driven *driven)
{
    const int n = driven->model->graph->n_inputs;
    const struct sc_value **feeds = sc_arena_array(&driven->arena, (size_t)n + 1, sizeof *feeds);
    if (!feeds) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        feeds[i] = &driven->inputs[i];
    }
    return sc_frame_run(driven->frame, feeds, 0);
}

int sc_drive_model(struct sc_draw *draw, const char *path, bool runs)
{
    struct driven driven = {.draw = draw};
    int reached = 0;
    if (sc_model_open(path, &driven.model) == SC_OK) {
        reached = 1;
        static enum sc_status (*const steps[])(struct driven *) = {rewrite, cut, compile, run};
        enum sc_status status = sc_check_graph(driven.model->graph);
        for (size_t s = 0; s < sizeof steps / sizeof *steps - !runs && status == SC_OK; s++) {
            reached++;
            status = steps[s](&driven);
        }
        reached += status == SC_OK;
    }
    sc_frame_free(driven.frame);
    sc_program_free(driven.program);
    sc_plan_free(driven.plan);
    sc_model_close(driven.model);
    sc_arena_release(&driven.arena);
    return reached;
}

static bool on_token(void *arg, int64_t token)
{
    (void)arg;
    (void)token;
    return true;
}

static int generate(struct sc_world *world, struct sc_model *model)
{
    static const int64_t prompt[] = {1, 2, 3};
    struct sc_decoder_options options = {.chunk = 2};
    struct sc_decoder *decoder = NULL;
    int reached = 1;
    sc_session_options_init(&options.session);
    options.session.n_threads = 1;
    if (sc_decoder_open(world, model, &options, &decoder) == SC_OK) {
        struct sc_request request = {.prompt = prompt,
            .n_prompt = 3,
            .n_predict = 4,
            .sample = {.temperature = 1, .top_p = 1},
            .on_token = on_token};
        reached = sc_decoder_generate(decoder, &request) == SC_OK ? 3 : 2;
    }
    sc_decoder_close(decoder);
    return reached;
}

int sc_drive_decoder(const char *path)
{
    struct sc_model *model = NULL;
    struct sc_world *world = NULL;
    int reached = 0;
    if (sc_world_open_single(&world) == SC_OK && sc_model_open(path, &model) == SC_OK) {
        reached = generate(world, model);
    }
    sc_model_close(model);
    sc_world_free(world);
    return reached;
}

int sc_drive_plan(struct sc_draw *draw, const char *model_path, const char *plan_path)
{
    struct sc_model *model = NULL;
    struct sc_plan *plan = NULL, *other = NULL;
    void *packed = NULL;
    size_t bytes = 0, n = 0;
    int reached = 0;
    if (sc_model_open(model_path, &model) == SC_OK && sc_plan_read(plan_path, model, &plan) == SC_OK) {
        struct sc_arena arena = {0};
        struct sc_plan_edge *edges;
        int n_edges;
        char *text = NULL;
        reached = 1;
        if (sc_plan_edges(plan, model->graph, NULL, &arena, &n_edges, &edges) == SC_OK &&
            sc_plan_write(plan, model, &text) == SC_OK && sc_plan_pack(plan, &packed, &bytes) == SC_OK) {
            unsigned char *damaged = sc_mutate_bytes(draw, packed, bytes, &n);
            reached = sc_plan_unpack(damaged, n, model, &other) == SC_OK ? 3 : 2;
            free(damaged);
        }
        free(text);
        sc_arena_release(&arena);
    }
    free(packed);
    sc_plan_free(other);
    sc_plan_free(plan);
    sc_model_close(model);
    return reached;
}

int sc_drive_tokenizer(const unsigned char *text, size_t bytes)
{
    static const char sample[] = "The the\t 3.14 caf\xc3\xa9 <|endoftext|>\n\n''s x\xe2\x80\x8d\xf0\x9f\x91\xa9";
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    int64_t *ids;
    size_t n, out_bytes;
    char *out;
    int reached = 0;
    if (sc_tokenizer_parse((const char *)text, bytes, "tokenizer.json", &tokenizer) == SC_OK) {
        reached = 1;
        if (sc_tokenizer_encode(tokenizer, sample, sizeof sample - 1, true, &arena, &n, &ids) == SC_OK &&
            sc_tokenizer_decode(tokenizer, ids, n, false, &arena, &out, &out_bytes) == SC_OK) {
            reached = 2;
        }
        for (int64_t id = -1; id < sc_tokenizer_vocabulary_size(tokenizer) + 1 && id < 400; id++) {
            (void)sc_tokenizer_token(tokenizer, id, &n);
            (void)sc_tokenizer_is_special(tokenizer, id);
        }
    }
    sc_tokenizer_free(tokenizer);
    sc_arena_release(&arena);
    return reached;
}
