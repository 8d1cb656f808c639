/* SPDX-License-Identifier: Apache-2.0
 * Values in files beside the model. A location must not lead out of the model's folder; what a file is gets judged on
 * the opened descriptor, which is then compared with what the resolved path means, so that nothing can be swapped
 * between. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/load.h"

static bool has_parent_step(const char *location)
{
    for (const char *at = location; *at;) {
        const size_t length = strcspn(at, "/\\");
        if (length == 2 && at[0] == '.' && at[1] == '.') {
            return true;
        }
        at += length + (at[length] != '\0');
    }
    return false;
}

/* True when the file of the descriptor is what a path below the resolved folder leads to. */
static bool is_inside(const char *folder, const char *path, const struct stat *opened)
{
    bool inside = false;
    char *real_folder = realpath(folder, NULL);
    char *real_path = realpath(path, NULL);
    struct stat found;
    if (real_folder && real_path && lstat(real_path, &found) == 0) {
        const size_t length = strcmp(real_folder, "/") == 0 ? 0 : strlen(real_folder);
        inside = strncmp(real_folder, real_path, length) == 0 && real_path[length] == '/' &&
            found.st_dev == opened->st_dev && found.st_ino == opened->st_ino;
    }
    free(real_folder);
    free(real_path);
    return inside;
}

static enum sc_status judge(
    const struct sc_loader *loader, const char *folder, const char *path, const struct stat *opened)
{
    if (!S_ISREG(opened->st_mode)) {
        return sc_fail(SC_BAD_MODEL, "external data '%s' is not a regular file", path);
    }
    if (loader->links) {
        return SC_OK;
    }
    if (!is_inside(folder, path, opened)) {
        return sc_fail(SC_BAD_MODEL,
            "external data '%s' is a link out of the model's folder (the option 'links' "
            "allows it)",
            path);
    }
    if (opened->st_nlink != 1) {
        return sc_fail(SC_BAD_MODEL, "external data '%s' has %lu hard links, want 1 (the option 'links' allows it)",
            path, (unsigned long)opened->st_nlink);
    }
    return SC_OK;
}

static enum sc_status map_inside(
    const struct sc_loader *loader, const char *folder, const char *path, struct sc_file *file)
{
    /* O_NONBLOCK: opening a pipe that nobody writes to must not hang. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return sc_fail(SC_IO, "external data '%s': %s", path, strerror(errno));
    }
    struct stat opened;
    enum sc_status status = SC_OK;
    if (fstat(fd, &opened) != 0) {
        status = sc_fail(SC_IO, "external data '%s': %s", path, strerror(errno));
    } else {
        status = judge(loader, folder, path, &opened);
    }
    if (status == SC_OK && sc_file_map_open(path, fd, (size_t)opened.st_size, file) != SC_OK) {
        status = sc_fail_in("external data");
    }
    (void)close(fd);
    return status;
}

/* Makes room for one more file, so that nothing can fail between mapping it and noting it. */
static enum sc_status reserve_file(struct sc_loader *loader)
{
    struct sc_model *model = loader->model;
    if (model->n_files < loader->cap_files) {
        return SC_OK;
    }
    const int capacity = loader->cap_files ? 2 * loader->cap_files : 4;
    struct sc_file *files = sc_arena_array(loader->arena, (size_t)capacity, sizeof *files);
    const char **names = sc_arena_array(loader->arena, (size_t)capacity, sizeof *names);
    if (!files || !names) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < model->n_files; i++) {
        files[i] = model->files[i];
        names[i] = model->file_names[i];
    }
    model->files = files;
    model->file_names = names;
    loader->cap_files = capacity;
    return SC_OK;
}

static enum sc_status find_blank(const struct sc_model *model, const char *path, int *index)
{
    for (int i = 1; i < model->n_files; i++) {
        if (strcmp(model->file_names[i], path) == 0) {
            *index = i;
            return SC_OK;
        }
    }
    return sc_fail(SC_PEER, "the image of '%s' has no file '%s'", model->path, path);
}

static enum sc_status find_file(struct sc_loader *loader, const char *name, const char *location, int *index)
{
    struct sc_model *model = loader->model;
    const int64_t known = sc_map_get(&loader->external, location, strlen(location), -1);
    if (known >= 0) {
        *index = (int)known;
        return SC_OK;
    }
    if (!*location || *location == '/' || has_parent_step(location)) {
        return sc_fail(
            SC_BAD_MODEL, "tensor '%s' has its data in '%s', want a path inside the model's folder", name, location);
    }
    char *path = sc_path_join(loader->arena, model->folder, location);
    char *copy = sc_arena_text(loader->arena, location, strlen(location));
    if (!path || !copy) {
        return SC_NO_MEMORY;
    }
    if (model->remote) { /* all files are there */
        SC_TRY(find_blank(model, path, index));
    } else {
        struct sc_file file;
        SC_TRY(reserve_file(loader));
        SC_TRY(map_inside(loader, model->folder, path, &file));
        *index = model->n_files;
        model->file_names[model->n_files] = path;
        model->files[model->n_files++] = file;
    }
    return sc_map_put(&loader->external, copy, strlen(copy), *index);
}

/* A decimal number without sign; false when it is something else or too large. */
static bool parse_size(const char *text, size_t *value)
{
    size_t result = 0;
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || result > (SIZE_MAX - 9) / 10) {
            return false;
        }
        result = 10 * result + (size_t)(*text - '0');
    }
    *value = result;
    return true;
}

struct external {
    const char *location;
    size_t offset, length;
    bool has_length;
};

static enum sc_status read_keys(const char *name, const Sc__Onnx__TensorProto *tensor, struct external *external)
{
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = sc_or_empty(tensor->external_data[i]->key);
        const char *value = sc_or_empty(tensor->external_data[i]->value);
        bool good = true;
        if (strcmp(key, "location") == 0) {
            external->location = value;
        } else if (strcmp(key, "offset") == 0) {
            good = parse_size(value, &external->offset);
        } else if (strcmp(key, "length") == 0) {
            good = parse_size(value, &external->length);
            external->has_length = true;
        }
        if (!good) {
            return sc_fail(SC_BAD_MODEL, "tensor '%s' has the bad external %s '%s'", name, key, value);
        }
    }
    return SC_OK;
}

enum sc_status sc_load_external(struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor,
    size_t expected_bytes, struct sc_weight *weight)
{
    if (!loader->model || weight->shape.type == SC_STRING) {
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has external data where none can be", name);
    }
    struct external external = {.location = ""};
    SC_TRY(read_keys(name, tensor, &external));
    if (external.has_length && external.length != expected_bytes) {
        char text[256];
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has %zu bytes of external data, want %zu for %s", name,
            external.length, expected_bytes, sc_tensor_text(&weight->shape, text, sizeof text));
    }
    SC_TRY(find_file(loader, name, external.location, &weight->file));
    const struct sc_file *file = &loader->model->files[weight->file];
    if (external.offset > file->bytes || expected_bytes > file->bytes - external.offset) {
        return sc_fail(SC_BAD_MODEL, "tensor '%s' wants %zu bytes at %zu of '%s', which has %zu", name, expected_bytes,
            external.offset, external.location, file->bytes);
    }
    weight->external = true;
    if (expected_bytes == 0) {
        weight->decoded = sc_arena_alloc(loader->arena, 0);
        return weight->decoded ? SC_OK : SC_NO_MEMORY;
    }
    weight->raw = file->data + external.offset;
    weight->raw_bytes = expected_bytes;
    return SC_OK;
}
