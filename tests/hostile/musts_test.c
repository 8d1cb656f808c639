/* SPDX-License-Identifier: Apache-2.0
 * musts_test FILE...: nodes that break what their clause demands, each refused with one line that names node and
 * operator.
 *
 * A node of a file is a line OPERATOR-VERSION[@DOMAIN] ATTRIBUTES (as in model_text.h), then a line for each input, "
 * NAME TYPE DIM... = VALUES" or "  -" for an absent one, "  > N" where it has more outputs than one, and "  ! WORDS"
 * that its line has, or "  =" where the clause leaves the result open, and only a trap would be wrong. It is tried
 * twice: with the inputs as weights, whose content is known before anything runs, and with inputs of which only type
 * and rank are declared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/frame.h"
#include "ops/schema.h"
#include "passes/passes.h"
#include "tests/hostile/model_text.h"

enum { TEXT = 1 << 13, INPUTS = 24 };

struct must {
    const char *file;
    int line, n_inputs, n_outputs;
    bool taken;
    char head[512], words[256];
    char inputs[INPUTS][512]; /* "-": absent */
};

struct tried {
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_program *program;
    struct sc_frame *frame;
};

static void say(const struct must *must, const char *way, const char *what)
{
    printf("%s:%d: %s, %s: %s\n", must->file, must->line, must->head, way, what);
}

/* "in x int64 x0 x1" of "x int64 2 3 = 1 2": as many dims, none known. */
static size_t declare(char *text, size_t bytes, const char *input)
{
    char name[64], type[64];
    int at = 0;
    size_t n = 0;
    if (sscanf(input, "%63s %63s%n", name, type, &at) == 2) {
        n = (size_t)snprintf(text, bytes, "in %s %s", name, type);
        char word[64];
        int step = 0;
        for (int d = 0; sscanf(input + at, "%63s%n", word, &step) == 1 && word[0] != '='; d++, at += step) {
            n += (size_t)snprintf(text + n, bytes - n, " %s%d", name, d);
        }
        n += (size_t)snprintf(text + n, bytes - n, "\n");
    }
    return n;
}

static void write_text(const struct must *must, bool given, char *text)
{
    char op[64], domain[64] = "ai.onnx", names[512] = "", attributes[512] = "";
    int version = 0, at = 0;
    sscanf(must->head, "%63[^-]-%d%n", op, &version, &at);
    if (must->head[at] == '@') {
        int step = 0;
        sscanf(must->head + at, "@%63s%n", domain, &step);
        at += step;
    }
    snprintf(attributes, sizeof attributes, "%s", must->head + at);
    size_t n = (size_t)snprintf(text, TEXT, "ir 13\nopset %s %d\n", domain, version);
    for (int i = 0; i < must->n_inputs; i++) {
        char name[64] = "";
        if (strcmp(must->inputs[i], "-") != 0) {
            sscanf(must->inputs[i], "%63s", name);
            n += given ? declare(text + n, TEXT - n, must->inputs[i])
                       : (size_t)snprintf(text + n, TEXT - n, "weight %s\n", must->inputs[i]);
        }
        strcat(strcat(names, i ? "," : ""), name);
    }
    n += (size_t)snprintf(text + n, TEXT - n, "node %s@%s %s -> y0", op, domain, must->n_inputs ? names : "-");
    for (int o = 1; o < must->n_outputs; o++) {
        n += (size_t)snprintf(text + n, TEXT - n, ",y%d", o);
    }
    snprintf(text + n, TEXT - n, " %s\nout y0\n", attributes);
}

static enum sc_status open_text(const char *text, const char *path, struct tried *t)
{
    size_t bytes = 0;
    int line = 0;
    unsigned char *model = sc_test_model(text, &bytes, &line);
    FILE *file = model ? fopen(path, "wb") : NULL;
    if (!file || fwrite(model, 1, bytes, file) != bytes || fclose(file) != 0) {
        fprintf(stderr, "line %d is no line of a model:\n%s", line, text);
        exit(2);
    }
    free(model);
    return sc_model_open(path, &t->model);
}

static enum sc_status run(struct tried *t, const struct sc_value *const *feeds)
{
    const struct sc_kernels *kernels;
    SC_TRY(sc_kernels_best(&kernels));
    SC_TRY(sc_check_graph(t->model->graph));
    SC_TRY(sc_passes_run(t->model, kernels));
    const struct sc_program_spec spec = sc_program_whole(t->model, kernels);
    const struct sc_frame_options options = {.team = NULL};
    SC_TRY(sc_program_compile(&spec, &t->program));
    SC_TRY(sc_program_load(t->program, NULL));
    SC_TRY(sc_frame_create(t->program, &options, &t->frame));
    return sc_frame_run(t->frame, feeds, 0);
}

static void close_tried(struct tried *t)
{
    sc_frame_free(t->frame);
    sc_program_free(t->program);
    sc_model_close(t->model);
    sc_arena_release(&t->arena);
}

/* What the inputs of `given` are fed with: the weights of the same name. */
static enum sc_status feed(struct tried *weights, const struct sc_graph *given, struct sc_value *values)
{
    const struct sc_graph *graph = weights->model->graph;
    for (int i = 0; i < given->n_inputs; i++) {
        const char *name = given->values[given->inputs[i]].name;
        for (int v = 0; v < graph->n_values; v++) {
            if (graph->values[v].weight >= 0 && strcmp(graph->values[v].name, name) == 0) {
                values[i].kind = SC_KIND_TENSOR;
                SC_TRY(
                    sc_weight_tensor(&graph->weights[graph->values[v].weight], &weights->arena, &values[i].u.tensor));
            }
        }
    }
    return SC_OK;
}

static bool holds(const struct must *must, const char *way, enum sc_status status)
{
    const char *text = status == SC_OK ? "it was taken" : sc_error_last()->text;
    char op[80];
    snprintf(op, sizeof op, "node 'y0' (%.*s): ", (int)strcspn(must->head, "-"), must->head);
    const bool good = must->taken ? status == SC_OK : status != SC_OK && strstr(text, op) && strstr(text, must->words);
    if (!good) {
        say(must, way, text);
    }
    return good;
}

/* The number of ways in which the node was not refused as it should be. */
static int try(const struct must *must, const char *path)
{
    char text[TEXT];
    const struct sc_value *feeds[INPUTS];
    struct sc_value values[INPUTS] = {{0}};
    struct tried weights = {0}, source = {0}, inputs = {0};
    write_text(must, false, text);
    enum sc_status status = open_text(text, path, &weights);
    int bad = !holds(must, "as weights", status == SC_OK ? run(&weights, NULL) : status);
    close_tried(&weights);
    if (status != SC_OK || must->n_inputs == 0) {
        return bad; /* what the file alone shows */
    }
    status = open_text(text, path, &source);
    write_text(must, true, text);
    char second[300];
    snprintf(second, sizeof second, "%s.given", path);
    status = status == SC_OK ? open_text(text, second, &inputs) : status;
    for (int i = 0; i < INPUTS; i++) {
        feeds[i] = &values[i];
    }
    status = status == SC_OK ? feed(&source, inputs.model->graph, values) : status;
    bad += !holds(must, "as inputs", status == SC_OK ? run(&inputs, feeds) : status);
    close_tried(&inputs);
    close_tried(&source);
    remove(second);
    return bad;
}

/* The next node of a file; false at its end. */
static bool next(FILE *file, struct must *must)
{
    char line[512];
    must->n_inputs = 0;
    must->n_outputs = 1;
    must->head[0] = 0;
    while (fgets(line, sizeof line, file)) {
        must->line++;
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0) {
            continue;
        }
        if (line[0] != ' ') {
            snprintf(must->head, sizeof must->head, "%s", line);
        } else if (strncmp(line, "  ! ", 4) == 0 || strcmp(line, "  =") == 0) {
            must->taken = line[2] == '=';
            snprintf(must->words, sizeof must->words, "%.*s", (int)sizeof must->words - 1, must->taken ? "" : line + 4);
            return true;
        } else if (strncmp(line, "  > ", 4) == 0) {
            must->n_outputs = (int)strtol(line + 4, NULL, 10);
        } else if (must->n_inputs < INPUTS) {
            snprintf(must->inputs[must->n_inputs++], sizeof must->inputs[0], "%s", line + 2);
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    int bad = 0, n = 0;
    char folder[] = "/tmp/musts-XXXXXX", path[64];
    if (!mkdtemp(folder)) {
        return 2;
    }
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    for (int f = 1; f < argc; f++) {
        FILE *file = fopen(argv[f], "r");
        if (!file) {
            printf("%s cannot be opened\n", argv[f]);
            return 2;
        }
        struct must must = {.file = argv[f]};
        for (; next(file, &must); n++) {
            bad += try(&must, path);
        }
        fclose(file);
    }
    remove(path);
    rmdir(folder);
    printf("%d nodes, %d were not refused as they should be\n", n, bad);
    return bad > 0 || n == 0;
}
