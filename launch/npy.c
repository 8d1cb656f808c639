/* SPDX-License-Identifier: Apache-2.0
 * A .npy file is a magic, the length of a header, the header (a Python dictionary with the three keys descr,
 * fortran_order and shape), and the elements. The header is read by a small scanner that knows no other Python. */
#include "launch/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define ALIGN 64 /* of the elements in files that we write, as NumPy does */

struct scanner {
    const char *what;
    const char *at, *end;
};

struct header {
    enum sc_type type;
    bool swapped; /* big-endian */
    bool fortran;
    int rank;
    int64_t dims[SC_MAX_RANK];
    unsigned seen; /* bit per key */
};

static const struct {
    const char *code; /* kind and size, as in descr */
    enum sc_type type;

} types[] = {{"b1", SC_BOOL}, {"i1", SC_I8}, {"i2", SC_I16}, {"i4", SC_I32}, {"i8", SC_I64}, {"u1", SC_U8},
    {"u2", SC_U16}, {"u4", SC_U32}, {"u8", SC_U64}, {"f2", SC_F16}, {"f4", SC_F32}, {"f8", SC_F64}, {"c8", SC_C64},
    {"c16", SC_C128}};

#define N_TYPES (sizeof types / sizeof *types)

static void skip_blanks(struct scanner *scanner)
{
    while (scanner->at < scanner->end && strchr(" \t\r\n", *scanner->at) && *scanner->at != '\0') {
        scanner->at++;
    }
}

static bool take(struct scanner *scanner, char wanted)
{
    skip_blanks(scanner);
    if (scanner->at == scanner->end || *scanner->at != wanted) {
        return false;
    }
    scanner->at++;
    return true;
}

static enum sc_status expect(struct scanner *scanner, char wanted)
{
    if (take(scanner, wanted)) {
        return SC_OK;
    }
    return sc_fail(SC_BAD_INPUT, "'%s': the .npy header has no '%c' where one belongs", scanner->what, wanted);
}

/* A quoted word without escapes, cut out of the header. */
static enum sc_status take_text(struct scanner *scanner, char *text, size_t bytes)
{
    const char quote = take(scanner, '\'') ? '\'' : '"';
    if (quote == '"') {
        SC_TRY(expect(scanner, '"'));
    }
    size_t n = 0;
    while (scanner->at < scanner->end && *scanner->at != quote && n + 1 < bytes) {
        const char c = *scanner->at++;
        text[n++] = c >= 0x20 && c < 0x7f ? c : '?';
    }
    text[n] = '\0';
    if (scanner->at == scanner->end || *scanner->at != quote) {
        return sc_fail(SC_BAD_INPUT, "'%s': the .npy header has a word that does not end: '%s'", scanner->what, text);
    }
    scanner->at++;
    return SC_OK;
}

static enum sc_status take_type(struct scanner *scanner, struct header *header)
{
    char text[32];
    skip_blanks(scanner);
    if (scanner->at < scanner->end && *scanner->at == '[') {
        return sc_fail(SC_UNSUPPORTED, "'%s' holds records; want an array of numbers", scanner->what);
    }
    SC_TRY(take_text(scanner, text, sizeof text));
    const char *code = text[0] != '\0' && strchr("<>|=", text[0]) ? text + 1 : text;
    for (size_t i = 0; i < N_TYPES; i++) {
        if (strcmp(code, types[i].code) == 0) {
            header->type = types[i].type;
            header->swapped = text[0] == '>';
            return SC_OK;
        }
    }
    const char *hint = code[0] == 'U' || code[0] == 'S' ? " (text)" : code[0] == 'O' ? " (Python objects)" : "";
    return sc_fail(SC_UNSUPPORTED, "'%s' has elements of type '%s'%s, which have no tensor type here: use a .pb file",
        scanner->what, text, hint);
}

static enum sc_status take_truth(struct scanner *scanner, bool *truth)
{
    skip_blanks(scanner);
    const size_t left = (size_t)(scanner->end - scanner->at);
    *truth = left >= 4 && memcmp(scanner->at, "True", 4) == 0;
    if (!*truth && (left < 5 || memcmp(scanner->at, "False", 5) != 0)) {
        return sc_fail(SC_BAD_INPUT, "'%s': fortran_order of the .npy header is neither True nor False", scanner->what);
    }
    scanner->at += *truth ? 4 : 5;
    return SC_OK;
}

static enum sc_status take_dim(struct scanner *scanner, int64_t *dim)
{
    int64_t number = 0;
    int n_digits = 0;
    skip_blanks(scanner);
    for (; scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9'; n_digits++) {
        if (number > (INT64_MAX - 9) / 10) {
            return sc_fail(SC_BAD_INPUT, "'%s': a dim of the .npy header is too large", scanner->what);
        }
        number = number * 10 + (*scanner->at++ - '0');
    }
    if (n_digits == 0) {
        return sc_fail(SC_BAD_INPUT, "'%s': shape of the .npy header is not a tuple of numbers", scanner->what);
    }
    (void)take(scanner, 'L'); /* Python 2 wrote long integers so */
    *dim = number;
    return SC_OK;
}

static enum sc_status take_shape(struct scanner *scanner, struct header *header)
{
    SC_TRY(expect(scanner, '('));
    while (!take(scanner, ')')) {
        if (header->rank == SC_MAX_RANK) {
            return sc_fail(SC_BAD_INPUT, "'%s' has more than %d dims", scanner->what, SC_MAX_RANK);
        }
        SC_TRY(take_dim(scanner, &header->dims[header->rank]));
        header->rank++;
        if (!take(scanner, ',')) {
            return expect(scanner, ')');
        }
    }
    return SC_OK;
}

static enum sc_status take_entry(struct scanner *scanner, struct header *header)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[32];
    unsigned which = 0;
    SC_TRY(take_text(scanner, key, sizeof key));
    SC_TRY(expect(scanner, ':'));
    while (which < 3 && strcmp(key, keys[which]) != 0) {
        which++;
    }
    if (which == 3 || (header->seen & 1u << which)) {
        return sc_fail(SC_BAD_INPUT, "'%s': the .npy header has an unknown or repeated key '%s'", scanner->what, key);
    }
    header->seen |= 1u << which;
    switch (which) {
    case 0:
        return take_type(scanner, header);
    case 1:
        return take_truth(scanner, &header->fortran);
    default:
        return take_shape(scanner, header);
    }
}

static enum sc_status parse_header(struct scanner *scanner, struct header *header)
{
    SC_TRY(expect(scanner, '{'));
    while (!take(scanner, '}')) {
        SC_TRY(take_entry(scanner, header));
        if (!take(scanner, ',')) {
            SC_TRY(expect(scanner, '}'));
            break;
        }
    }
    skip_blanks(scanner);
    if (header->seen != 7 || scanner->at != scanner->end) {
        return sc_fail(
            SC_BAD_INPUT, "'%s': the .npy header is not the three keys descr, fortran_order and shape", scanner->what);
    }
    return SC_OK;
}

/* Finds the header's text and where the elements start. */
static enum sc_status find_header(
    const unsigned char *data, size_t bytes, const char *what, struct scanner *scanner, size_t *offset)
{
    if (bytes < 10 || memcmp(data, MAGIC, MAGIC_BYTES) != 0) {
        return sc_fail(SC_BAD_INPUT, "'%s' is not a .npy file", what);
    }
    const int major = data[6];
    if (major < 1 || major > 3) {
        return sc_fail(SC_BAD_INPUT, "'%s' is a .npy file of version %d, want 1 to 3", what, major);
    }
    const size_t start = major == 1 ? 10 : 12;
    size_t length = data[8] | (size_t)data[9] << 8;
    if (major > 1 && bytes >= start) {
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    }
    if (bytes < start || length > bytes - start) {
        return sc_fail(SC_BAD_INPUT, "'%s' ends in its .npy header", what);
    }
    const char *text = (const char *)data + start;
    *scanner = (struct scanner){.what = what, .at = text, .end = text + length};
    *offset = start + length;
    return SC_OK;
}

static void swap_bytes(unsigned char *data, int64_t count, size_t bytes)
{
    for (int64_t i = 0; i < count; i++) {
        unsigned char *number = data + (size_t)i * bytes;
        for (size_t low = 0; low < bytes / 2; low++) {
            const unsigned char byte = number[low];
            number[low] = number[bytes - 1 - low];
            number[bytes - 1 - low] = byte;
        }
    }
}

/* Reverses the roles of first and last axis: the memory of a Fortran array made row-major. */
static enum sc_status reorder(struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct sc_tensor dense;
    int64_t stride = 1;
    for (int axis = 0; axis < tensor->rank; axis++) {
        tensor->strides[axis] = stride;
        stride *= tensor->dims[axis];
    }
    SC_TRY(sc_tensor_new(arena, tensor->type, tensor->rank, tensor->dims, &dense));
    if (sc_tensor_count(tensor) > 0) {
        sc_tensor_copy_dense(tensor, dense.data);
    }
    *tensor = dense;
    return SC_OK;
}

static enum sc_status copy_elements(
    const unsigned char *data, const struct header *header, struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct sc_tensor made;
    SC_TRY(sc_tensor_new(arena, header->type, header->rank, header->dims, &made));
    const int64_t count = sc_tensor_count(&made);
    unsigned char *elements = made.data;
    if (count > 0) {
        memcpy(elements, data, sc_tensor_bytes(&made));
    }
    if (header->swapped) {
        const int parts = header->type == SC_C64 || header->type == SC_C128 ? 2 : 1;
        swap_bytes(elements, count * parts, sc_type_bytes(header->type) / (size_t)parts);
    }
    for (int64_t i = 0; header->type == SC_BOOL && i < count; i++) {
        elements[i] = elements[i] != 0;
    }
    if (header->fortran && header->rank > 1) {
        SC_TRY(reorder(arena, &made));
    }
    *tensor = made;
    return SC_OK;
}

/* The header, held against the elements that are there; where these begin. */
static enum sc_status read_header(
    const unsigned char *data, size_t bytes, const char *what, struct header *header, size_t *offset)
{
    struct scanner scanner;
    SC_TRY(find_header(data, bytes, what, &scanner, offset));
    SC_TRY(parse_header(&scanner, header));
    if (sc_dims_check(what, header->type, header->rank, header->dims) != SC_OK) {
        sc_error_last()->code = SC_BAD_INPUT;
        return SC_BAD_INPUT;
    }
    const size_t wanted = (size_t)sc_dims_product(header->dims, 0, header->rank) * sc_type_bytes(header->type);
    if (wanted != bytes - *offset) {
        return sc_fail(
            SC_BAD_INPUT, "'%s' has %zu bytes of elements, its shape wants %zu", what, bytes - *offset, wanted);
    }
    return SC_OK;
}

enum sc_status sc_npy_parse(
    const unsigned char *data, size_t bytes, const char *what, struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct header header = {0};
    size_t offset = 0;
    SC_TRY(read_header(data, bytes, what, &header, &offset));
    return copy_elements(data + offset, &header, arena, tensor);
}

/* Elements that a tensor can have where they are. The mapping is read-only; nobody writes into an input. */
static bool leave_elements(
    const struct sc_file *file, const struct header *header, size_t offset, struct sc_tensor *tensor)
{
    union {
        const unsigned char *in;
        void *out;
    } data = {.in = file->data + offset};
    if (header->swapped || header->type == SC_BOOL || (header->fortran && header->rank > 1) ||
        (uintptr_t)data.in % sc_type_bytes(header->type) != 0) {
        return false;
    }
    sc_tensor_init(tensor, header->type, header->rank, header->dims);
    tensor->data = data.out;
    return true;
}

enum sc_status sc_npy_map(const char *path, struct sc_arena *arena, struct sc_tensor *tensor, struct sc_file *file)
{
    struct sc_file mapped = {0};
    struct header header = {0};
    size_t offset = 0;
    SC_TRY(sc_file_map(path, &mapped));
    enum sc_status status = read_header(mapped.data, mapped.bytes, path, &header, &offset);
    if (status == SC_OK && leave_elements(&mapped, &header, offset, tensor)) {
        *file = mapped;
        return SC_OK;
    }
    status = status == SC_OK ? copy_elements(mapped.data + offset, &header, arena, tensor) : status;
    sc_file_release(&mapped);
    return status;
}

enum sc_status sc_npy_read(const char *path, struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct sc_file file = {0};
    SC_TRY(sc_file_map(path, &file));
    const enum sc_status status = sc_npy_parse(file.data, file.bytes, path, arena, tensor);
    sc_file_release(&file);
    return status;
}

/* Writes magic, lengths and dictionary, padded to ALIGN and to `least` bytes; returns the bytes. */
static size_t write_header(const struct sc_tensor *tensor, const char *code, size_t least, char *text, size_t capacity)
{
    const char order = sc_type_bytes(tensor->type) == 1 ? '|' : '<';
    const size_t start = MAGIC_BYTES + 4;
    size_t at = start;
    at +=
        (size_t)snprintf(text + at, capacity - at, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, code);
    for (int axis = 0; axis < tensor->rank; axis++) {
        const char *after = axis + 1 < tensor->rank ? ", " : tensor->rank == 1 ? "," : "";
        at += (size_t)snprintf(text + at, capacity - at, "%" PRId64 "%s", tensor->dims[axis], after);
    }
    at += (size_t)snprintf(text + at, capacity - at, "), }");
    while ((at + 1) % ALIGN != 0 || at + 1 < least) {
        text[at++] = ' ';
    }
    text[at++] = '\n';
    memcpy(text, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    text[MAGIC_BYTES + 2] = (char)((at - start) & 0xff);
    text[MAGIC_BYTES + 3] = (char)((at - start) >> 8);
    return at;
}

#define MOST_HEADER (512 + SC_MAX_RANK * 24)

/* The header of a file for the tensor; `bytes` of it, which is given the least that there shall be. */
static enum sc_status make_header(
    const char *path, const struct sc_tensor *tensor, char header[MOST_HEADER], size_t *bytes)
{
    const char *code = NULL;
    for (size_t i = 0; i < N_TYPES; i++) {
        code = types[i].type == tensor->type ? types[i].code : code;
    }
    if (!code || tensor->storage != SC_STORAGE_PLAIN) {
        return sc_fail(SC_UNSUPPORTED, "'%s': a tensor of %s has no .npy form: write a .pb file instead", path,
            sc_type_name(tensor->type));
    }
    *bytes = write_header(tensor, code, *bytes, header, MOST_HEADER);
    return SC_OK;
}

enum sc_status sc_npy_write(const char *path, const struct sc_tensor *tensor)
{
    char header[MOST_HEADER];
    size_t header_bytes = 0;
    SC_TRY(make_header(path, tensor, header, &header_bytes));
    const size_t bytes = sc_tensor_bytes(tensor);
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGN, header_bytes + bytes) != 0) {
        return sc_fail(SC_NO_MEMORY, "'%s': out of memory for %zu bytes", path, header_bytes + bytes);
    }
    unsigned char *whole = memory;
    memcpy(whole, header, header_bytes);
    if (bytes > 0) {
        sc_tensor_copy_dense(tensor, whole + header_bytes);
    }
    const enum sc_status status = sc_file_write(path, whole, header_bytes + bytes);
    free(whole);
    return status;
}

static enum sc_status append_pieces(
    struct sc_file_writer *writer, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg, void *piece)
{
    const size_t element = sc_type_bytes(shape->type);
    const int64_t count = sc_tensor_count(shape), most = (int64_t)(SC_NPY_PIECE_BYTES / element);
    for (int64_t at = 0; at < count; at += most) {
        const int64_t n = count - at < most ? count - at : most;
        SC_TRY(read(arg, at, n, piece));
        SC_TRY(sc_file_append(writer, piece, (size_t)n * element));
    }
    SC_TRY(sc_file_flush(writer));
    return sc_file_commit(writer);
}

enum sc_status sc_npy_write_pieces(const char *path, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg)
{
    char header[MOST_HEADER];
    size_t header_bytes = 0;
    struct sc_file_writer writer = {0};
    SC_TRY(make_header(path, shape, header, &header_bytes));
    void *piece = malloc(SC_NPY_PIECE_BYTES);
    enum sc_status status = piece ? SC_OK : sc_fail(SC_NO_MEMORY, "'%s': out of memory for a piece", path);
    status = status == SC_OK ? sc_file_begin(path, &writer) : status;
    status = status == SC_OK ? sc_file_append(&writer, header, header_bytes) : status;
    status = status == SC_OK ? append_pieces(&writer, shape, read, arg, piece) : status;
    const struct sc_error error = *sc_error_last();
    sc_file_abandon(&writer);
    free(piece);
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}

/* The longest header that a file of this type and rank can have: what it says may change, its length may not. */
static enum sc_status make_roomy_header(
    const char *path, const struct sc_tensor *shape, char header[MOST_HEADER], size_t *bytes)
{
    struct sc_tensor longest = *shape;
    for (int axis = 0; axis < shape->rank; axis++) {
        longest.dims[axis] = INT64_MAX;
    }
    *bytes = 0;
    return make_header(path, &longest, header, bytes);
}

enum sc_status sc_npy_begin(const char *path, const struct sc_tensor *shape, struct sc_npy_growing *growing)
{
    char header[MOST_HEADER];
    *growing = (struct sc_npy_growing){0};
    SC_TRY(make_roomy_header(path, shape, header, &growing->header_bytes));
    SC_TRY(sc_file_begin(path, &growing->writer));
    return sc_file_append(&growing->writer, header, growing->header_bytes);
}

enum sc_status sc_npy_append(struct sc_npy_growing *growing, const struct sc_tensor *tensor)
{
    const size_t bytes = sc_tensor_bytes(tensor);
    if (bytes == 0 || sc_tensor_is_dense(tensor)) {
        return sc_file_append(&growing->writer, tensor->data, bytes);
    }
    void *dense = malloc(bytes);
    if (!dense) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes", bytes);
    }
    sc_tensor_copy_dense(tensor, dense);
    const enum sc_status status = sc_file_append(&growing->writer, dense, bytes);
    free(dense);
    return status;
}

enum sc_status sc_npy_end(struct sc_npy_growing *growing, const struct sc_tensor *shape)
{
    char header[MOST_HEADER];
    size_t bytes = growing->header_bytes;
    SC_TRY(make_header(growing->writer.path, shape, header, &bytes));
    SC_TRY(sc_file_amend(&growing->writer, 0, header, bytes));
    return sc_file_commit(&growing->writer);
}

void sc_npy_abandon(struct sc_npy_growing *growing)
{
    sc_file_abandon(&growing->writer);
}
