/* SPDX-License-Identifier: Apache-2.0
 * Small models built by hand for the tests of plans. A model is a text: nodes "out1 out2 = Op in1 in2" parted by ';'.
 * Names met first as inputs become graph inputs, those that begin with "w" weights of 40 bytes; what nobody reads is
 * a graph output. */
#ifndef SC_TESTS_PLAN_FIXTURE_H
#define SC_TESTS_PLAN_FIXTURE_H

#include <assert.h>
#include <string.h>

#include "model/model.h"

enum { FIXTURE_NODES = 64, FIXTURE_VALUES = 256, FIXTURE_PORTS = 20 };

struct fixture_model {
    struct sc_model model;
    struct sc_graph graph;
    struct sc_graph_value values[FIXTURE_VALUES];
    struct sc_node nodes[FIXTURE_NODES];
    int ports[FIXTURE_NODES][2 * FIXTURE_PORTS];
    int origins[FIXTURE_NODES];
    int inputs[FIXTURE_VALUES], outputs[FIXTURE_VALUES];
    struct sc_weight weights[FIXTURE_VALUES];
    const char *names[FIXTURE_NODES];
    char text[4096];
};

static inline int fixture_value(struct fixture_model *f, const char *name)
{
    for (int v = 0; v < f->graph.n_values; v++) {
        if (!strcmp(f->values[v].name, name)) {
            return v;
        }
    }
    assert(f->graph.n_values < FIXTURE_VALUES);
    const int v = f->graph.n_values++;
    f->values[v] = (struct sc_graph_value){.name = name, .producer = -1, .weight = -1, .outer = -1};
    f->values[v].fact = (struct sc_fact){SC_KIND_TENSOR, SC_F32, SC_KIND_NONE, SC_TYPE_NONE, 1, {10}, NULL};
    f->values[v].place = SC_PLACE_INPUT;
    return v;
}

static inline void fixture_node(struct fixture_model *f, char *text)
{
    char *rest = NULL;
    const int index = f->graph.n_nodes++;
    struct sc_node *node = &f->nodes[index];
    assert(index < FIXTURE_NODES);
    f->origins[index] = index;
    *node = (struct sc_node){.name = "",
        .domain = "",
        .version = 17,
        .index = index,
        .origins = &f->origins[index],
        .n_origins = 1,
        .out = f->ports[index],
        .in = f->ports[index] + FIXTURE_PORTS};
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (!strcmp(word, "=")) {
            node->op = strtok_r(NULL, " ", &rest);
        } else if (!node->op) {
            const int v = fixture_value(f, word);
            f->values[v].place = SC_PLACE_NODE;
            f->values[v].producer = index;
            f->values[v].output = node->n_out;
            node->out[node->n_out++] = v;
        } else {
            node->in[node->n_in++] = strcmp(word, "-") ? fixture_value(f, word) : -1;
        }
    }
    f->names[index] = f->values[node->out[0]].name;
}

static inline bool fixture_is_read(const struct fixture_model *f, int v)
{
    for (int n = 0; n < f->graph.n_nodes; n++) {
        for (int i = 0; i < f->nodes[n].n_in; i++) {
            if (f->nodes[n].in[i] == v) {
                return true;
            }
        }
    }
    return false;
}

static inline void fixture_model(struct fixture_model *f, const char *text)
{
    memset(f, 0, sizeof *f);
    assert(strlen(text) < sizeof f->text);
    memcpy(f->text, text, strlen(text));
    f->graph = (struct sc_graph){.name = "g",
        .values = f->values,
        .nodes = f->nodes,
        .inputs = f->inputs,
        .outputs = f->outputs,
        .weights = f->weights,
        .arena = &f->model.arena};
    char *rest = NULL;
    for (char *line = strtok_r(f->text, ";", &rest); line; line = strtok_r(NULL, ";", &rest)) {
        fixture_node(f, line);
    }
    for (int v = 0; v < f->graph.n_values; v++) {
        struct sc_graph_value *value = &f->values[v];
        if (value->place == SC_PLACE_INPUT && value->name[0] == 'w') {
            value->place = SC_PLACE_INITIALIZER;
            value->weight = f->graph.n_weights++;
            struct sc_weight *weight = &f->weights[value->weight];
            weight->file = -1;
            weight->raw_bytes = 40;
            weight->shape = (struct sc_tensor){.type = SC_F32, .rank = 1, .dims = {10}, .strides = {1}};
        } else if (value->place == SC_PLACE_INPUT) {
            f->inputs[f->graph.n_inputs++] = v;
        } else if (!fixture_is_read(f, v)) {
            f->outputs[f->graph.n_outputs++] = v;
        }
    }
    f->model.graph = &f->graph;
    f->model.n_file_nodes = f->model.n_units = f->graph.n_nodes;
    f->model.unit_names = f->names;
    f->model.fingerprint = 0x0123456789abcdef;
}

#endif
