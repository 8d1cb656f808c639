/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the writer share. Internal to model/. */
#ifndef SC_MODEL_WRITE_H
#define SC_MODEL_WRITE_H

#include "model/model.h"
#include "model/proto/onnx.pb-c.h"

#define SC_WRITE_CONFIGURATION "pipeline" /* the name of the configuration that stages are of */

/* Values that go to the file of external data: `data` lies in memory or in a mapped file. */
struct sc_written_part {
    const void *data;
    size_t bytes, offset;
};

/* From our structs to protobuf-c's. The messages are in `arena`; names and values in them point into the model and are
 * not copied. */
struct sc_writer {
    const struct sc_model *model;
    struct sc_arena *arena;
    int n_opsets; /* of the model or the function at hand */
    const struct sc_opset *opsets;
    bool calls; /* a node written so far calls a function */
    const char *location; /* of external data; NULL: values are in the model */
    const struct sc_graph *annotated; /* whose nodes get `stages`; NULL: none */
    const int *stages;
    size_t n_parts, cap_parts, data_bytes;
    struct sc_written_part *parts;
};

/* protobuf-c's structs are not const, and packing them writes nothing. */
static inline char *sc_write_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* write_tensor.c: of a value (in plain storage), of a weight, and the few entries of a mostly zero tensor. */
enum sc_status sc_write_tensor(
    struct sc_arena *arena, const struct sc_tensor *tensor, const char *name, Sc__Onnx__TensorProto **proto);
enum sc_status sc_write_weight(
    struct sc_writer *writer, const struct sc_weight *weight, const char *name, Sc__Onnx__TensorProto **proto);
enum sc_status sc_write_sparse(
    struct sc_arena *arena, const struct sc_tensor *tensor, Sc__Onnx__SparseTensorProto **proto);

/* write_graph.c: a graph with its bodies, and what a function consists of. */
enum sc_status sc_write_graph(struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__GraphProto **proto);
enum sc_status sc_write_nodes(
    struct sc_writer *writer, const struct sc_graph *graph, size_t *n, Sc__Onnx__NodeProto ***nodes);
enum sc_status sc_write_value_infos(
    struct sc_writer *writer, const struct sc_graph *graph, size_t *n, Sc__Onnx__ValueInfoProto ***infos);

/* write_attribute.c: attributes of a node of `graph`, or a function's defaults. */
enum sc_status sc_write_attributes(
    struct sc_writer *writer, int n, const struct sc_attribute *attributes, Sc__Onnx__AttributeProto ***protos);

/* write_type.c: *type stays NULL when nothing is known. */
enum sc_status sc_write_type(struct sc_writer *writer, const struct sc_fact *fact, Sc__Onnx__TypeProto **type);

#endif
