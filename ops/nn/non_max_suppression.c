/* SPDX-License-Identifier: Apache-2.0
 * NonMaxSuppression: of each class of each batch, boxes by falling score, without those that overlap one that was taken
 * before. Areas in f32, as their type is. */
#include <math.h>
#include <stdlib.h>

#include "ops/nn/rows.h"
#include "ops/shape/shape.h"

struct params {
    int64_t center_point_box;
};

/* low and high along each of two axes */
struct box {
    float low[2], high[2];
};

struct candidate {
    float score;
    int64_t index;
};

struct job {
    const struct sc_tensor *boxes, *scores;
    bool center;
    int64_t n_boxes, n_classes, most;
    float overlap;
    const float *least; /* score; NULL: any */
    struct candidate *candidates; /* n_boxes for each worker */
    int64_t *selected; /* [batch, class, most] */
    int64_t *n_selected; /* [batch, class] */
};

static enum sc_status params_nms(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "center_point_box", 0, &p->center_point_box));
    return p->center_point_box == 0 || p->center_point_box == 1
        ? SC_OK
        : sc_node_fail(
              graph, node, SC_BAD_MODEL, "center_point_box is %lld, want 0 or 1", (long long)p->center_point_box);
}

static enum sc_status infer_nms(struct sc_infer *infer)
{
    static const char *const names[] = {"max_output_boxes_per_class", "iou_threshold", "score_threshold"};
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *boxes = infer->in[0];
    const int64_t any[3] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, 4};
    SC_TRY(sc_infer_want(infer, 0, "boxes", 3, any));
    const int64_t scores[3] = {boxes->rank == 3 ? boxes->dims[0] : SC_DIM_UNKNOWN, SC_DIM_UNKNOWN,
        boxes->rank == 3 ? boxes->dims[1] : SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_want(infer, 1, "scores", 3, scores));
    for (int i = 2; i < 5; i++) {
        const struct sc_fact *scalar = sc_infer_in(infer, i);
        if (scalar && sc_fact_dims_known(scalar) && sc_dims_product(scalar->dims, 0, scalar->rank) != 1) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s is not one number", names[i - 2]);
        }
    }
    const int64_t dims[2] = {SC_DIM_UNKNOWN, 3};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_I64, 2, dims);
    }
    return SC_OK;
}

/* By falling score, then by index; what is no number comes last. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (isnan(a->score) != isnan(b->score)) {
        return isnan(a->score) ? 1 : -1;
    }
    if (a->score != b->score && !isnan(a->score)) {
        return a->score > b->score ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct box read_box(const struct job *job, int64_t batch, int64_t index)
{
    const float *b = (const float *)job->boxes->data + (batch * job->n_boxes + index) * 4;
    struct box box;
    for (int axis = 0; axis < 2; axis++) {
        const float half = b[2 + axis] / 2;
        const float x = job->center ? b[axis] - half : b[axis];
        const float y = job->center ? b[axis] + half : b[2 + axis];
        box.low[axis] = x < y || job->center ? x : y;
        box.high[axis] = x < y || job->center ? y : x;
    }
    return box;
}

static float area(const struct box *box)
{
    return (box->high[0] - box->low[0]) * (box->high[1] - box->low[1]);
}

/* Intersection over union is past the threshold. Boxes without an area overlap nothing. */
static bool overlaps(const struct box *a, const struct box *b, float threshold)
{
    struct box both;
    for (int axis = 0; axis < 2; axis++) {
        both.low[axis] = a->low[axis] > b->low[axis] ? a->low[axis] : b->low[axis];
        both.high[axis] = a->high[axis] < b->high[axis] ? a->high[axis] : b->high[axis];
        if (!(both.high[axis] > both.low[axis])) {
            return false;
        }
    }
    const float shared = area(&both), all = area(a) + area(b) - shared;
    return area(a) > 0 && area(b) > 0 && all > 0 && shared / all > threshold;
}

static void select_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int64_t batch = part / job->n_classes;
    const float *scores = (const float *)job->scores->data + part * job->n_boxes;
    struct candidate *candidates = job->candidates + worker * job->n_boxes;
    int64_t *selected = job->selected + part * job->most;
    int64_t n = 0, taken = 0;
    for (int64_t i = 0; i < job->n_boxes; i++) {
        if (!job->least || scores[i] >= *job->least) {
            candidates[n++] = (struct candidate){scores[i], i};
        }
    }
    qsort(candidates, (size_t)n, sizeof *candidates, compare);
    for (int64_t c = 0; c < n && taken < job->most; c++) {
        const struct box box = read_box(job, batch, candidates[c].index);
        bool free = true;
        for (int64_t k = 0; k < taken && free; k++) {
            const struct box other = read_box(job, batch, selected[k]);
            free = !overlaps(&box, &other, job->overlap);
        }
        if (free) {
            selected[taken++] = candidates[c].index;
        }
    }
    job->n_selected[part] = taken;
}

static enum sc_status gather(const struct sc_call *call, const struct job *job, int64_t n_lists)
{
    int64_t dims[2] = {0, 3};
    for (int64_t l = 0; l < n_lists; l++) {
        dims[0] += job->n_selected[l];
    }
    struct sc_value *out = call->out[0];
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, SC_I64, 2, dims, &out->u.tensor));
    int64_t *to = out->u.tensor.data;
    for (int64_t l = 0; l < n_lists; l++) {
        for (int64_t k = 0; k < job->n_selected[l]; k++, to += 3) {
            to[0] = l / job->n_classes;
            to[1] = l % job->n_classes;
            to[2] = job->selected[l * job->most + k];
        }
    }
    return SC_OK;
}

static enum sc_status exec_nms(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *most = sc_call_in(call, 2), *overlap = sc_call_in(call, 3), *least = sc_call_in(call, 4);
    struct job job = {.boxes = sc_call_in(call, 0), .scores = sc_call_in(call, 1), .center = p->center_point_box == 1};
    job.n_boxes = job.boxes->dims[1];
    job.n_classes = job.scores->dims[1];
    job.most = most ? sc_index_at(most, 0) : 0;
    job.most = job.most < 0 ? 0 : job.most < job.n_boxes ? job.most : job.n_boxes;
    job.overlap = overlap ? *(const float *)overlap->data : 0.0F;
    job.least = least ? least->data : NULL;
    if (!(job.overlap >= 0.0F && job.overlap <= 1.0F)) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "iou_threshold is %g, want 0 to 1", (double)job.overlap);
    }
    const int64_t n_lists = job.boxes->dims[0] * job.n_classes;
    const size_t n_workers = (size_t)sc_team_size(call->team);
    job.candidates = sc_arena_array(call->arena, n_workers * (size_t)job.n_boxes, sizeof *job.candidates);
    job.selected = sc_arena_array(call->arena, (size_t)(n_lists * job.most), sizeof *job.selected);
    job.n_selected = sc_arena_array(call->arena, (size_t)n_lists, sizeof *job.n_selected);
    if (!job.candidates || !job.selected || !job.n_selected) {
        return SC_NO_MEMORY;
    }
    sc_team_for(call->team, n_lists, select_part, &job);
    return gather(call, &job, n_lists);
}

#define NMS(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "NonMaxSuppression", .since = (version), .flags = SC_OP_PURE, .params = params_nms,      \
        .infer = infer_nms, .exec = exec_nms                                                                           \
    }

const struct sc_op sc_ops_nn_non_max_suppression[] = {NMS(10), NMS(11), {.name = NULL}};
