/* SPDX-License-Identifier: Apache-2.0
 * A model on its way to processes that cannot open its file. Everything in an image is written by this program for this
 * program, from a skeleton that the walker has checked; what could lead out of memory is checked again.
 *
 *   head, skeleton, payloads, for each file its size and name, parts, the bytes of each part */
#include <stdlib.h>
#include <string.h>

#include "model/load.h"

#define IMAGE_MAGIC 0x31676d6963735343u

struct image_head {
    uint64_t magic, fingerprint, skeleton_bytes, n_payloads, n_files, n_parts;
};

struct image_file {
    uint64_t bytes, name_bytes; /* the name's with its zero */
};

struct writer {
    unsigned char *data; /* NULL: count only */
    size_t at;
};

static void put(struct writer *writer, const void *data, size_t bytes)
{
    if (writer->data && bytes > 0) {
        memcpy(writer->data + writer->at, data, bytes);
    }
    writer->at += bytes;
}

static void put_image(struct writer *writer, const struct sc_loader *loader)
{
    const struct sc_model *model = loader->model;
    const struct sc_skeleton *skeleton = &loader->skeleton;
    const struct image_head head = {.magic = IMAGE_MAGIC,
        .fingerprint = skeleton->fingerprint,
        .skeleton_bytes = skeleton->bytes,
        .n_payloads = skeleton->n_payloads,
        .n_files = (uint64_t)model->n_files,
        .n_parts = loader->n_parts};
    put(writer, &head, sizeof head);
    put(writer, skeleton->data, skeleton->bytes);
    put(writer, skeleton->payloads, skeleton->n_payloads * sizeof *skeleton->payloads);
    for (int i = 0; i < model->n_files; i++) {
        const struct image_file file = {model->files[i].bytes, strlen(model->file_names[i]) + 1};
        put(writer, &file, sizeof file);
        put(writer, model->file_names[i], file.name_bytes);
    }
    put(writer, loader->parts, loader->n_parts * sizeof *loader->parts);
    for (size_t i = 0; i < loader->n_parts; i++) {
        const struct sc_part *part = &loader->parts[i];
        put(writer, model->files[part->file].data + part->offset, part->bytes);
    }
}

static enum sc_status write_image(
    const struct sc_loader *loader, const struct sc_model *opened, void **image, size_t *bytes)
{
    struct writer writer = {0};
    if (loader->skeleton.fingerprint != opened->fingerprint) {
        return sc_fail(SC_IO, "'%s': is another model than when it was opened", opened->path);
    }
    put_image(&writer, loader);
    *bytes = writer.at;
    writer = (struct writer){.data = malloc(writer.at)};
    if (!writer.data) {
        return sc_fail(SC_NO_MEMORY, "out of memory: %zu bytes wanted for the skeleton of '%s'", *bytes, opened->path);
    }
    put_image(&writer, loader);
    *image = writer.data;
    return SC_OK;
}

enum sc_status sc_model_image(
    const struct sc_model *model, const struct sc_model_options *options, void **image, size_t *bytes)
{
    struct sc_model *again = calloc(1, sizeof *again);
    if (!again) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a model wanted");
    }
    struct sc_loader loader = {.model = again,
        .arena = &again->arena,
        .links = options && options->links,
        .function = -1,
        .notes_parts = true};
    enum sc_status status = sc_load_path(&loader, model->path);
    if (status == SC_OK) {
        status = write_image(&loader, model, image, bytes);
    }
    sc_skeleton_release(&loader.skeleton);
    free(loader.parts);
    sc_model_close(again);
    return status;
}

struct reader {
    const unsigned char *data;
    size_t left;
};

/* The next bytes, or NULL. */
static const void *take(struct reader *reader, uint64_t bytes)
{
    if (bytes > reader->left) {
        return NULL;
    }
    const void *taken = reader->data;
    reader->data += bytes;
    reader->left -= bytes;
    return taken;
}

static enum sc_status copy(struct reader *reader, void *to, size_t bytes)
{
    const void *from = take(reader, bytes);
    if (!from) {
        return sc_fail(SC_PEER, "the image of a model ends %zu bytes early", bytes - reader->left);
    }
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return SC_OK;
}

static enum sc_status read_skeleton(struct reader *reader, const struct image_head *head, struct sc_skeleton *skeleton)
{
    if (head->skeleton_bytes > reader->left || head->n_payloads > reader->left / sizeof *skeleton->payloads) {
        return sc_fail(SC_PEER, "the image of a model has an impossible skeleton");
    }
    skeleton->data = malloc(head->skeleton_bytes + 1);
    skeleton->payloads = malloc(head->n_payloads * sizeof *skeleton->payloads + 1);
    if (!skeleton->data || !skeleton->payloads) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a skeleton wanted");
    }
    skeleton->bytes = head->skeleton_bytes;
    skeleton->n_payloads = head->n_payloads;
    skeleton->fingerprint = head->fingerprint;
    SC_TRY(copy(reader, skeleton->data, skeleton->bytes));
    return copy(reader, skeleton->payloads, skeleton->n_payloads * sizeof *skeleton->payloads);
}

static enum sc_status read_files(struct reader *reader, uint64_t n_files, struct sc_model *model)
{
    if (n_files < 1 || n_files > reader->left / sizeof(struct image_file)) {
        return sc_fail(SC_PEER, "the image of a model has %llu files", (unsigned long long)n_files);
    }
    model->files = sc_arena_array(&model->arena, n_files, sizeof *model->files);
    model->file_names = sc_arena_array(&model->arena, n_files, sizeof *model->file_names);
    if (!model->files || !model->file_names) {
        return SC_NO_MEMORY;
    }
    for (uint64_t i = 0; i < n_files; i++) {
        struct image_file file;
        SC_TRY(copy(reader, &file, sizeof file));
        const char *name = take(reader, file.name_bytes);
        if (!name || file.name_bytes == 0 || name[file.name_bytes - 1] != '\0') {
            return sc_fail(SC_PEER, "the image of a model has a file without a name");
        }
        model->file_names[i] = sc_arena_text(&model->arena, name, file.name_bytes - 1);
        if (!model->file_names[i]) {
            return SC_NO_MEMORY;
        }
        SC_TRY(sc_file_blank(name, file.bytes, &model->files[i]));
        model->n_files++;
    }
    model->path = sc_arena_text(&model->arena, model->file_names[0], strlen(model->file_names[0]));
    model->folder = model->path ? sc_path_folder(&model->arena, model->path) : NULL;
    return model->folder ? SC_OK : SC_NO_MEMORY;
}

static bool inside(const struct sc_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->bytes && bytes <= file->bytes - offset;
}

static enum sc_status check_payloads(const struct sc_skeleton *skeleton, const struct sc_file *file)
{
    for (size_t i = 0; i < skeleton->n_payloads; i++) {
        const struct sc_payload *payload = &skeleton->payloads[i];
        if (!inside(file, payload->message, payload->message_bytes) ||
            !inside(file, payload->raw, payload->raw_bytes) || !inside(file, payload->chunk, payload->chunk_bytes)) {
            return sc_fail(SC_PEER, "the image of a model has a tensor outside its file");
        }
    }
    return SC_OK;
}

static enum sc_status read_parts(struct reader *reader, uint64_t n_parts, struct sc_model *model)
{
    struct reader content = *reader;
    if (n_parts > reader->left / sizeof(struct sc_part) || !take(&content, n_parts * sizeof(struct sc_part))) {
        return sc_fail(SC_PEER, "the image of a model ends before its parts");
    }
    for (uint64_t i = 0; i < n_parts; i++) {
        struct sc_part part;
        SC_TRY(copy(reader, &part, sizeof part));
        const void *from = take(&content, part.bytes);
        if (!from || part.file >= (uint64_t)model->n_files ||
            !inside(&model->files[part.file], part.offset, part.bytes)) {
            return sc_fail(SC_PEER, "the image of a model has a part outside its files");
        }
        sc_file_fill(&model->files[part.file], part.offset, from, part.bytes);
    }
    return SC_OK;
}

static enum sc_status read_image(struct reader *reader, struct sc_loader *loader)
{
    struct image_head head;
    struct sc_model *model = loader->model;
    SC_TRY(copy(reader, &head, sizeof head));
    if (head.magic != IMAGE_MAGIC) {
        return sc_fail(SC_PEER, "the image of a model begins with %016llx", (unsigned long long)head.magic);
    }
    SC_TRY(read_skeleton(reader, &head, &loader->skeleton));
    SC_TRY(read_files(reader, head.n_files, model));
    SC_TRY(check_payloads(&loader->skeleton, &model->files[0]));
    SC_TRY(read_parts(reader, head.n_parts, model));
    loader->what = model->path;
    loader->file = model->files[0];
    return sc_load_skeleton(loader);
}

enum sc_status sc_model_open_image(const void *image, size_t bytes, struct sc_model **model)
{
    struct sc_model *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a model wanted");
    }
    made->remote = true;
    struct reader reader = {.data = image, .left = bytes};
    struct sc_loader loader = {.model = made, .arena = &made->arena, .function = -1};
    const enum sc_status status = read_image(&reader, &loader);
    sc_skeleton_release(&loader.skeleton);
    if (status != SC_OK) {
        sc_model_close(made);
        return status;
    }
    *model = made;
    return SC_OK;
}
