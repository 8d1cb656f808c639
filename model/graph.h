/* SPDX-License-Identifier: Apache-2.0
 * The graph that everything after the loader works on. */
#ifndef SC_MODEL_GRAPH_H
#define SC_MODEL_GRAPH_H

#include "base/map.h"
#include "model/attribute.h"
#include "tensor/value.h"

#define SC_DIM_UNKNOWN (-1)

/* What is known about a value before it exists.
 * A dim is >= 0 when known, -1 when not, and below -1 it is a symbol: equal symbols are equal dims ("batch",
 * "sequence"). `value` is the content when it is known at this point (small tensors: shapes, axes, indices);
 * borrowed. */
struct sc_fact {
    enum sc_kind kind; /* SC_KIND_NONE: nothing is known, or the value is absent */
    enum sc_type type; /* of the elements; SC_TYPE_NONE: unknown */
    enum sc_kind item_kind; /* sequence and optional: kind of what is inside */
    enum sc_type key_type; /* of a map, or of the maps of a sequence; SC_TYPE_NONE: unknown */
    int rank; /* -1: unknown */
    int64_t dims[SC_MAX_RANK];
    const struct sc_tensor *value;
};

void sc_fact_init(struct sc_fact *fact); /* knows nothing */
void sc_fact_tensor(struct sc_fact *fact, enum sc_type type, int rank, const int64_t *dims);
void sc_fact_of(struct sc_fact *fact, const struct sc_value *value); /* all dims known; value set for tensors */
bool sc_fact_dims_known(const struct sc_fact *fact); /* rank and every dim */

enum sc_place { SC_PLACE_NODE, SC_PLACE_INPUT, SC_PLACE_INITIALIZER, SC_PLACE_OUTER };

/* Where the bytes of an initializer lie. Nothing is read before someone asks for it (sc_weight_tensor). */
struct sc_weight {
    struct sc_tensor shape; /* type and dims; data is NULL unless the content is small and decoded */
    const unsigned char *raw; /* little-endian bytes in a mapped file; NULL: `decoded` holds them */
    size_t raw_bytes;
    void *decoded; /* plain values in the model arena: small ones of a typed field (float_data, ...), strings, sparse */
    const unsigned char *message; /* neither of the two: a TensorProto in the mapped file, values in a typed field */
    size_t message_bytes;
    bool external;
    int file; /* index of the mapped file; -1: none */
    const struct sc_recipe *recipe; /* not NULL: none of the above has the content, which is made when asked for */
};

/* A weight made from others on the rank that owns it: the output of a graph of weights, or, where there is none, entry
 * i along `axis` of the source, of a float type, times factors[i], rounded once. */
struct sc_recipe {
    const struct sc_graph *graph;
    int n_steps; /* of the graph, with those of the recipes of its weights */
    struct sc_weight source;
    int axis;
    const double *factors;
};

/* A value has one producer and a name that never changes. Index in sc_graph.values. */
struct sc_graph_value {
    const char *name;
    struct sc_fact fact; /* as declared (inputs, outputs, value_info) or inferred */
    enum sc_place place;
    int producer; /* node index, SC_PLACE_NODE only; else -1 */
    int output; /* which output of the producer */
    int weight; /* index in sc_graph.weights, SC_PLACE_INITIALIZER (and SC_PLACE_INPUT with a default); else -1 */
    int outer; /* SC_PLACE_OUTER: index of the value in the enclosing graph */
};

struct sc_node {
    const char *name; /* may be "" */
    const char *domain; /* "ai.onnx" is stored as "" */
    const char *op;
    int version; /* opset version of the domain in this model */
    int n_in, n_out, n_attributes;
    int *in; /* value indices, -1: absent */
    int *out;
    struct sc_attribute *attributes;
    int *origins; /* units of the model that this one stands for; in a body: the node's that has the body */
    int n_origins;
    int index; /* of the first origin: stable across passes; keys random numbers and messages. Nodes of bodies and
                  functions have numbers of their own from n_file_nodes on */
    const struct sc_function *function; /* the local function that it calls; NULL: an operator */
    bool dead; /* removed by a pass */
};

struct sc_opset {
    const char *domain; /* "" for ai.onnx */
    int version;
};

/* A function of the model file. Its body's inputs are the formal inputs, without facts; attributes inside may have
 * `ref`. No function calls itself, directly or through others. */
struct sc_function {
    const char *domain, *name, *overload;
    int n_attributes; /* that callers must give */
    const char **attributes;
    int n_defaults; /* that callers may give, with their defaults */
    struct sc_attribute *defaults;
    int n_opsets; /* 0: the model's */
    const struct sc_opset *opsets;
    struct sc_graph *body;
};

/* One graph or the body of a control-flow node. Nodes are in a topological order. Arrays are owned by the model's
 * arena. */
struct sc_graph {
    const char *name;
    const struct sc_graph *outer; /* enclosing graph of a body; NULL for the main graph */
    int n_values, cap_values;
    struct sc_graph_value *values;
    int n_nodes, cap_nodes;
    struct sc_node *nodes;
    int n_inputs, n_outputs;
    int *inputs; /* value indices, in file order; those with a default (initializer) included, which are initializers
                    after passes unless a caller gives them. In files of IR version 3, where every initializer had to be
                    an input, those are constants and not inputs */
    int *outputs;
    int n_weights, cap_weights;
    struct sc_weight *weights;
    struct sc_map names; /* value name -> index */
    struct sc_arena *arena; /* for what passes add */
    struct sc_graph *next; /* the list of all graphs of a model */
};

/* The index of a value by name, or -1. */
int sc_graph_find(const struct sc_graph *graph, const char *name);

/* The name of a value where it is defined: passes may have moved what a body captures to a value of another name. */
const char *sc_graph_value_name(const struct sc_graph *graph, int value);

/* Appends; returns the new index in *index. Fails with SC_NO_MEMORY. A value's name must be new. */
enum sc_status sc_graph_add_value(struct sc_graph *graph, const char *name, int *index);
enum sc_status sc_graph_add_weight(struct sc_graph *graph, const struct sc_weight *weight, int value);

/* Makes a value that has a weight an initializer with the weight's type, dims and, where it is known, content. */
void sc_graph_make_constant(struct sc_graph *graph, int value);

/* Input or output i; -1: absent. */
static inline int sc_node_in(const struct sc_node *node, int i)
{
    return i < node->n_in ? node->in[i] : -1;
}

static inline int sc_node_out(const struct sc_node *node, int i)
{
    return i < node->n_out ? node->out[i] : -1;
}

/* An attribute of the node by name, or NULL. */
const struct sc_attribute *sc_node_attribute(const struct sc_node *node, const char *name);

/* Typed reads with defaults; a wrong attribute type is SC_BAD_MODEL naming node, operator and attribute. */
enum sc_status sc_node_int(const struct sc_node *node, const char *name, int64_t otherwise, int64_t *value);
enum sc_status sc_node_float(const struct sc_node *node, const char *name, float otherwise, float *value);
enum sc_status sc_node_text(const struct sc_node *node, const char *name, const char *otherwise, const char **value);
enum sc_status sc_node_ints(
    const struct sc_node *node, const char *name, int *n, const int64_t **values); /* absent: n = -1 */
enum sc_status sc_node_floats(const struct sc_node *node, const char *name, int *n, const float **values);

/* "node 'name' (Op)" for messages; nodes without a name are called by their first output. Returns buffer. */
char *sc_node_text_name(const struct sc_graph *graph, const struct sc_node *node, char *buffer, size_t bytes);

#endif
