/* SPDX-License-Identifier: Apache-2.0
 * Elements go to the file piece by piece. That is the order of the whole where nothing that counts is before the axis;
 * else the file is put in order at the end. */
#include "launch/joined.h"

#include <inttypes.h>
#include <string.h>

#include "launch/inputs.h"

static enum sc_status parse(const struct sc_graph *graph, const char *item, struct sc_joined *joined)
{
    const char *axis = NULL;
    const int o = sc_item_find(graph, graph->n_outputs, graph->outputs, item, &axis);
    if (o < 0 || !sc_axis_parse(axis, &joined->outputs[o].axis)) {
        return sc_fail(
            SC_BAD_USAGE, "option '--join': '%s' is not NAME=AXIS, an output of the model and its axis", item);
    }
    joined->outputs[o].stacked = false;
    return SC_OK;
}

enum sc_status sc_joined_parse(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_joined *joined)
{
    const struct sc_graph *graph = model->graph;
    const char *const *items;
    const int n = sc_options_list(options, "join", &items);
    *joined = (struct sc_joined){
        .n = graph->n_outputs, .outputs = sc_arena_array(arena, (size_t)graph->n_outputs + 1, sizeof *joined->outputs)};
    if (!joined->outputs) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < joined->n; o++) {
        joined->outputs[o] = (struct sc_joined_output){.name = graph->values[graph->outputs[o]].name, .stacked = true};
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(parse(graph, items[i], joined));
    }
    return SC_OK;
}

/* The dims of the whole are those of the first piece, with 0 along the axis. */
static enum sc_status begin(struct sc_joined_output *output, const struct sc_tensor *first)
{
    struct sc_tensor *all = &output->all.u.tensor;
    int64_t dims[SC_MAX_RANK + 1] = {0};
    const int axis = output->stacked ? 0 : output->axis < 0 ? output->axis + first->rank : output->axis;
    const int added = output->stacked ? 1 : 0;
    if (axis < 0 || axis >= first->rank + added || first->rank + added > SC_MAX_RANK) {
        return sc_fail(SC_BAD_INPUT, "output '%s' has rank %d, and no axis %d to join it along", output->name,
            first->rank, output->axis);
    }
    memcpy(dims + added, first->dims, (size_t)first->rank * sizeof *dims);
    output->step = output->stacked ? 1 : first->dims[axis];
    dims[axis] = 0;
    output->axis = axis;
    output->last = output->step;
    output->all.kind = SC_KIND_TENSOR;
    sc_tensor_init(all, first->type, first->rank + added, dims);
    return SC_OK;
}

/* Whether elements of a piece lie apart in the whole. */
static bool is_interleaved(const struct sc_joined_output *output)
{
    return sc_dims_product(output->all.u.tensor.dims, 0, output->axis) > 1;
}

/* A piece has the type and dims of the others, but along the axis; along that too where they are put in order at the
 * end, but for the last, which may have less. */
static bool fits(const struct sc_joined_output *output, const struct sc_tensor *piece)
{
    const struct sc_tensor *all = &output->all.u.tensor;
    const int added = output->stacked ? 1 : 0;
    bool same = piece->type == all->type && piece->rank + added == all->rank;
    for (int d = added; same && d < all->rank; d++) {
        same = d == output->axis || piece->dims[d - added] == all->dims[d];
    }
    return same &&
        (!is_interleaved(output) || (output->last == output->step && piece->dims[output->axis] <= output->step));
}

static enum sc_status refuse(const struct sc_joined_output *output, const struct sc_tensor *piece)
{
    char got[160], want[160];
    sc_tensor_text(piece, got, sizeof got);
    sc_tensor_text(&output->all.u.tensor, want, sizeof want);
    return sc_fail(SC_BAD_INPUT,
        "output '%s' is %s in piece %" PRId64 ", which cannot be %s the pieces before, %s together", output->name, got,
        output->n, output->stacked ? "stacked on" : "joined to", want);
}

static enum sc_status add(struct sc_joined *joined, struct sc_joined_output *output, const struct sc_value *value)
{
    const struct sc_tensor *piece = &value->u.tensor;
    struct sc_tensor *all = &output->all.u.tensor;
    if (value->kind != SC_KIND_TENSOR) {
        return sc_fail(SC_UNSUPPORTED, "output '%s' is no tensor, which alone is joined of pieces", output->name);
    }
    SC_TRY(output->n == 0 ? begin(output, piece) : SC_OK);
    if (!fits(output, piece)) {
        return refuse(output, piece);
    }
    output->last = output->stacked ? 1 : piece->dims[output->axis];
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, all->dims, (size_t)all->rank * sizeof *dims);
    dims[output->axis] += output->last;
    SC_TRY(sc_dims_check(output->name, all->type, all->rank, dims));
    sc_tensor_init(all, all->type, all->rank, dims);
    if (joined->folder && output->n == 0) {
        SC_TRY(sc_outputs_begin(joined->folder, output->name, all, &output->file));
    }
    output->n++;
    return joined->folder ? sc_outputs_append(&output->file, piece) : SC_OK;
}

enum sc_status sc_joined_add(struct sc_joined *joined, const struct sc_value *const *values)
{
    for (int o = 0; o < joined->n; o++) {
        SC_TRY(joined->outputs[o].left ? SC_OK : add(joined, &joined->outputs[o], values[o]));
    }
    return SC_OK;
}

/* A file of pieces one behind the other. */
struct source {
    const struct sc_joined_output *output;
    const unsigned char *pieces;
};

/* Where element `at` of the whole is among the pieces, and how many behind it follow there too. */
static int64_t find_run(const struct sc_joined_output *output, int64_t at, int64_t *run)
{
    const struct sc_tensor *all = &output->all.u.tensor;
    const int64_t outer = sc_dims_product(all->dims, 0, output->axis);
    const int64_t inner = sc_dims_product(all->dims, output->axis + 1, all->rank);
    const int64_t row = all->dims[output->axis] * inner, step = output->step * inner;
    const int64_t o = at / row, within = at % row, piece = within / step;
    const int64_t width = row - piece * step < step ? row - piece * step : step; /* of the last one */
    *run = width - within % step;
    return piece * outer * step + o * width + within % step;
}

static enum sc_status read_in_order(void *arg, int64_t at, int64_t n, void *to)
{
    const struct source *source = arg;
    const size_t bytes = sc_type_bytes(source->output->all.u.tensor.type);
    for (int64_t done = 0, run; done < n; done += run) {
        const int64_t from = find_run(source->output, at + done, &run);
        run = run < n - done ? run : n - done;
        memcpy((char *)to + (size_t)done * bytes, source->pieces + (size_t)from * bytes, (size_t)run * bytes);
    }
    return SC_OK;
}

static enum sc_status put_in_order(struct sc_joined_output *output)
{
    struct sc_file file = {0};
    const struct sc_tensor *all = &output->all.u.tensor;
    SC_TRY(sc_file_map(output->file.from, &file));
    struct source source = {output, file.data + (file.bytes - sc_tensor_bytes(all))};
    const enum sc_status status = sc_outputs_reorder(&output->file, all, read_in_order, &source);
    sc_file_release(&file);
    return status;
}

enum sc_status sc_joined_end(struct sc_joined_output *output)
{
    if (!output->file.from) {
        return SC_OK;
    }
    SC_TRY(sc_outputs_end(&output->file, &output->all.u.tensor));
    return is_interleaved(output) && output->n > 1 ? put_in_order(output) : SC_OK;
}

void sc_joined_release(struct sc_joined *joined)
{
    for (int o = 0; o < joined->n; o++) {
        sc_outputs_abandon(&joined->outputs[o].file);
    }
    joined->n = 0;
}
