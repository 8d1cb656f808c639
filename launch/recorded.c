/* SPDX-License-Identifier: Apache-2.0
 * Files are read when they are asked for: a folder may hold hundreds of data sets. */
#include "launch/recorded.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sc_names_release(struct sc_names *names)
{
    free(names->name);
    *names = (struct sc_names){0};
}

static enum sc_status add_name(struct sc_arena *arena, struct sc_names *names, const char *name)
{
    if (names->n == names->capacity) {
        const int capacity = names->capacity ? 2 * names->capacity : 16;
        char **bigger = realloc(names->name, (size_t)capacity * sizeof *bigger);
        if (!bigger) {
            return sc_fail(SC_NO_MEMORY, "out of memory for %d names", capacity);
        }
        names->name = bigger;
        names->capacity = capacity;
    }
    names->name[names->n] = sc_arena_text(arena, name, strlen(name));
    return names->name[names->n++] ? SC_OK : SC_NO_MEMORY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names that differ in their number alone: the shorter has the smaller one. */
static int by_number(const void *a, const void *b)
{
    const size_t n = strlen(*(char *const *)a), m = strlen(*(char *const *)b);
    return n == m ? by_name(a, b) : n < m ? -1 : 1;
}

/* Entries of a folder that start with `prefix`, sorted. */
static enum sc_status list_folder(struct sc_arena *arena, const char *path, const char *prefix,
    int (*order)(const void *a, const void *b), struct sc_names *names)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return sc_fail(SC_BAD_INPUT, "'%s' is not a folder that can be read", path);
    }
    enum sc_status status = SC_OK;
    for (struct dirent *entry = readdir(folder); entry && status == SC_OK; entry = readdir(folder)) {
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            status = add_name(arena, names, entry->d_name);
        }
    }
    closedir(folder);
    if (status == SC_OK && names->n > 1) {
        qsort(names->name, (size_t)names->n, sizeof *names->name, order);
    }
    return status;
}

static bool exists(const char *path)
{
    struct stat about;
    return path && stat(path, &about) == 0;
}

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

enum sc_status sc_recorded_find(
    struct sc_arena *arena, const char *path, struct sc_names *folders, struct sc_names *alone)
{
    if (is_file(path)) {
        return add_name(arena, alone, path);
    }
    if (exists(sc_path_join(arena, path, "model.onnx"))) {
        struct sc_names sets = {0};
        const enum sc_status listed = list_folder(arena, path, "test_data_set_", by_number, &sets);
        const bool has_sets = sets.n > 0;
        sc_names_release(&sets);
        SC_TRY(listed);
        return add_name(arena, has_sets ? folders : alone, path);
    }
    struct sc_names inner = {0};
    enum sc_status status = list_folder(arena, path, "", by_name, &inner);
    const int before = folders->n;
    for (int i = 0; i < inner.n && status == SC_OK; i++) {
        const char *folder = sc_path_join(arena, path, inner.name[i]);
        if (folder && exists(sc_path_join(arena, folder, "model.onnx"))) {
            status = add_name(arena, folders, folder);
        }
    }
    sc_names_release(&inner);
    if (status == SC_OK && folders->n == before) {
        status = sc_fail(SC_BAD_INPUT, "'%s' holds no model.onnx, nor does a folder in it", path);
    }
    return status;
}

/* As texts one after the other. */
enum sc_status sc_recorded_share(struct sc_world *world, struct sc_arena *arena, struct sc_names *folders)
{
    const bool root = sc_world_rank(world) == 0;
    uint64_t bytes = 0;
    for (int i = 0; i < folders->n; i++) {
        bytes += strlen(folders->name[i]) + 1;
    }
    SC_TRY(sc_world_broadcast(world, &bytes, sizeof bytes));
    char *texts = sc_arena_alloc(arena, bytes);
    SC_TRY(sc_world_agree(world, texts ? SC_OK : SC_NO_MEMORY));
    char *at = texts;
    for (int i = 0; i < folders->n; i++) {
        at = stpcpy(at, folders->name[i]) + 1;
    }
    SC_TRY(sc_world_broadcast(world, texts, bytes));
    enum sc_status status = SC_OK;
    for (at = texts; !root && at < texts + bytes && status == SC_OK; at += strlen(at) + 1) {
        status = add_name(arena, folders, at);
    }
    return sc_world_agree(world, status);
}

enum sc_status sc_recorded_list(struct sc_recorded *recorded, struct sc_arena *arena)
{
    SC_TRY(list_folder(arena, recorded->folder, "test_data_set_", by_number, &recorded->sets));
    return recorded->sets.n > 0 ? SC_OK : sc_fail(SC_BAD_INPUT, "there is no test_data_set_0");
}

/* NULL when memory is out. */
static const char *value_path(
    const struct sc_recorded *recorded, int set, const char *kind, int j, struct sc_arena *arena)
{
    const char *folder = sc_path_join(arena, recorded->folder, recorded->sets.name[set]);
    const char *name = sc_arena_printf(arena, "%s_%d.pb", kind, j);
    return folder && name ? sc_path_join(arena, folder, name) : NULL;
}

enum sc_status sc_recorded_inputs(
    const struct sc_recorded *recorded, int set, struct sc_arena *arena, const struct sc_value ***inputs)
{
    const struct sc_graph *graph = recorded->graph;
    struct sc_value *values = sc_arena_array(arena, (size_t)graph->n_inputs + 1, sizeof *values);
    *inputs = sc_arena_array(arena, (size_t)graph->n_inputs + 1, sizeof **inputs);
    if (!values || !*inputs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *path = value_path(recorded, set, "input", i, arena);
        if (!path) {
            return SC_NO_MEMORY;
        }
        if (exists(path)) {
            SC_TRY(sc_value_read_pb(path, &graph->values[graph->inputs[i]].fact, arena, &values[i]));
            (*inputs)[i] = &values[i];
        }
    }
    return SC_OK;
}

enum sc_status sc_recorded_output(
    const struct sc_recorded *recorded, int set, int output, struct sc_arena *arena, struct sc_value *value)
{
    const struct sc_graph_value *declared = &recorded->graph->values[recorded->graph->outputs[output]];
    const char *path = value_path(recorded, set, "output", output, arena);
    if (!path) {
        return SC_NO_MEMORY;
    }
    if (!exists(path)) {
        return sc_fail(
            SC_BAD_INPUT, "%s holds no output_%d.pb for output '%s'", recorded->sets.name[set], output, declared->name);
    }
    return sc_value_read_pb(path, &declared->fact, arena, value);
}

/* *mode: of an input in a set. Reads nothing but booleans. */
static enum sc_status read_mode(
    const struct sc_recorded *recorded, int set, int input, struct sc_arena *arena, int8_t *mode)
{
    const struct sc_fact *fact = &recorded->graph->values[recorded->graph->inputs[input]].fact;
    struct sc_value value = {0};
    *mode = 0;
    if (fact->kind != SC_KIND_TENSOR || fact->type != SC_BOOL) {
        return SC_OK;
    }
    const char *path = value_path(recorded, set, "input", input, arena);
    if (!path || !exists(path)) {
        return path ? SC_OK : SC_NO_MEMORY;
    }
    SC_TRY(sc_value_read_pb(path, fact, arena, &value));
    *mode = sc_value_mode(&value);
    return SC_OK;
}

static enum sc_status same_modes(
    const struct sc_recorded *recorded, int set, struct sc_arena *arena, const int8_t *modes, bool *same)
{
    *same = true;
    for (int i = 0; i < recorded->graph->n_inputs && *same; i++) {
        int8_t mode;
        SC_TRY(read_mode(recorded, set, i, arena, &mode));
        *same = mode == modes[i];
    }
    return SC_OK;
}

enum sc_status sc_recorded_open(
    const struct sc_recorded *recorded, int first, struct sc_arena *arena, struct sc_inputs *inputs, int *end)
{
    const struct sc_graph *graph = recorded->graph;
    const size_t n = (size_t)graph->n_inputs + 1;
    inputs->given = sc_arena_array(arena, n, sizeof *inputs->given);
    inputs->modes = sc_arena_array(arena, n, sizeof *inputs->modes);
    inputs->facts = sc_arena_array(arena, n, sizeof *inputs->facts);
    if (!inputs->given || !inputs->modes || !inputs->facts) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_recorded_inputs(recorded, first, arena, &inputs->values));
    for (int i = 0; i < graph->n_inputs; i++) {
        inputs->facts[i] = graph->values[graph->inputs[i]].fact;
        inputs->modes[i] = sc_value_mode(inputs->values[i]);
        if (inputs->values[i]) {
            sc_fact_of(&inputs->facts[i], inputs->values[i]);
            inputs->facts[i].value = NULL;
        }
        for (int s = 0; s < recorded->sets.n && !inputs->given[i]; s++) {
            inputs->given[i] = exists(value_path(recorded, s, "input", i, arena));
        }
    }
    bool same = true;
    for (*end = first + 1; *end < recorded->sets.n; ++*end) {
        SC_TRY(same_modes(recorded, *end, arena, inputs->modes, &same));
        if (!same) {
            break;
        }
    }
    return SC_OK;
}
