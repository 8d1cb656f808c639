/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"

#define MAGIC "SCSTATE1"
#define FORMAT 1
#define CHUNK_BYTES ((size_t)1 << 20)
#define SAMPLES 1024 /* of each file of a model */
#define SAMPLE_BYTES 64

struct saved {
    int pair;
    struct sc_tensor shape;
    int64_t length;
    size_t offset; /* of its elements in the file */
};

struct sc_state_file {
    struct sc_arena arena;
    const char *path; /* in the arena */
    struct sc_file file;
    int64_t n_tokens, length, source;
    int64_t *tokens;
    int n_states;
    struct saved *states;
};

/* Two models that differ in weights alone have one graph: some bytes of everywhere tell them apart. */
static void digest_model(const struct sc_model *model, char text[17])
{
    uint64_t digest = sc_digest_bytes(SC_DIGEST_START, &model->fingerprint, sizeof model->fingerprint);
    for (int f = 0; f < model->n_files; f++) {
        const struct sc_file *file = &model->files[f];
        const size_t n = file->bytes < (size_t)SAMPLES * SAMPLE_BYTES ? 1 : SAMPLES;
        const size_t bytes = n == 1 ? file->bytes : SAMPLE_BYTES;
        for (size_t i = 0; i < n; i++) {
            digest = sc_digest_bytes(digest, file->data + (n == 1 ? 0 : i * ((file->bytes - bytes) / (n - 1))), bytes);
        }
    }
    snprintf(text, 17, "%016" PRIx64, digest);
}

/* Saving: what goes into the file, one piece after another. */
struct saver {
    const struct sc_state_owner *owner;
    struct sc_session *session;
    int slot, n_states;
    struct saved *states; /* [n_states]: of pairs that hold something */
    struct sc_file_writer writer;
    char *chunk;
};

static enum sc_status find_states(struct saver *saver)
{
    saver->states = calloc((size_t)saver->owner->n_pairs + 1, sizeof *saver->states);
    if (!saver->states) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a list of states");
    }
    for (int p = 0; p < saver->owner->n_pairs; p++) {
        struct saved *state = &saver->states[saver->n_states];
        state->pair = p;
        SC_TRY(sc_session_state_shape(saver->session, p, saver->slot, &state->shape, &state->length));
        saver->n_states += state->length > 0;
    }
    return SC_OK;
}

static enum sc_status describe_state(const struct saver *saver, const struct saved *saved, struct sc_json *states)
{
    const struct sc_graph *graph = saver->owner->model->graph;
    const struct sc_state_pair *pair = &saver->owner->pairs[saved->pair];
    struct sc_json *state, *dims;
    SC_TRY(sc_json_add(states, NULL, false, &state));
    SC_TRY(sc_json_add_text(state, "input", graph->values[pair->in].name));
    SC_TRY(sc_json_add_text(state, "output", graph->values[pair->out].name));
    SC_TRY(sc_json_add_text(state, "type", sc_state_type_name(pair)));
    SC_TRY(sc_json_add_int(state, "length", saved->length));
    SC_TRY(sc_json_add(state, "dims", true, &dims));
    for (int d = 0; d < saved->shape.rank; d++) {
        SC_TRY(sc_json_add_int(dims, NULL, saved->shape.dims[d]));
    }
    return SC_OK;
}

static enum sc_status describe(const struct saver *saver, const int64_t *tokens, int64_t n_tokens, struct sc_json *head)
{
    struct sc_json *list, *states;
    char model[17];
    digest_model(saver->owner->model, model);
    SC_TRY(sc_json_add_int(head, "format", FORMAT));
    SC_TRY(sc_json_add_text(head, "model", model));
    SC_TRY(sc_json_add(head, "tokens", true, &list));
    for (int64_t t = 0; t < n_tokens; t++) {
        SC_TRY(sc_json_add_int(list, NULL, tokens[t]));
    }
    SC_TRY(sc_json_add(head, "states", true, &states));
    for (int s = 0; s < saver->n_states; s++) {
        SC_TRY(describe_state(saver, &saver->states[s], states));
    }
    return SC_OK;
}

static enum sc_status save_head(struct saver *saver, const int64_t *tokens, int64_t n_tokens)
{
    struct sc_json *head = NULL;
    char *text = NULL;
    enum sc_status status = sc_json_new(false, &head);
    status = status == SC_OK ? describe(saver, tokens, n_tokens, head) : status;
    if (status == SC_OK) {
        text = sc_json_print(head);
        status = text ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for the head of a state file");
    }
    if (status == SC_OK) {
        const uint64_t bytes = strlen(text), digest = sc_digest_bytes(SC_DIGEST_START, text, bytes);
        status = sc_file_append(&saver->writer, MAGIC, sizeof MAGIC - 1);
        status = status == SC_OK ? sc_file_append(&saver->writer, &bytes, sizeof bytes) : status;
        status = status == SC_OK ? sc_file_append(&saver->writer, text, bytes) : status;
        status = status == SC_OK ? sc_file_append(&saver->writer, &digest, sizeof digest) : status;
    }
    free(text);
    sc_json_free(head);
    return status;
}

static enum sc_status save_state(struct saver *saver, const struct saved *saved)
{
    uint64_t digest = SC_DIGEST_START;
    const size_t element = sc_type_bytes(saved->shape.type);
    const int64_t count = sc_tensor_count(&saved->shape), most = (int64_t)(CHUNK_BYTES / element);
    for (int64_t at = 0; at < count; at += most) {
        const int64_t n = count - at < most ? count - at : most;
        SC_TRY(sc_session_state_read(saver->session, saved->pair, saver->slot, at, n, saver->chunk));
        digest = sc_digest_bytes(digest, saver->chunk, (size_t)n * element);
        SC_TRY(sc_file_append(&saver->writer, saver->chunk, (size_t)n * element));
    }
    return sc_file_append(&saver->writer, &digest, sizeof digest);
}

enum sc_status sc_state_file_save(const char *path, const struct sc_state_owner *owner, struct sc_session *session,
    int slot, const int64_t *tokens, int64_t n_tokens)
{
    struct saver saver = {.owner = owner, .session = session, .slot = slot, .chunk = malloc(CHUNK_BYTES)};
    enum sc_status status = saver.chunk ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes", CHUNK_BYTES);
    status = status == SC_OK ? sc_file_begin(path, &saver.writer) : status;
    status = status == SC_OK ? find_states(&saver) : status;
    status = status == SC_OK ? save_head(&saver, tokens, n_tokens) : status;
    for (int s = 0; s < saver.n_states && status == SC_OK; s++) {
        status = save_state(&saver, &saver.states[s]);
    }
    status = status == SC_OK ? sc_file_flush(&saver.writer) : status;
    status = status == SC_OK ? sc_file_commit(&saver.writer) : status;
    const struct sc_error error = *sc_error_last();
    sc_file_abandon(&saver.writer);
    free(saver.states);
    free(saver.chunk);
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}

static enum sc_status damaged(const struct sc_state_file *file, const char *what)
{
    return sc_fail(SC_BAD_INPUT, "'%s': %s", file->path, what);
}

/* Opening: the head is hostile until checked. */
struct reader {
    struct sc_state_file *file;
    const struct sc_state_owner *owner;
    size_t at; /* where the next state begins */
};

static enum sc_status read_tokens(struct sc_state_file *file, const struct sc_json *tokens)
{
    file->n_tokens = (int64_t)sc_json_size(tokens);
    file->tokens = sc_arena_array(&file->arena, (size_t)file->n_tokens, sizeof *file->tokens);
    if (!file->tokens) {
        return SC_NO_MEMORY;
    }
    for (int64_t t = 0; t < file->n_tokens; t++) {
        file->tokens[t] = sc_json_int(sc_json_at(tokens, (size_t)t), -1);
        if (file->tokens[t] < 0) {
            return damaged(file, "a token is no number");
        }
    }
    return sc_json_is_array(tokens) ? SC_OK : damaged(file, "there are no tokens");
}

static int find_pair(const struct reader *reader, const char *in, const char *out)
{
    const struct sc_graph *graph = reader->owner->model->graph;
    for (int p = 0; p < reader->owner->n_pairs && in && out; p++) {
        if (strcmp(graph->values[reader->owner->pairs[p].in].name, in) == 0 &&
            strcmp(graph->values[reader->owner->pairs[p].out].name, out) == 0) {
            return p;
        }
    }
    return -1;
}

static enum sc_status read_state(struct reader *reader, const struct sc_json *state, struct saved *saved)
{
    struct sc_state_file *file = reader->file;
    const char *in = sc_json_text(sc_json_get(state, "input"), NULL);
    const char *type = sc_json_text(sc_json_get(state, "type"), NULL);
    const struct sc_json *list = sc_json_get(state, "dims");
    const size_t rank = sc_json_size(list);
    int64_t dims[SC_MAX_RANK];
    saved->pair = find_pair(reader, in, sc_json_text(sc_json_get(state, "output"), NULL));
    if (saved->pair < 0) {
        return sc_fail(SC_BAD_INPUT, "'%s': state '%.200s' is not one of the model", file->path, in ? in : "");
    }
    const struct sc_state_pair *pair = &reader->owner->pairs[saved->pair];
    const enum sc_type want = sc_state_type(pair);
    if (!type || strcmp(type, sc_state_type_name(pair)) != 0) {
        return sc_fail(SC_BAD_INPUT, "'%s': state '%s' is %.40s, this run keeps it as %s%s", file->path, in,
            type ? type : "", sc_state_type_name(pair), pair->kind == SC_STATE_PAGED ? ": -ctk, -ctv say how" : "");
    }
    if (!sc_json_is_array(list) || rank > SC_MAX_RANK) {
        return sc_fail(SC_BAD_INPUT, "'%s': state '%s' has no dims", file->path, in);
    }
    for (size_t d = 0; d < rank; d++) {
        dims[d] = sc_json_int(sc_json_at(list, d), -1);
    }
    SC_TRY(sc_dims_check(in, want, (int)rank, dims));
    sc_tensor_init(&saved->shape, want, (int)rank, dims);
    saved->length = sc_json_int(sc_json_get(state, "length"), -1);
    saved->offset = reader->at;
    const size_t bytes = sc_tensor_bytes(&saved->shape);
    if (saved->length < 1 || (saved->length > file->n_tokens && pair->kind != SC_STATE_CONSTANT)) {
        return sc_fail(SC_BAD_INPUT, "'%s': state '%s' has %" PRId64 " positions of %" PRId64 " tokens", file->path, in,
            saved->length, file->n_tokens);
    }
    if (bytes > file->file.bytes || reader->at > file->file.bytes - bytes ||
        file->file.bytes - bytes - reader->at < sizeof(uint64_t)) {
        return damaged(file, "the file ends within its states");
    }
    reader->at += bytes + sizeof(uint64_t);
    return SC_OK;
}

/* States of one text hold the same positions, those that an encoder made its source's. */
static enum sc_status check_length(struct sc_state_file *file, const struct reader *reader, const struct saved *saved)
{
    const bool constant = reader->owner->pairs[saved->pair].kind == SC_STATE_CONSTANT;
    int64_t *length = constant ? &file->source : &file->length;
    *length = *length == 0 ? saved->length : *length;
    return saved->length == *length ? SC_OK : damaged(file, "its states do not belong together");
}

/* A text behind an encoder cannot go on without what that has made. */
static enum sc_status check_constants(const struct reader *reader, const bool *seen)
{
    for (int p = 0; p < reader->owner->n_pairs && reader->file->n_states > 0; p++) {
        const struct sc_state_pair *pair = &reader->owner->pairs[p];
        if (pair->kind == SC_STATE_CONSTANT && !seen[p]) {
            return sc_fail(SC_BAD_INPUT, "'%s': state '%s', which the encoder made, is missing", reader->file->path,
                reader->owner->model->graph->values[pair->in].name);
        }
    }
    return SC_OK;
}

static enum sc_status read_states(struct reader *reader, const struct sc_json *states)
{
    struct sc_state_file *file = reader->file;
    const size_t n = sc_json_size(states);
    bool *seen = sc_arena_array(&file->arena, (size_t)reader->owner->n_pairs, sizeof *seen);
    file->states = sc_arena_array(&file->arena, n, sizeof *file->states);
    if (!seen || !file->states) {
        return SC_NO_MEMORY;
    }
    for (size_t s = 0; s < n; s++) {
        struct saved *saved = &file->states[file->n_states++];
        SC_TRY(read_state(reader, sc_json_at(states, s), saved));
        SC_TRY(seen[saved->pair] ? damaged(file, "its states do not belong together") : SC_OK);
        SC_TRY(check_length(file, reader, saved));
        seen[saved->pair] = true;
    }
    SC_TRY(check_constants(reader, seen));
    return reader->at == file->file.bytes ? SC_OK : damaged(file, "there is more after the last state");
}

static enum sc_status read_head(struct reader *reader, const struct sc_json *head)
{
    struct sc_state_file *file = reader->file;
    const char *model = sc_json_text(sc_json_get(head, "model"), NULL);
    char want[17];
    if (sc_json_int(sc_json_get(head, "format"), 0) != FORMAT) {
        return damaged(file, "the state is of another format than 1");
    }
    digest_model(reader->owner->model, want);
    if (!model || strcmp(model, want) != 0) {
        return sc_fail(
            SC_BAD_INPUT, "'%s' holds the state of another model than '%s'", file->path, reader->owner->model->path);
    }
    SC_TRY(read_tokens(file, sc_json_get(head, "tokens")));
    return read_states(reader, sc_json_get(head, "states"));
}

static enum sc_status read_file(struct reader *reader)
{
    struct sc_state_file *file = reader->file;
    const unsigned char *data = file->file.data;
    const size_t front = sizeof MAGIC - 1 + sizeof(uint64_t), total = file->file.bytes;
    uint64_t bytes, digest;
    struct sc_json *head = NULL;
    if (total < front || memcmp(data, MAGIC, sizeof MAGIC - 1) != 0) {
        return damaged(file, "is not a file of states");
    }
    memcpy(&bytes, data + sizeof MAGIC - 1, sizeof bytes);
    if (bytes > total - front || total - front - bytes < sizeof digest) {
        return damaged(file, "the file ends within its head");
    }
    memcpy(&digest, data + front + bytes, sizeof digest);
    if (digest != sc_digest_bytes(SC_DIGEST_START, data + front, bytes)) {
        return damaged(file, "the head is damaged");
    }
    reader->at = front + bytes + sizeof digest;
    SC_TRY(sc_json_parse((const char *)data + front, bytes, file->path, &head));
    const enum sc_status status = read_head(reader, head);
    sc_json_free(head);
    return status;
}

enum sc_status sc_state_file_open(const char *path, const struct sc_state_owner *owner, struct sc_state_file **out)
{
    struct sc_state_file *file = calloc(1, sizeof *file);
    if (!file) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a file of states");
    }
    struct reader reader = {.file = file, .owner = owner};
    file->path = sc_arena_text(&file->arena, path, strlen(path));
    enum sc_status status = file->path ? sc_file_map(path, &file->file) : SC_NO_MEMORY;
    status = status == SC_OK ? read_file(&reader) : status;
    if (status != SC_OK) {
        sc_state_file_close(file);
        return status;
    }
    *out = file;
    return SC_OK;
}

void sc_state_file_close(struct sc_state_file *file)
{
    if (file) {
        sc_file_release(&file->file);
        sc_arena_release(&file->arena);
        free(file);
    }
}

const int64_t *sc_state_file_tokens(const struct sc_state_file *file, int64_t *n)
{
    *n = file->n_tokens;
    return file->tokens;
}

int64_t sc_state_file_length(const struct sc_state_file *file)
{
    return file->length;
}

int64_t sc_state_file_source(const struct sc_state_file *file)
{
    return file->source;
}

/* Pages of the file that were sent are not read again, and are no memory of this process. */
static enum sc_status restore_state(
    const struct sc_state_file *file, const struct saved *saved, struct sc_session *session, int slot)
{
    const unsigned char *data = file->file.data + saved->offset;
    const size_t element = sc_type_bytes(saved->shape.type);
    const int64_t count = sc_tensor_count(&saved->shape), most = (int64_t)(CHUNK_BYTES / element);
    uint64_t digest = SC_DIGEST_START, want;
    SC_TRY(sc_session_state_expect(session, saved->pair, slot, &saved->shape, saved->length));
    for (int64_t at = 0; at < count; at += most) {
        const int64_t n = count - at < most ? count - at : most;
        const size_t offset = (size_t)at * element, bytes = (size_t)n * element;
        digest = sc_digest_bytes(digest, data + offset, bytes);
        SC_TRY(sc_session_state_write(session, saved->pair, slot, at, n, data + offset));
        sc_file_drop(&file->file, saved->offset + offset, bytes);
    }
    memcpy(&want, data + sc_tensor_bytes(&saved->shape), sizeof want);
    return digest == want ? SC_OK : damaged(file, "a state is damaged");
}

enum sc_status sc_state_file_restore(const struct sc_state_file *file, struct sc_session *session, int slot)
{
    SC_TRY(sc_session_state_drop(session, slot));
    enum sc_status status = sc_file_check(file->path, &file->file);
    for (int s = 0; s < file->n_states && status == SC_OK; s++) {
        status = restore_state(file, &file->states[s], session, slot);
    }
    if (status == SC_OK) {
        return SC_OK;
    }
    const struct sc_error error = *sc_error_last();
    SC_TRY(sc_session_state_drop(session, slot));
    return sc_error_set(&error);
}
