/* SPDX-License-Identifier: Apache-2.0
 * .npy files: headers as NumPy 1 and 2 write them, and every way in which one can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "launch/npy.h"

struct image {
    unsigned char *data; /* exactly `bytes` long, so that a sanitizer sees overruns */
    size_t bytes;
};

static struct image image_of(int version, const char *header, const void *elements, size_t n)
{
    const size_t length = strlen(header), start = version == 1 ? 10 : 12;
    struct image image = {.data = malloc(start + length + n + 1), .bytes = start + length + n};
    assert_non_null(image.data);
    memcpy(image.data, "\x93NUMPY", 6);
    image.data[6] = (unsigned char)version;
    image.data[7] = 0;
    for (size_t i = 8; i < start; i++) {
        image.data[i] = (unsigned char)(length >> (i - 8) * 8);
    }
    memcpy(image.data + start, header, length);
    memcpy(image.data + start + length, elements, n);
    return image;
}

static enum sc_status parse(const struct image *image, struct sc_arena *arena, struct sc_tensor *tensor)
{
    unsigned char *exact = malloc(image->bytes ? image->bytes : 1);
    assert_non_null(exact);
    memcpy(exact, image->data, image->bytes);
    const enum sc_status status = sc_npy_parse(exact, image->bytes, "x.npy", arena, tensor);
    free(exact);
    return status;
}

static void reads_a_float_array(void **state)
{
    (void)state;
    const float elements[] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++) {
        struct sc_arena arena = {0};
        struct sc_tensor tensor;
        struct image image = image_of(
            version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", elements, sizeof elements);
        assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
        assert_int_equal(tensor.type, SC_F32);
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.dims[0], 2);
        assert_int_equal(tensor.dims[1], 3);
        assert_memory_equal(tensor.data, elements, sizeof elements);
        free(image.data);
        sc_arena_release(&arena);
    }
}

static void reads_every_type(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        enum sc_type type;
    } cases[] = {{"|b1", SC_BOOL}, {"|i1", SC_I8}, {"<i2", SC_I16}, {"<i4", SC_I32}, {"<i8", SC_I64}, {"|u1", SC_U8},
        {"<u2", SC_U16}, {"<u4", SC_U32}, {"<u8", SC_U64}, {"<f2", SC_F16}, {"<f4", SC_F32}, {"<f8", SC_F64},
        {"<c8", SC_C64}, {"<c16", SC_C128}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char elements[2 * 16];
        char header[128];
        struct sc_arena arena = {0};
        struct sc_tensor tensor;
        for (size_t k = 0; k < sizeof elements; k++) {
            elements[k] = cases[i].type == SC_BOOL ? k % 2 : (unsigned char)(17 * k);
        }
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n", cases[i].descr);
        struct image image = image_of(1, header, elements, 2 * sc_type_bytes(cases[i].type));
        assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
        assert_int_equal(tensor.type, cases[i].type);
        assert_memory_equal(tensor.data, elements, 2 * sc_type_bytes(cases[i].type));
        free(image.data);
        sc_arena_release(&arena);
    }
}

static void fortran_order_becomes_c_order(void **state)
{
    (void)state;
    const int16_t elements[] = {11, 21, 12, 22, 13, 23}; /* columns of [[11, 12, 13], [21, 22, 23]] */
    const int16_t want[] = {11, 12, 13, 21, 22, 23};
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct image image =
        image_of(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", elements, sizeof elements);
    assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
    assert_true(sc_tensor_is_dense(&tensor));
    assert_int_equal(tensor.dims[0], 2);
    assert_memory_equal(tensor.data, want, sizeof want);
    free(image.data);
    sc_arena_release(&arena);
}

static void big_endian_is_swapped(void **state)
{
    (void)state;
    const unsigned char elements[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}; /* 1 - 2i as big-endian complex64 */
    const float want[] = {1.0f, -2.0f};
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct image image =
        image_of(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (), }\n", elements, sizeof elements);
    assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
    assert_int_equal(tensor.rank, 0);
    assert_memory_equal(tensor.data, want, sizeof want);
    free(image.data);
    sc_arena_release(&arena);
}

static void bools_become_0_or_1(void **state)
{
    (void)state;
    const unsigned char elements[] = {0, 1, 2, 255}, want[] = {0, 1, 1, 1};
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct image image =
        image_of(1, "{'shape':(4L,),\"descr\":\"|b1\",'fortran_order':False}", elements, sizeof elements);
    assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
    assert_memory_equal(tensor.data, want, sizeof want);
    free(image.data);
    sc_arena_release(&arena);
}

static void empty_arrays_are_read(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct image image = image_of(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0, 2), }\n", "", 0);
    assert_int_equal(parse(&image, &arena, &tensor), SC_OK);
    assert_int_equal(tensor.rank, 3);
    assert_int_equal(tensor.dims[1], 0);
    free(image.data);
    sc_arena_release(&arena);
}

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum sc_status status;
        const char *says;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", SC_BAD_INPUT, "has 8 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", SC_BAD_INPUT, "wants 4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", SC_BAD_INPUT, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", SC_BAD_INPUT, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2, }", SC_BAD_INPUT, "'('"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", SC_BAD_INPUT, "')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", SC_BAD_INPUT, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }", SC_BAD_INPUT, "x.npy"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2), }", SC_BAD_INPUT,
            "16 dims"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", SC_BAD_INPUT, "fortran_order"},
        {"{'descr': '<f4', 'fortran_order': Fals", SC_BAD_INPUT, "fortran_order"},
        {"{'descr': '<f4', 'shape': (2,), }", SC_BAD_INPUT, "three keys"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,), }", SC_BAD_INPUT, "repeated key 'descr'"},
        {"{'colour': 'red', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", SC_BAD_INPUT, "'colour'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } + exit()", SC_BAD_INPUT, "three keys"},
        {"{'descr': '<f4", SC_BAD_INPUT, "does not end"},
        {"{'descr", SC_BAD_INPUT, "does not end"},
        {"{", SC_BAD_INPUT, "belongs"},
        {"", SC_BAD_INPUT, "'{'"},
        {"{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", SC_UNSUPPORTED, "(text)"},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (1,), }", SC_UNSUPPORTED, "(text)"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", SC_UNSUPPORTED, "Python objects"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (4,), }", SC_UNSUPPORTED, ".pb"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", SC_UNSUPPORTED, "'<f16'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", SC_UNSUPPORTED, "type ''"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", SC_UNSUPPORTED, "records"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_arena arena = {0};
        struct sc_tensor tensor;
        struct image image = image_of(1, cases[i].header, "12345678", 8);
        assert_int_equal(parse(&image, &arena, &tensor), cases[i].status);
        if (!strstr(sc_error_last()->text, cases[i].says) || !strstr(sc_error_last()->text, "x.npy")) {
            fail_msg("'%s' does not say '%s'", sc_error_last()->text, cases[i].says);
        }
        free(image.data);
        sc_arena_release(&arena);
    }
}

static void wrong_magic_and_versions_are_refused(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct image image = image_of(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678", 8);
    image.data[6] = 4;
    assert_int_equal(parse(&image, &arena, &tensor), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "version 4"));
    image.data[6] = 0;
    assert_int_equal(parse(&image, &arena, &tensor), SC_BAD_INPUT);
    image.data[6] = 1;
    image.data[0] = 'P';
    assert_int_equal(parse(&image, &arena, &tensor), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "not a .npy file"));
    free(image.data);
}

static void every_cut_file_is_refused(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        struct image image =
            image_of(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678", 8);
        const size_t whole = image.bytes;
        for (image.bytes = 0; image.bytes < whole; image.bytes++) {
            struct sc_arena arena = {0};
            struct sc_tensor tensor;
            assert_int_equal(parse(&image, &arena, &tensor), SC_BAD_INPUT);
            sc_arena_release(&arena);
        }
        free(image.data);
    }
}

static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    struct image image = image_of(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }\n", "12345678", 8);
    for (size_t i = 0; i < image.bytes; i++) {
        for (int byte = 0; byte < 256; byte++) {
            struct sc_arena arena = {0};
            struct sc_tensor tensor;
            const unsigned char before = image.data[i];
            image.data[i] = (unsigned char)byte;
            const enum sc_status status = parse(&image, &arena, &tensor);
            assert_true(status == SC_OK || status == SC_BAD_INPUT || status == SC_UNSUPPORTED);
            image.data[i] = before;
            sc_arena_release(&arena);
        }
    }
    free(image.data);
}

static void path_for(const char *name, char *path, size_t bytes)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, bytes, "%s/sc_test_npy_%ld_%s", folder ? folder : "/tmp", (long)getpid(), name);
}

static void written_file_is_what_numpy_writes(void **state)
{
    (void)state;
    /* numpy.save of arange(6, dtype=float32).reshape(2, 3), NumPy 2 */
    char want[128 + 24];
    memcpy(want, "\x93NUMPY\x01\x00v\x00", 10);
    memset(want + 10, ' ', 117);
    memcpy(want + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 59);
    want[127] = '\n';
    const float elements[] = {0, 1, 2, 3, 4, 5};
    memcpy(want + 128, elements, sizeof elements);

    char path[256];
    path_for("golden", path, sizeof path);
    float transposed[] = {0, 3, 1, 4, 2, 5};
    struct sc_tensor tensor;
    sc_tensor_init(&tensor, SC_F32, 2, (const int64_t[]){2, 3});
    tensor.strides[0] = 1;
    tensor.strides[1] = 2;
    tensor.data = transposed;
    assert_int_equal(sc_npy_write(path, &tensor), SC_OK);
    struct sc_file file = {0};
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, sizeof want);
    assert_memory_equal(file.data, want, sizeof want);
    sc_file_release(&file);
    assert_int_equal(unlink(path), 0);
}

static void written_shapes_are_read_back(void **state)
{
    (void)state;
    static const int64_t huge[SC_MAX_RANK] = {0, 1099511627776, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t three[] = {3};
    static const struct {
        int rank;
        const int64_t *dims;
    } shapes[] = {{0, NULL}, {1, three}, {SC_MAX_RANK, huge}};
    for (size_t i = 0; i < 3; i++) {
        int64_t elements[] = {5, -6, 7};
        char path[256];
        struct sc_arena arena = {0};
        struct sc_tensor tensor, back;
        path_for("shape", path, sizeof path);
        sc_tensor_init(&tensor, SC_I64, shapes[i].rank, shapes[i].dims);
        tensor.data = elements;
        assert_int_equal(sc_npy_write(path, &tensor), SC_OK);
        assert_int_equal(sc_npy_read(path, &arena, &back), SC_OK);
        assert_int_equal(back.type, SC_I64);
        assert_true(sc_dims_equal(&tensor, &back));
        assert_memory_equal(back.data, elements, sc_tensor_bytes(&tensor));
        assert_int_equal(unlink(path), 0);
        sc_arena_release(&arena);
    }
}

static void types_without_npy_form_are_refused(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_BF16, SC_STRING, SC_F8E4M3FN, SC_U4, SC_I2, SC_F6E2M3};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char path[256];
        unsigned char data[16] = {0};
        struct sc_tensor tensor;
        path_for("refused", path, sizeof path);
        sc_tensor_init(&tensor, types[i], 0, NULL);
        tensor.data = data;
        assert_int_equal(sc_npy_write(path, &tensor), SC_UNSUPPORTED);
        assert_non_null(strstr(sc_error_last()->text, ".pb"));
        assert_int_equal(access(path, F_OK), -1);
    }
}

static enum sc_status numbers_from(void *arg, int64_t at, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        ((float *)to)[i] = (float)(at + i);
    }
    const int64_t *fails_at = arg;
    return at + n > *fails_at ? sc_fail(SC_PEER, "no more") : SC_OK;
}

/* More than one piece; the file is that of a tensor in memory, or none. */
static void a_file_written_in_pieces_is_that_of_the_whole(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_tensor whole, mapped;
    struct sc_file in_pieces = {0}, at_once = {0}, left = {0};
    const int64_t dims[] = {3, 100001};
    int64_t fails_at = 250000;
    char paths[2][64];
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/sc_npy_%d_%d.npy", (int)getpid(), i);
    }
    assert_int_equal(sc_tensor_new(&arena, SC_F32, 2, dims, &whole), SC_OK);
    for (int64_t i = 0; i < 300003; i++) {
        ((float *)whole.data)[i] = (float)i;
    }
    assert_int_equal(sc_npy_write(paths[0], &whole), SC_OK);
    assert_int_equal(sc_npy_write_pieces(paths[1], &whole, numbers_from, &fails_at), SC_PEER);
    assert_int_equal(access(paths[1], F_OK), -1);
    fails_at = 300003;
    assert_int_equal(sc_npy_write_pieces(paths[1], &whole, numbers_from, &fails_at), SC_OK);
    assert_int_equal(sc_file_map(paths[0], &at_once), SC_OK);
    assert_int_equal(sc_file_map(paths[1], &in_pieces), SC_OK);
    assert_int_equal(in_pieces.bytes, at_once.bytes);
    assert_memory_equal(in_pieces.data, at_once.data, at_once.bytes);
    assert_int_equal(sc_npy_map(paths[1], &arena, &mapped, &left), SC_OK);
    assert_ptr_equal(mapped.data, left.data + left.bytes - 300003 * sizeof(float)); /* where it lies */
    assert_memory_equal(mapped.data, whole.data, 300003 * sizeof(float));
    sc_file_release(&left);
    sc_file_release(&in_pieces);
    sc_file_release(&at_once);
    sc_arena_release(&arena);
    (void)unlink(paths[0]);
    (void)unlink(paths[1]);
}

/* Elements in another order than a tensor's are read into memory. */
static void a_file_of_swapped_bytes_is_not_left_mapped(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    struct sc_file left = {0};
    char path[64];
    const unsigned char two[] = {0, 0, 0, 2};
    struct image image = image_of(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }\n", two, sizeof two);
    snprintf(path, sizeof path, "/tmp/sc_npy_%d.npy", (int)getpid());
    assert_int_equal(sc_file_write(path, image.data, image.bytes), SC_OK);
    assert_int_equal(sc_npy_map(path, &arena, &tensor, &left), SC_OK);
    assert_null(left.data);
    assert_int_equal(*(const int32_t *)tensor.data, 2);
    free(image.data);
    sc_arena_release(&arena);
    (void)unlink(path);
}

static void missing_files_are_named(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    assert_int_equal(sc_npy_read("/nonexistent/a.npy", &arena, &tensor), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "/nonexistent/a.npy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_float_array),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(fortran_order_becomes_c_order),
        cmocka_unit_test(big_endian_is_swapped),
        cmocka_unit_test(bools_become_0_or_1),
        cmocka_unit_test(empty_arrays_are_read),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(wrong_magic_and_versions_are_refused),
        cmocka_unit_test(every_cut_file_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(written_file_is_what_numpy_writes),
        cmocka_unit_test(written_shapes_are_read_back),
        cmocka_unit_test(types_without_npy_form_are_refused),
        cmocka_unit_test(a_file_written_in_pieces_is_that_of_the_whole),
        cmocka_unit_test(a_file_of_swapped_bytes_is_not_left_mapped),
        cmocka_unit_test(missing_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
