/* SPDX-License-Identifier: Apache-2.0
 * The walker over the wire format: what it refuses, and what its skeletons leave out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/varint.h"
#include "model/walk.h"
#include "onnx_bytes.h"

extern const struct ProtobufCMessageDescriptor sc__onnx__model_proto__descriptor;
extern const struct ProtobufCMessageDescriptor sc__onnx__tensor_proto__descriptor;
extern const struct ProtobufCMessageDescriptor sc__onnx__type_proto__descriptor;

static enum sc_status walk(const struct bytes *b, const struct ProtobufCMessageDescriptor *root)
{
    struct sc_skeleton skeleton;
    unsigned char *exact = malloc(b->n ? b->n : 1); /* so that a read past the end is seen */
    memcpy(exact, b->data, b->n);
    const enum sc_status status =
        sc_walk("test", root, &(const struct sc_file){.data = exact, .bytes = b->n}, &skeleton);
    sc_skeleton_release(&skeleton);
    free(exact);
    return status;
}

static void refused(const struct bytes *b, const char *why)
{
    assert_int_equal(walk(b, &sc__onnx__model_proto__descriptor), SC_BAD_MODEL);
    if (!strstr(sc_error_last()->text, why)) {
        fail_msg("'%s' does not say '%s'", sc_error_last()->text, why);
    }
}

static void varints_return_what_was_written(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, (uint64_t)INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        unsigned char buffer[10];
        const size_t n = sc_varint_write(buffer, values[i]);
        uint64_t value = 0;
        assert_int_equal(sc_varint_read(buffer, n, &value), n);
        assert_true(value == values[i]);
        assert_int_equal(sc_varint_read(buffer, n - 1, &value), 0);
    }
}

static void varints_over_64_bits_are_malformed(void **state)
{
    (void)state;
    const unsigned char eleven[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    const unsigned char over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    uint64_t value;
    assert_int_equal(sc_varint_read(eleven, sizeof eleven, &value), 0);
    assert_int_equal(sc_varint_read(over, sizeof over, &value), 0);
}

static void lengths_past_the_end_are_refused(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {5, 1000, (uint64_t)1 << 50, UINT64_MAX, (uint64_t)INT64_MAX + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct bytes b = {.n = 0};
        put_varint(&b, 2 << 3 | 2);
        put_varint(&b, lengths[i]);
        put(&b, "abcd", 4);
        refused(&b, "past the end");
    }
}

static void a_message_may_not_reach_past_the_one_around_it(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, b = {.n = 0};
    put_varint(&graph, 2 << 3 | 2);
    put_varint(&graph, 100); /* the name of the graph, of which nothing is inside */
    put_message(&b, 7, &graph);
    char filler[200] = {1};
    put_bytes(&b, 6, filler, sizeof filler);
    refused(&b, "past the end");
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    static const int depths[] = {49, 51};
    for (int k = 0; k < 2; k++) { /* each step is a TypeProto and a Sequence in it */
        struct bytes b = {.n = 0};
        for (int i = 0; i < depths[k]; i++) {
            struct bytes sequence = {.n = 0}, type = {.n = 0};
            put_message(&sequence, 1, &b);
            put_message(&type, 4, &sequence);
            b = type;
        }
        assert_int_equal(walk(&b, &sc__onnx__type_proto__descriptor), k == 0 ? SC_OK : SC_BAD_MODEL);
    }
    assert_non_null(strstr(sc_error_last()->text, "deep"));
}

static void very_deep_files_do_not_exhaust_the_stack(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    size_t at = sizeof b.data;
    for (int level = 0; level < 7000; level++) { /* from the inside: a length and a tag before what is there */
        unsigned char length[10];
        const size_t n = sc_varint_write(length, sizeof b.data - at);
        memcpy(b.data + (at -= n), length, n);
        b.data[--at] = level % 2 ? 4 << 3 | 2 : 1 << 3 | 2;
    }
    b.n = sizeof b.data - at;
    memmove(b.data, b.data + at, b.n);
    assert_int_equal(walk(&b, &sc__onnx__type_proto__descriptor), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "deep"));
}

static void repeated_singular_fields_are_refused(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    put_int(&b, 1, 8);
    put_int(&b, 1, 9);
    refused(&b, "given twice");
    struct bytes graph = {.n = 0}, twice = {.n = 0};
    put_text(&graph, 2, "g");
    put_message(&twice, 7, &graph); /* protobuf-c would merge the two */
    put_message(&twice, 7, &graph);
    refused(&twice, "given twice");
}

static void two_members_of_a_oneof_are_refused(void **state)
{
    (void)state;
    struct bytes inner = {.n = 0}, type = {.n = 0};
    put_message(&type, 1, &inner);
    put_message(&type, 4, &inner);
    assert_int_equal(walk(&type, &sc__onnx__type_proto__descriptor), SC_BAD_MODEL);
}

static void groups_and_unknown_kinds_are_refused(void **state)
{
    (void)state;
    for (unsigned wire = 3; wire < 8; wire++) {
        if (wire == 5) {
            continue;
        }
        struct bytes b = {.n = 0};
        put_varint(&b, 200 << 3 | wire);
        refused(&b, "group");
    }
}

static void field_numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    struct bytes zero = {.n = 0}, huge = {.n = 0};
    put_varint(&zero, 0);
    put_varint(&zero, 1);
    refused(&zero, "field number");
    put_varint(&huge, (uint64_t)1 << 40);
    put_varint(&huge, 1);
    refused(&huge, "field number");
}

static void wrong_wire_types_are_refused(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    put_int(&b, 7, 1); /* graph as a number */
    refused(&b, "wire type");
    struct bytes c = {.n = 0};
    put_text(&c, 1, "x"); /* ir_version, not repeated, as a packed list */
    refused(&c, "wire type");
}

static void names_with_a_nul_are_refused(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    put_bytes(&b, 2, "ab\0c", 4);
    refused(&b, "NUL");
}

static void broken_lists_of_numbers_are_refused(void **state)
{
    (void)state;
    struct bytes floats = {.n = 0}, numbers = {.n = 0}, dims = {.n = 0};
    put_bytes(&floats, 4, "abcdefg", 7);
    assert_int_equal(walk(&floats, &sc__onnx__tensor_proto__descriptor), SC_BAD_MODEL);
    put_bytes(&numbers, 7, "\x01\x80", 2);
    assert_int_equal(walk(&numbers, &sc__onnx__tensor_proto__descriptor), SC_BAD_MODEL);
    put_bytes(&dims, 1, "\x80", 1);
    assert_int_equal(walk(&dims, &sc__onnx__tensor_proto__descriptor), SC_BAD_MODEL);
}

static void unknown_fields_are_dropped_and_values_stay_in_the_file(void **state)
{
    (void)state;
    struct bytes tensor = tensor_head("w", 1, 1, (const int64_t[]){1000});
    static const float values[1000] = {1};
    put_bytes(&tensor, 9, values, sizeof values);
    struct bytes graph = {.n = 0}, b = {.n = 0};
    put_message(&graph, 5, &tensor);
    put_text(&b, 1000, "an unknown field");
    put_message(&b, 7, &graph);
    struct sc_skeleton skeleton;
    const struct sc_file file = {.data = b.data, .bytes = b.n};
    assert_int_equal(sc_walk("test", &sc__onnx__model_proto__descriptor, &file, &skeleton), SC_OK);
    assert_true(skeleton.bytes < 64);
    assert_int_equal(skeleton.n_payloads, 1);
    assert_int_equal(skeleton.payloads[0].raw_bytes, sizeof values);
    assert_memory_equal(b.data + skeleton.payloads[0].raw, values, sizeof values);
    sc_skeleton_release(&skeleton);
}

static void fingerprints_see_names_and_sizes_but_not_values(void **state)
{
    (void)state;
    uint64_t prints[4];
    for (int i = 0; i < 4; i++) { /* first, other values, other size, other name */
        struct bytes tensor = tensor_head(i == 3 ? "v" : "w", 1, 1, (const int64_t[]){2});
        const unsigned char values[12] = {(unsigned char)(i == 1)};
        put_bytes(&tensor, 9, values, i == 2 ? 12 : 8);
        struct sc_skeleton skeleton;
        const struct sc_file file = {.data = tensor.data, .bytes = tensor.n};
        assert_int_equal(sc_walk("test", &sc__onnx__tensor_proto__descriptor, &file, &skeleton), SC_OK);
        prints[i] = skeleton.fingerprint;
        sc_skeleton_release(&skeleton);
    }
    assert_true(prints[0] == prints[1]);
    assert_true(prints[0] != prints[2] && prints[0] != prints[3]);
}

static void our_own_field_is_not_taken_from_a_file(void **state)
{
    (void)state;
    struct bytes tensor = tensor_head("w", 1, 0, NULL);
    put_int(&tensor, 100000, 77);
    put_int(&tensor, 100000, 78);
    assert_int_equal(walk(&tensor, &sc__onnx__tensor_proto__descriptor), SC_OK);
}

static void an_empty_file_is_an_empty_message(void **state)
{
    (void)state;
    struct sc_skeleton skeleton;
    const struct sc_file file = {0};
    assert_int_equal(sc_walk("test", &sc__onnx__model_proto__descriptor, &file, &skeleton), SC_OK);
    assert_int_equal(skeleton.bytes, 0);
    sc_skeleton_release(&skeleton);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_return_what_was_written),
        cmocka_unit_test(varints_over_64_bits_are_malformed),
        cmocka_unit_test(lengths_past_the_end_are_refused),
        cmocka_unit_test(a_message_may_not_reach_past_the_one_around_it),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(very_deep_files_do_not_exhaust_the_stack),
        cmocka_unit_test(repeated_singular_fields_are_refused),
        cmocka_unit_test(two_members_of_a_oneof_are_refused),
        cmocka_unit_test(groups_and_unknown_kinds_are_refused),
        cmocka_unit_test(field_numbers_out_of_range_are_refused),
        cmocka_unit_test(wrong_wire_types_are_refused),
        cmocka_unit_test(names_with_a_nul_are_refused),
        cmocka_unit_test(broken_lists_of_numbers_are_refused),
        cmocka_unit_test(unknown_fields_are_dropped_and_values_stay_in_the_file),
        cmocka_unit_test(fingerprints_see_names_and_sizes_but_not_values),
        cmocka_unit_test(our_own_field_is_not_taken_from_a_file),
        cmocka_unit_test(an_empty_file_is_an_empty_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
