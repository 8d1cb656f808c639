/* SPDX-License-Identifier: Apache-2.0
 * Writes protobuf bytes by hand for tests of the loader: small, well-formed only where the test wants it so. */
#ifndef SC_TEST_ONNX_BYTES_H
#define SC_TEST_ONNX_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes {
    unsigned char data[1 << 15];
    size_t n;
};

static inline void put(struct bytes *b, const void *data, size_t n)
{
    if (n > sizeof b->data - b->n) {
        abort();
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static inline void put_varint(struct bytes *b, uint64_t value)
{
    do {
        const unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static inline void put_int(struct bytes *b, unsigned field, int64_t value)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)value);
}

static inline void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    put(b, data, n);
}

static inline void put_text(struct bytes *b, unsigned field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

static inline void put_message(struct bytes *b, unsigned field, const struct bytes *message)
{
    put_bytes(b, field, message->data, message->n);
}

/* A list of numbers as one packed run. */
static inline void put_packed(struct bytes *b, unsigned field, int n, const int64_t *values)
{
    struct bytes run = {.n = 0};
    for (int i = 0; i < n; i++) {
        put_varint(&run, (uint64_t)values[i]);
    }
    put_message(b, field, &run);
}

/* TensorProto without values. */
static inline struct bytes tensor_head(const char *name, int type, int rank, const int64_t *dims)
{
    struct bytes b = {.n = 0};
    for (int i = 0; i < rank; i++) {
        put_int(&b, 1, dims[i]);
    }
    put_int(&b, 2, type);
    put_text(&b, 8, name);
    return b;
}

/* ValueInfoProto of a tensor; a dim below 0 is left unknown, `symbol` (may be NULL) names the first one. */
static inline struct bytes value_info(const char *name, int type, int rank, const int64_t *dims, const char *symbol)
{
    struct bytes shape = {.n = 0}, tensor = {.n = 0}, proto = {.n = 0}, b = {.n = 0};
    for (int i = 0; i < rank; i++) {
        struct bytes dim = {.n = 0};
        if (i == 0 && symbol) {
            put_text(&dim, 2, symbol);
        } else if (dims[i] >= 0) {
            put_int(&dim, 1, dims[i]);
        }
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, type);
    put_message(&tensor, 2, &shape);
    put_message(&proto, 1, &tensor);
    put_text(&b, 1, name);
    put_message(&b, 2, &proto);
    return b;
}

/* NodeProto; names are separated by spaces, "-" is an absent one. */
static inline struct bytes node(const char *op, const char *in, const char *out)
{
    struct bytes b = {.n = 0};
    const char *lists[2] = {in, out};
    for (unsigned side = 0; side < 2; side++) {
        char copy[512];
        (void)snprintf(copy, sizeof copy, "%s", lists[side]);
        char *rest = copy;
        for (char *name = strtok_r(rest, " ", &rest); name; name = strtok_r(rest, " ", &rest)) {
            put_text(&b, 1 + side, strcmp(name, "-") == 0 ? "" : name);
        }
    }
    put_text(&b, 4, op);
    return b;
}

/* ModelProto around a graph: IR version and opset of ai.onnx. */
static inline struct bytes model_of(const struct bytes *graph, int ir_version, int opset)
{
    struct bytes b = {.n = 0}, import = {.n = 0};
    put_int(&b, 1, ir_version);
    put_text(&import, 1, "");
    put_int(&import, 2, opset);
    put_message(&b, 8, &import);
    put_message(&b, 7, graph);
    return b;
}

/* x: float[2] in, y out, made by the nodes and initializers that `graph` already has. */
static inline void close_graph(struct bytes *graph)
{
    const int64_t dims[] = {2};
    const struct bytes x = value_info("x", 1, 1, dims, NULL), y = value_info("y", 1, 1, dims, NULL);
    put_message(graph, 11, &x);
    put_message(graph, 12, &y);
}

/* A folder of the test's own, removed by remove_folder. */
static inline char *make_folder(char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "/tmp/sc_test_XXXXXX");
    if (!mkdtemp(path)) {
        abort();
    }
    return path;
}

static inline void remove_folder(const char *path)
{
    char command[512];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0) {
        abort();
    }
}

/* One for all cases of a test: cmocka_run_group_tests(tests, make_case_folder, remove_case_folder). */
static char case_folder[64];

static inline int make_case_folder(void **state)
{
    (void)state;
    make_folder(case_folder, sizeof case_folder);
    return 0;
}

static inline int remove_case_folder(void **state)
{
    (void)state;
    remove_folder(case_folder);
    return 0;
}

static inline char *write_file(char *path, size_t bytes, const char *folder, const char *name, const struct bytes *b)
{
    (void)snprintf(path, bytes, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(b->data, 1, b->n, file) != b->n || fclose(file) != 0) {
        abort();
    }
    return path;
}

#endif
