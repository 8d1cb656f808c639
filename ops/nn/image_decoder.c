/* SPDX-License-Identifier: Apache-2.0
 * ImageDecoder: bytes to [H,W,C]. What cannot be decoded is a picture without pixels, as the clause has it. */
#include <string.h>

#include "ops/nn/image.h"
#include "ops/nn/rows.h"
#include "ops/shape/shape.h"

enum pixels { RGB, BGR, GRAYSCALE };

struct params {
    enum pixels pixels;
};

static enum sc_status params_decoder(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    static const char *const names[] = {"RGB", "BGR", "Grayscale"};
    const char *text;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    SC_TRY(sc_node_text(node, "pixel_format", "RGB", &text));
    for (int i = RGB; i <= GRAYSCALE; i++) {
        if (strcmp(text, names[i]) == 0) {
            ((struct params *)*params)->pixels = (enum pixels)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "pixel_format is '%s', want RGB, BGR or Grayscale", text);
}

static enum sc_status infer_decoder(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    static const int64_t any = SC_DIM_UNKNOWN;
    SC_TRY(sc_infer_needs(infer, 1));
    SC_TRY(sc_infer_want(infer, 0, "encoded_stream", 1, &any));
    const int64_t dims[3] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, p->pixels == GRAYSCALE ? 1 : 3};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_U8, 3, dims);
    }
    return SC_OK;
}

static enum sc_status exec_decoder(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_image image = {0};
    if (!sc_image_decode(in->data, (size_t)sc_tensor_count(in), call->arena, &image)) {
        image = (struct sc_image){0};
    }
    const int64_t dims[3] = {image.height, image.width, p->pixels == GRAYSCALE ? 1 : 3};
    struct sc_value *out = call->out[0];
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, SC_U8, 3, dims, &out->u.tensor));
    uint8_t *to = out->u.tensor.data;
    for (int64_t i = 0; i < image.width * image.height; i++) {
        const uint8_t *rgb = image.rgb + 3 * i;
        if (p->pixels == GRAYSCALE) { /* ITU-R 601, in 16 bits, rounded */
            to[i] = (uint8_t)((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 32768U) >> 16);
            continue;
        }
        for (int c = 0; c < 3; c++) {
            to[3 * i + c] = rgb[p->pixels == BGR ? 2 - c : c];
        }
    }
    return SC_OK;
}

const struct sc_op sc_ops_nn_image_decoder[] = {
    {.domain = "",
        .name = "ImageDecoder",
        .since = 20,
        .flags = SC_OP_PURE,
        .params = params_decoder,
        .infer = infer_decoder,
        .exec = exec_decoder},
    {.name = NULL},
};
