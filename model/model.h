/* SPDX-License-Identifier: Apache-2.0
 * Opening a model: skeleton now, weight bytes when asked for. */
#ifndef SC_MODEL_MODEL_H
#define SC_MODEL_MODEL_H

#include "base/file.h"
#include "model/graph.h"

/* Where weights come from when this process has no file. */
struct sc_weight_source {
    /* Fills `to` with a part of model->files[file]. */
    enum sc_status (*fetch)(void *arg, int file, size_t offset, void *to, size_t bytes);
    void *arg;
};

/* An opened model. The file stays mapped; raw weight bytes are found by offset and are not touched by opening.
 *
 *   sc_model_open ──► graph as in the file ── passes rewrite `graph` in place
 *                                          ──► sc_weight_tensor on owners ──► sc_model_close */
struct sc_model {
    struct sc_arena arena;
    char *path, *folder;
    int64_t ir_version;
    const char *producer;
    int n_opsets;
    struct sc_opset *opsets;
    struct sc_graph *graph;
    struct sc_graph *all_graphs, *last_graph; /* with bodies and functions, linked by next, outer before inner */
    int n_functions;
    struct sc_function *functions;
    int n_file_symbols, n_symbols, cap_symbols;
    const char **symbols; /* symbols[k] is the name ("batch") of the dim -2 - k; passes add names of sums */
    struct sc_map symbol_indices; /* name -> k */
    int n_files;
    struct sc_file *files; /* files[0] is the model itself, then external data */
    const char **file_names;
    int n_file_nodes; /* nodes of the main graph in the file */
    int n_units, cap_units; /* what plans speak of, and origins count: those nodes, then the nodes of functions and
                               branches that passes put in place of some of them */
    int *unit_file_nodes; /* the node of the file that it is, or came from; -1: not known */
    const char **unit_names; /* the first output: its name in plans; "" when it has none, NULL when it was replaced */
    int *file_node_stages; /* pipeline_stage of each file node, -1: none; NULL: the file has no such annotations */
    int n_said_states, *said_states; /* input and output in turns: what the user calls a state (sc_pairs_say) */
    bool remote; /* opened from an image: files are blank but for what opening read */
    const struct sc_weight_source *source; /* of a remote model, while weights are loaded; borrowed */
    uint64_t fingerprint; /* of the skeleton and the sizes of weights: equal on all ranks */
    int n_parts;
    struct sc_model **parts; /* models that this one was made of (passes/join.h), whose memory it uses */
};

/* path is a .onnx file, or a folder with model.onnx (or one .onnx alone, or the file that genai_config.json names).
 * Fails with SC_IO when there is no such file or folder with one, or it cannot be read, else with SC_BAD_MODEL, naming
 * the file and what is wrong with it. */
enum sc_status sc_model_open(const char *path, struct sc_model **model);

struct sc_model_options {
    bool links; /* external data may be a link that leaves the model's folder, or have several hard links */
};

/* As sc_model_open; options NULL: all off. */
enum sc_status sc_model_open_with(const char *path, const struct sc_model_options *options, struct sc_model **model);
void sc_model_close(struct sc_model *model);

/* sc_file_check of all mapped files: for the time before weights are read, and after. */
enum sc_status sc_model_check_files(const struct sc_model *model);

/* For processes that cannot open the file: the skeleton, and of the values what opening and passes read (small weights,
 * attributes, strings, sparse tensors). `model` was opened from its path with `options`, and the file is read once
 * more; free()d by the caller. A model that is opened from an image has the paths of the other process. */
enum sc_status sc_model_image(
    const struct sc_model *model, const struct sc_model_options *options, void **image, size_t *bytes);
enum sc_status sc_model_open_image(const void *image, size_t bytes, struct sc_model **model); /* SC_PEER: damaged */

/* An empty graph that belongs to the model. NULL when memory is out. */
struct sc_graph *sc_model_new_graph(struct sc_model *model);

/* The dim of that name, made when it is new. Fails with SC_NO_MEMORY alone. */
enum sc_status sc_model_symbol(struct sc_model *model, const char *name, int64_t *dim);

/* One more unit, which comes from another one (-1: from none). Fails with SC_NO_MEMORY alone. */
enum sc_status sc_model_unit(struct sc_model *model, const char *name, int from, int *unit);

/* The version of a domain's operators in this model; 0 when it is not imported. */
int sc_model_opset(const struct sc_model *model, const char *domain);

/* "float[batch, 4]" for messages and people, with the model's names of dims (model NULL: "?"); returns buffer. */
char *sc_fact_text(const struct sc_model *model, const struct sc_fact *fact, char *buffer, size_t bytes);

/* A tensor over the content of a weight, in plain storage: points into the mapped file where alignment and storage
 * allow, else a copy in `arena`. Only the rank that owns the weight calls it. */
enum sc_status sc_weight_tensor(const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor);

/* The same from the model's source when it has one; then always a copy in `arena`, unless the weight is small. */
enum sc_status sc_weight_fetch(
    const struct sc_model *model, const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor);

/* Bytes of the weight in plain storage. */
size_t sc_weight_bytes(const struct sc_weight *weight);

struct sc_write_options {
    const char *location; /* a file beside the model for values of 1 KiB and more, as external data; NULL: all inside */
    int n_stages;
    const int *stages; /* by node of the graph: its pipeline_stage, -1: none; the file is then of IR version 11 at
                          least. NULL: no multi-device annotations */
};

/* Writes `graph`, the model's own or one made of it, with the functions that it calls, as a .onnx file of the model's
 * IR version (at least 4) and operator sets: nodes that are not dead, initializers that somebody reads, facts as
 * declared types. Values of mapped weights are copied from file to file, whatever their number, in bounded memory. The
 * file (and the one of `location`) is there whole or not at all; it may be the one the model was read from.
 * Descriptions, metadata and, but for `stages`, multi-device annotations are left out; sparse initializers were made
 * dense by loading. options NULL: zeros. Fails with SC_IO, with SC_LIMIT over 2 GiB without `location`, and with
 * SC_UNSUPPORTED for nodes of a version of their operator set that the model does not import. */
enum sc_status sc_model_write(const struct sc_model *model, const struct sc_graph *graph, const char *path,
    const struct sc_write_options *options);

/* Reads a .pb file with a TensorProto, SequenceProto or OptionalProto (chosen by `fact`, from the graph's input or
 * output). */
enum sc_status sc_value_read_pb(
    const char *path, const struct sc_fact *fact, struct sc_arena *arena, struct sc_value *value);

/* Writes a tensor, sequence or optional in the same form. */
enum sc_status sc_value_write_pb(const char *path, const char *name, const struct sc_value *value);

#endif
