/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the loader share. Internal to model/. */
#ifndef SC_MODEL_LOAD_H
#define SC_MODEL_LOAD_H

#include "model/model.h"
#include "model/proto/onnx.pb-c.h"
#include "model/walk.h"

#define SC_SMALL_WEIGHT_BYTES 65536
#define SC_SMALL_TABLE_BYTES ((size_t)16 << 20) /* of a square of booleans: which of 4,096 positions see which */

/* A part of a file that opening reads. */
struct sc_part {
    uint64_t file, offset, bytes;
};

/* One file on its way from messages to our structs. Everything made lives in `arena`; the messages do not outlive the
 * loader. `model` is NULL when the file is a value (.pb): then there are no symbols, graphs or external files. */
struct sc_loader {
    struct sc_model *model;
    struct sc_arena *arena;
    const char *what; /* the file, for messages */
    struct sc_file file;
    struct sc_skeleton skeleton;
    struct sc_arena scratch; /* messages */
    bool links;
    struct sc_map external; /* location → index in model->files */
    struct sc_map functions; /* key → index in model->functions */
    int cap_files;
    size_t small_bytes; /* copied for small unaligned weights so far */
    int next_index; /* for nodes of bodies and functions */
    int function; /* the one that is being loaded; -1: none */
    struct sc_call_edge *calls; /* malloc'd: who calls whom, by rising caller */
    int n_calls, cap_calls;
    bool notes_parts; /* an image is being made */
    struct sc_part *parts; /* malloc'd: what was read */
    size_t n_parts, cap_parts;
};

struct sc_call_edge {
    int caller, callee;
};

/* A graph under construction inside those that enclose it. */
struct sc_scope {
    struct sc_graph *graph;
    struct sc_scope *outer;
    const struct sc_opset *opsets;
    int n_opsets;
    size_t n_nodes; /* of the file's graph, for messages */
    Sc__Onnx__NodeProto *const *nodes;
    int node; /* of the main graph: the one being loaded, and whose bodies these are; -1: in a function */
};

/* The strings of messages: NULL is "". */
static inline const char *sc_or_empty(const char *text)
{
    return text ? text : "";
}

/* load.c: maps and walks the file of `path`, and loads. The skeleton and the parts that were noted are the caller's to
 * release, also after a failure. */
enum sc_status sc_load_path(struct sc_loader *loader, const char *path);
/* Where the skeleton and the model's files are there already. */
enum sc_status sc_load_skeleton(struct sc_loader *loader);

/* load_type.c */
const char *sc_domain_of(const char *domain); /* "ai.onnx" and NULL are "" */
enum sc_status sc_load_type(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TypeProto *type, struct sc_fact *fact);

/* load_tensor.c: checks type, dims and sizes and finds the values; `name` is for messages. */
enum sc_status sc_load_weight(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor, struct sc_weight *weight);
enum sc_status sc_load_sparse(
    struct sc_loader *loader, const char *name, const Sc__Onnx__SparseTensorProto *sparse, struct sc_weight *weight);
/* Gives weight->shape its data when the content is small. */
enum sc_status sc_load_small(struct sc_loader *loader, struct sc_weight *weight);
/* All at once: a decoded tensor in plain storage. */
enum sc_status sc_load_tensor(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor, struct sc_tensor *result);

/* decode.c: the field of TensorProto that holds the values of a type, and how many entries it has for count
 * elements. */
unsigned sc_value_field(enum sc_type type);
int64_t sc_value_count(enum sc_type type, int64_t count);
/* Typed values of a TensorProto message to plain memory. The walker has counted and checked them. Strings
 * point into the message. */
void sc_decode_values(const unsigned char *message, size_t bytes, enum sc_type type, int64_t count, void *to);

/* external.c: finds the bytes; expected_bytes is what type and dims ask for. */
enum sc_status sc_load_external(struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor,
    size_t expected_bytes, struct sc_weight *weight);

/* load_attribute.c */
enum sc_status sc_load_attributes(struct sc_loader *loader, struct sc_scope *scope, size_t n,
    Sc__Onnx__AttributeProto *const *attributes, struct sc_attribute **result);

/* load_graph.c: scope->graph is empty. */
enum sc_status sc_load_graph(struct sc_loader *loader, const Sc__Onnx__GraphProto *proto, struct sc_scope *scope);
/* The nodes of scope->nodes, then n outputs by name. */
enum sc_status sc_load_nodes(struct sc_loader *loader, struct sc_scope *scope);
enum sc_status sc_load_outputs(struct sc_loader *loader, struct sc_scope *scope, size_t n, char *const *names);
/* Adds n inputs by name; an empty or repeated name is refused. */
enum sc_status sc_load_inputs(struct sc_loader *loader, struct sc_graph *graph, size_t n, char *const *names);
/* Facts for values that have none yet. */
enum sc_status sc_load_value_info(
    struct sc_loader *loader, struct sc_graph *graph, size_t n, Sc__Onnx__ValueInfoProto *const *infos);

/* load_function.c */
enum sc_status sc_load_opsets(struct sc_loader *loader, size_t n, Sc__Onnx__OperatorSetIdProto *const *imports,
    int *n_opsets, struct sc_opset **opsets);
int sc_opset_version(int n, const struct sc_opset *opsets, const char *domain);
enum sc_status sc_load_functions(struct sc_loader *loader, const Sc__Onnx__ModelProto *proto);
/* The local function that a node calls, or NULL; notes who calls it. */
enum sc_status sc_find_function(
    struct sc_loader *loader, const Sc__Onnx__NodeProto *node, const struct sc_function **function);

/* locate.c: the file that a path given by the user means. */
enum sc_status sc_locate_model(const char *path, struct sc_arena *arena, char **file);

#endif
