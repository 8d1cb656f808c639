/* SPDX-License-Identifier: Apache-2.0
 * Disks fill up while a file is written, not when it moves to another name of the same folder. */
#include "launch/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"

#define SC_NAME_BYTES 200 /* of an output's name in its file's name, which may have 255 */

struct sc_output_file {
    const char *from, *to;
    const char *before; /* the file that was there, kept until all have moved */
    bool moved;
};

enum sc_status sc_outputs_open(const char *folder, struct sc_outputs *outputs)
{
    struct stat about;
    *outputs = (struct sc_outputs){.folder = folder};
    outputs->made = mkdir(folder, 0777) == 0;
    if (!outputs->made && errno != EEXIST) {
        return sc_fail(SC_IO, "folder '%s' cannot be made: %s", folder, strerror(errno));
    }
    if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return sc_fail(SC_IO, "'%s' is no folder, want one for the outputs", folder);
    }
    if (access(folder, W_OK | X_OK) != 0) {
        return sc_fail(SC_IO, "folder '%s' cannot be written: %s", folder, strerror(errno));
    }
    return SC_OK;
}

static bool has_npy(enum sc_kind kind, enum sc_type type)
{
    return kind == SC_KIND_TENSOR && type != SC_STRING && type != SC_BF16 && !sc_type_is_narrow(type);
}

enum sc_status sc_outputs_check(const char *name, enum sc_kind kind, enum sc_type type, enum sc_output_format format)
{
    if (format != SC_OUTPUT_NPY || kind == SC_KIND_NONE || type == SC_TYPE_NONE || has_npy(kind, type)) {
        return SC_OK;
    }
    const char *what = kind == SC_KIND_SEQUENCE ? "a sequence"
        : kind == SC_KIND_OPTIONAL              ? "an optional"
        : kind == SC_KIND_MAP                   ? "a map"
                                                : sc_type_name(type);
    return sc_fail(SC_UNSUPPORTED, "output '%s' is %s, which a .npy file cannot hold: give --format pb, or no --format",
        name, what);
}

static bool is_taken(const struct sc_outputs *outputs, const char *to)
{
    return sc_map_get(&outputs->taken, to, strlen(to), -1) >= 0;
}

/* A file name for an output, in folder/; other outputs keep theirs. */
static const char *name_file(struct sc_outputs *outputs, const char *name, const char *ending)
{
    char *plain = sc_arena_text(&outputs->arena, name, strnlen(name, SC_NAME_BYTES));
    if (!plain) {
        return NULL;
    }
    for (char *c = plain; *c; c++) {
        *c = *c == '/' || *c == '\\' || (unsigned char)*c < 32 ? '_' : *c;
    }
    const char *file = sc_arena_printf(&outputs->arena, "%s%s", plain, ending);
    const char *to = file ? sc_path_join(&outputs->arena, outputs->folder, file) : NULL;
    for (int i = 2; to && is_taken(outputs, to); i++) {
        file = sc_arena_printf(&outputs->arena, "%s_%d%s", plain, i, ending);
        to = file ? sc_path_join(&outputs->arena, outputs->folder, file) : NULL;
    }
    return to;
}

static enum sc_status make_passing(struct sc_outputs *outputs)
{
    char *path = sc_path_join(&outputs->arena, outputs->folder, ".stagecoach-XXXXXX");
    if (!path) {
        return SC_NO_MEMORY;
    }
    if (!mkdtemp(path)) {
        return sc_fail(SC_IO, "folder '%s' cannot be written: %s", outputs->folder, strerror(errno));
    }
    outputs->passing = path;
    return SC_OK;
}

static enum sc_status make_room(struct sc_outputs *outputs)
{
    if (outputs->n < outputs->capacity) {
        return SC_OK;
    }
    const int capacity = outputs->capacity ? 2 * outputs->capacity : 16;
    struct sc_output_file *more = sc_arena_array(&outputs->arena, (size_t)capacity, sizeof *more);
    if (!more) {
        return SC_NO_MEMORY;
    }
    if (outputs->n > 0) {
        memcpy(more, outputs->files, (size_t)outputs->n * sizeof *more);
    }
    outputs->files = more;
    outputs->capacity = capacity;
    return SC_OK;
}

/* The user knows the file by the name that it was to get. */
static enum sc_status rename_error(const char *to)
{
    const struct sc_error error = *sc_error_last();
    const char *cause = strstr(error.text, "': ");
    return sc_fail(SC_IO, "'%s'%s", to, cause ? cause + 1 : " cannot be written");
}

static enum sc_status rename_any(enum sc_status status, const char *to)
{
    return status == SC_IO ? rename_error(to) : status;
}

/* Names of a file on its way. Behind a link it waits beside what that leads to, which may be of another file system. */
static enum sc_status name_way(struct sc_outputs *outputs, struct sc_output_file *file)
{
    const char *target;
    SC_TRY(sc_file_follow(file->to, &outputs->arena, &target));
    const bool linked = target != file->to;
    file->to = target;
    file->from = linked ? sc_arena_printf(&outputs->arena, "%s.%ld-%d", target, (long)getpid(), outputs->n)
                        : sc_arena_printf(&outputs->arena, "%s/%d", outputs->passing, outputs->n);
    file->before = file->from ? sc_arena_printf(&outputs->arena, "%s.before", file->from) : NULL;
    return file->before ? SC_OK : SC_NO_MEMORY;
}

/* One more file, still to be written. */
static enum sc_status add_file(
    struct sc_outputs *outputs, const char *name, const char *ending, const struct sc_output_file **added)
{
    struct stat about;
    SC_TRY(outputs->passing ? SC_OK : make_passing(outputs));
    SC_TRY(make_room(outputs));
    struct sc_output_file file = {.to = name_file(outputs, name, ending)};
    if (!file.to) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_map_put(&outputs->taken, file.to, strlen(file.to), outputs->n));
    SC_TRY(name_way(outputs, &file));
    if (lstat(file.to, &about) == 0 && S_ISDIR(about.st_mode)) {
        return sc_fail(SC_IO, "'%s' is a folder, want room for a file", file.to);
    }
    *added = &outputs->files[outputs->n];
    outputs->files[outputs->n++] = file;
    return SC_OK;
}

enum sc_status sc_outputs_add(
    struct sc_outputs *outputs, const char *name, const struct sc_value *value, enum sc_output_format format)
{
    const enum sc_type type = value->kind == SC_KIND_TENSOR ? value->u.tensor.type : SC_TYPE_NONE;
    const bool npy = format != SC_OUTPUT_PB && has_npy(value->kind, type);
    const struct sc_output_file *file;
    SC_TRY(sc_outputs_check(name, value->kind, value->kind == SC_KIND_TENSOR ? type : SC_F32, format));
    SC_TRY(add_file(outputs, name, npy ? ".npy" : ".pb", &file));
    const enum sc_status status =
        npy ? sc_npy_write(file->from, &value->u.tensor) : sc_value_write_pb(file->from, name, value);
    return rename_any(status, file->to);
}

enum sc_status sc_outputs_add_pieces(
    struct sc_outputs *outputs, const char *name, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg)
{
    const struct sc_output_file *file;
    SC_TRY(sc_outputs_check(name, SC_KIND_TENSOR, shape->type, SC_OUTPUT_NPY));
    SC_TRY(add_file(outputs, name, ".npy", &file));
    const enum sc_status status = sc_npy_write_pieces(file->from, shape, read, arg);
    return rename_any(status, file->to);
}

enum sc_status sc_outputs_begin(
    struct sc_outputs *outputs, const char *name, const struct sc_tensor *shape, struct sc_growing_output *growing)
{
    const struct sc_output_file *file;
    SC_TRY(sc_outputs_check(name, SC_KIND_TENSOR, shape->type, SC_OUTPUT_NPY));
    SC_TRY(add_file(outputs, name, ".npy", &file));
    *growing = (struct sc_growing_output){.from = file->from, .to = file->to};
    return rename_any(sc_npy_begin(growing->from, shape, &growing->npy), growing->to);
}

enum sc_status sc_outputs_append(struct sc_growing_output *growing, const struct sc_tensor *tensor)
{
    return rename_any(sc_npy_append(&growing->npy, tensor), growing->to);
}

enum sc_status sc_outputs_end(struct sc_growing_output *growing, const struct sc_tensor *shape)
{
    return rename_any(sc_npy_end(&growing->npy, shape), growing->to);
}

enum sc_status sc_outputs_reorder(
    struct sc_growing_output *growing, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg)
{
    return rename_any(sc_npy_write_pieces(growing->from, shape, read, arg), growing->to);
}

void sc_outputs_abandon(struct sc_growing_output *growing)
{
    sc_npy_abandon(&growing->npy);
}

/* A link keeps what was there without taking it away; not every file system has links. */
static bool keep(const struct sc_output_file *file)
{
    struct stat about;
    if (lstat(file->to, &about) != 0 || S_ISDIR(about.st_mode)) {
        return false;
    }
    return link(file->to, file->before) == 0 || rename(file->to, file->before) == 0;
}

static enum sc_status move(struct sc_output_file *file)
{
    file->before = keep(file) ? file->before : NULL;
    if (rename(file->from, file->to) != 0) {
        return sc_fail(SC_IO, "'%s': %s", file->to, strerror(errno));
    }
    file->moved = true;
    return SC_OK;
}

static void take_back(struct sc_output_file *file)
{
    if (file->moved && (!file->before || rename(file->before, file->to) != 0)) {
        (void)unlink(file->to);
    }
    file->moved = false;
}

enum sc_status sc_outputs_commit(struct sc_outputs *outputs)
{
    enum sc_status status = SC_OK;
    for (int f = 0; f < outputs->n && status == SC_OK; f++) {
        status = move(&outputs->files[f]);
    }
    for (int f = 0; f < outputs->n && status != SC_OK; f++) {
        take_back(&outputs->files[f]);
    }
    outputs->committed = status == SC_OK;
    return status;
}

void sc_outputs_release(struct sc_outputs *outputs)
{
    for (int f = 0; f < outputs->n; f++) {
        (void)unlink(outputs->files[f].from);
        if (outputs->files[f].before) {
            (void)unlink(outputs->files[f].before);
        }
    }
    if (outputs->passing) {
        (void)rmdir(outputs->passing);
    }
    if (outputs->made && !outputs->committed) {
        (void)rmdir(outputs->folder);
    }
    sc_map_release(&outputs->taken);
    sc_arena_release(&outputs->arena);
    *outputs = (struct sc_outputs){0};
}
