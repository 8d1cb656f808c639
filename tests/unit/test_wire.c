/* SPDX-License-Identifier: Apache-2.0
 * Messages: what is written is read, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "comm/wire_format.h"

#define MANY 8

struct message {
    unsigned char *buffer; /* aligned to 64, of exactly `bytes` bytes, so that a sanitizer sees overruns */
    size_t bytes;
};

static void *aligned(size_t bytes)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, bytes ? bytes : 1), 0);
    return memory;
}

static struct message written(const struct sc_value *values, int n)
{
    const struct sc_value *pointers[MANY];
    const struct sc_wire_header header = {.kind = SC_WIRE_DATA,
        .edge = 3,
        .seq = 1234567890123,
        .slowest_ns = 9876543210,
        .n_rows = 2,
        .dropped = {{9, [15] = 7}},
        .rows = {{.slot = 4, .n_new = 5, .pos = 6, .shares = 8, .note = "said"}, {.slot = -1, .n_new = 1, .pos = 0},
            {.slot = 99}}};
    for (int i = 0; i < n; i++) {
        pointers[i] = &values[i];
    }
    struct message message = {.bytes = sc_wire_bytes(header.n_rows, pointers, n)};
    assert_true(message.bytes >= sc_wire_header_bytes(2));
    message.buffer = aligned(message.bytes);
    memset(message.buffer, 0xee, message.bytes);
    sc_wire_write(&header, pointers, n, message.buffer);
    return message;
}

static enum sc_status read_back(const struct message *message, struct sc_arena *arena, struct sc_value *values)
{
    struct sc_wire_header header;
    return sc_wire_read(message->buffer, message->bytes, &header, arena, MANY, values);
}

static struct sc_value tensor_value(enum sc_type type, int rank, const int64_t *dims, void *data)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value.u.tensor, type, rank, dims);
    value.u.tensor.data = data;
    return value;
}

static void header_survives(void **state)
{
    (void)state;
    struct message message = written(NULL, 0);
    struct sc_wire_header header;
    struct sc_arena arena = {0};
    assert_int_equal(sc_wire_read(message.buffer, message.bytes, &header, &arena, 0, NULL), SC_OK);
    assert_int_equal(header.kind, SC_WIRE_DATA);
    assert_int_equal(header.edge, 3);
    assert_int_equal(header.seq, 1234567890123);
    assert_int_equal(header.slowest_ns, 9876543210);
    assert_int_equal(header.n_values, 0);
    assert_int_equal(header.n_rows, 2);
    assert_int_equal(header.rows[0].slot, 4);
    assert_int_equal(header.rows[0].n_new, 5);
    assert_int_equal(header.rows[0].pos, 6);
    assert_int_equal(header.rows[0].shares, 8);
    assert_string_equal((const char *)header.rows[0].note, "said");
    assert_int_equal(header.dropped.words[0], 9);
    assert_int_equal(header.dropped.words[15], 7);
    assert_int_equal(header.rows[1].slot, -1);
    assert_int_equal(header.rows[2].slot, 0); /* not used, so not sent */
    free(message.buffer);
    sc_arena_release(&arena);
}

static void tensors_of_every_type_survive(void **state)
{
    (void)state;
    for (int type = 1; type < SC_N_TYPES; type++) {
        if (type == SC_STRING) {
            continue;
        }
        unsigned char data[6 * 16];
        const int64_t dims[] = {2, 3};
        for (size_t i = 0; i < sizeof data; i++) {
            data[i] = (unsigned char)(i % 2); /* in range for every narrow type */
        }
        const struct sc_value sent = tensor_value((enum sc_type)type, 2, dims, data);
        struct message message = written(&sent, 1);
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        assert_int_equal(read_back(&message, &arena, got), SC_OK);
        assert_int_equal(got[0].kind, SC_KIND_TENSOR);
        assert_int_equal(got[0].u.tensor.type, type);
        assert_int_equal(got[0].u.tensor.owner, SC_OWNER_LINK);
        assert_true(sc_dims_equal(&got[0].u.tensor, &sent.u.tensor));
        assert_int_equal((uintptr_t)got[0].u.tensor.data % 64, 0);
        assert_memory_equal(got[0].u.tensor.data, data, 6 * sc_type_bytes((enum sc_type)type));
        free(message.buffer);
        sc_arena_release(&arena);
    }
}

static void scalars_and_empty_tensors_survive(void **state)
{
    (void)state;
    float pi = 3.25f;
    const int64_t none[] = {4, 0, 7};
    const struct sc_value sent[] = {tensor_value(SC_F32, 0, NULL, &pi), tensor_value(SC_I64, 3, none, NULL),
        tensor_value(SC_STRING, 3, none, NULL)};
    struct message message = written(sent, 3);
    struct sc_arena arena = {0};
    struct sc_value got[MANY];
    assert_int_equal(read_back(&message, &arena, got), SC_OK);
    assert_int_equal(got[0].u.tensor.rank, 0);
    assert_memory_equal(got[0].u.tensor.data, &pi, sizeof pi);
    assert_true(sc_dims_equal(&got[1].u.tensor, &sent[1].u.tensor));
    assert_int_equal(got[1].u.tensor.type, SC_I64);
    assert_true(sc_dims_equal(&got[2].u.tensor, &sent[2].u.tensor));
    free(message.buffer);
    sc_arena_release(&arena);
}

static void strided_tensors_arrive_dense(void **state)
{
    (void)state;
    int32_t data[] = {1, 2, 3, 4, 5, 6};
    struct sc_string words[] = {{"a", 1}, {"bb", 2}, {"ccc", 3}, {"", 0}, {"e\0e", 3}, {"f", 1}};
    const int64_t dims[] = {3, 2};
    struct sc_value sent[] = {tensor_value(SC_I32, 2, dims, data), tensor_value(SC_STRING, 2, dims, words)};
    for (int i = 0; i < 2; i++) { /* the transpose of [2, 3] */
        sent[i].u.tensor.strides[0] = 1;
        sent[i].u.tensor.strides[1] = 3;
    }
    struct message message = written(sent, 2);
    struct sc_arena arena = {0};
    struct sc_value got[MANY];
    assert_int_equal(read_back(&message, &arena, got), SC_OK);
    const int32_t want[] = {1, 4, 2, 5, 3, 6};
    const char *const want_words[] = {"a", "", "bb", "e\0e", "ccc", "f"};
    const size_t want_bytes[] = {1, 0, 2, 3, 3, 1};
    assert_true(sc_tensor_is_dense(&got[0].u.tensor));
    assert_memory_equal(got[0].u.tensor.data, want, sizeof want);
    const struct sc_string *strings = got[1].u.tensor.data;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(strings[i].bytes, want_bytes[i]);
        assert_memory_equal(strings[i].data, want_words[i], want_bytes[i]);
    }
    free(message.buffer);
    sc_arena_release(&arena);
}

static void packed_tensors_stay_packed(void **state)
{
    (void)state;
    unsigned char data[] = {0x21, 0x43, 0x05};
    const int64_t dims[] = {5};
    struct sc_value sent = tensor_value(SC_U4, 1, dims, data);
    sent.u.tensor.storage = SC_STORAGE_PACKED;
    struct message message = written(&sent, 1);
    struct sc_arena arena = {0};
    struct sc_value got[MANY];
    assert_int_equal(read_back(&message, &arena, got), SC_OK);
    assert_int_equal(got[0].u.tensor.storage, SC_STORAGE_PACKED);
    assert_memory_equal(got[0].u.tensor.data, data, 3);
    free(message.buffer);
    sc_arena_release(&arena);
}

static void sequences_and_optionals_survive(void **state)
{
    (void)state;
    float data[] = {1, 2, 3};
    const int64_t three[] = {3}, one[] = {1};
    struct sc_value items[] = {tensor_value(SC_F32, 1, three, data), tensor_value(SC_F32, 1, one, data)};
    struct sc_value inner[] = {{.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_F32, .n = 2, .items = items}},
        {.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_F32}}};
    const struct sc_value sent[] = {
        {.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_F32, .n = 2, .items = inner}},
        {.kind = SC_KIND_OPTIONAL, .u.optional = {.item = &items[0], .item_kind = SC_KIND_TENSOR, .type = SC_F32}},
        {.kind = SC_KIND_OPTIONAL, .u.optional = {.item_kind = SC_KIND_SEQUENCE, .type = SC_I64}},
        {.kind = SC_KIND_NONE},
    };
    struct message message = written(sent, 4);
    struct sc_arena arena = {0};
    struct sc_value got[MANY];
    assert_int_equal(read_back(&message, &arena, got), SC_OK);
    assert_int_equal(got[0].kind, SC_KIND_SEQUENCE);
    assert_int_equal(got[0].u.sequence.n, 2);
    assert_int_equal(got[0].u.sequence.items[0].u.sequence.n, 2);
    assert_memory_equal(got[0].u.sequence.items[0].u.sequence.items[0].u.tensor.data, data, sizeof data);
    assert_int_equal(got[0].u.sequence.items[0].u.sequence.items[1].u.tensor.dims[0], 1);
    assert_int_equal(got[0].u.sequence.items[1].u.sequence.n, 0);
    assert_int_equal(got[1].kind, SC_KIND_OPTIONAL);
    assert_memory_equal(got[1].u.optional.item->u.tensor.data, data, sizeof data);
    assert_null(got[2].u.optional.item);
    assert_int_equal(got[2].u.optional.item_kind, SC_KIND_SEQUENCE);
    assert_int_equal(got[2].u.optional.type, SC_I64);
    assert_int_equal(got[3].kind, SC_KIND_NONE);
    free(message.buffer);
    sc_arena_release(&arena);
}

static void maps_survive_in_order_and_are_refused_out_of_it(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        int64_t keys[] = {ordered ? -4 : 4, 3};
        float numbers[] = {1, 2};
        const int64_t two[] = {2};
        struct sc_value items[] = {tensor_value(SC_I64, 1, two, keys), tensor_value(SC_F32, 1, two, numbers)};
        struct sc_value map = {.kind = SC_KIND_MAP, .u.sequence = {.type = SC_F32, .n = 2, .items = items}};
        const struct sc_value sent = {.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_F32, .n = 1, .items = &map}};
        struct message message = written(&sent, 1);
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        assert_int_equal(read_back(&message, &arena, got), ordered ? SC_OK : SC_PEER);
        if (ordered) {
            const struct sc_value *back = &got[0].u.sequence.items[0];
            assert_true(sc_value_is_map(back));
            assert_memory_equal(back->u.sequence.items[0].u.tensor.data, keys, sizeof keys);
            assert_memory_equal(back->u.sequence.items[1].u.tensor.data, numbers, sizeof numbers);
        }
        free(message.buffer);
        sc_arena_release(&arena);
    }
}

static void what_cannot_travel_has_no_size(void **state)
{
    (void)state;
    struct sc_value nested[10] = {{.kind = SC_KIND_NONE}};
    for (int i = 1; i < 10; i++) {
        nested[i] = (struct sc_value){.kind = SC_KIND_SEQUENCE, .u.sequence = {.n = 1, .items = &nested[i - 1]}};
    }
    const struct sc_value state_value = {.kind = SC_KIND_STATE};
    const struct sc_value *values[] = {&nested[8], &nested[9], &state_value};
    assert_true(sc_wire_bytes(0, &values[0], 1) > 0);
    assert_int_equal(sc_wire_bytes(0, &values[1], 1), 0);
    assert_int_equal(sc_wire_bytes(0, &values[2], 1), 0);
}

/* A message with one tensor float[2,3] and one sequence of two strings[2], to be broken. */
static struct message sample(void)
{
    static float data[6] = {1, 2, 3, 4, 5, 6};
    static struct sc_string words[] = {{"hello", 5}, {"you", 3}};
    const int64_t dims[] = {2, 3}, two[] = {2};
    struct sc_value items[] = {tensor_value(SC_STRING, 1, two, words), tensor_value(SC_STRING, 1, two, words)};
    const struct sc_value values[] = {tensor_value(SC_F32, 2, dims, data),
        {.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_STRING, .n = 2, .items = items}}};
    return written(values, 2);
}

static void refused_with(size_t offset, const void *bytes, size_t n, const char *why)
{
    struct message message = sample();
    struct sc_arena arena = {0};
    struct sc_value got[MANY];
    assert_true(offset + n <= message.bytes);
    memcpy(message.buffer + offset, bytes, n);
    assert_int_equal(read_back(&message, &arena, got), SC_PEER);
    assert_int_equal(sc_error_last()->code, SC_PEER);
    if (!strstr(sc_error_last()->text, why)) {
        fail_msg("'%s' does not say '%s'", sc_error_last()->text, why);
    }
    free(message.buffer);
    sc_arena_release(&arena);
}

#define REFUSED(offset, type, value, why)                                                                              \
    do {                                                                                                               \
        const type refused_value = (value);                                                                            \
        refused_with((offset), &refused_value, sizeof refused_value, (why));                                           \
    } while (0)

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    REFUSED(offsetof(struct sc_wire_header, magic), uint32_t, 7, "magic");
    REFUSED(offsetof(struct sc_wire_header, version), uint32_t, 1, "version 1");
    REFUSED(offsetof(struct sc_wire_header, kind), int32_t, 99, "kind 99");
    REFUSED(offsetof(struct sc_wire_header, kind), int32_t, -1, "kind -1");
    REFUSED(offsetof(struct sc_wire_header, edge), int32_t, -2, "edge -2");
    REFUSED(offsetof(struct sc_wire_header, n_values), int32_t, MANY + 1, "9 values");
    REFUSED(offsetof(struct sc_wire_header, n_values), int32_t, -1, "-1 values");
    REFUSED(offsetof(struct sc_wire_header, n_values), int32_t, 3, "ends");
    REFUSED(offsetof(struct sc_wire_header, n_values), int32_t, 1, "after its last value");
    REFUSED(offsetof(struct sc_wire_header, n_rows), int32_t, SC_WIRE_ROWS + 1, "65 rows");
    REFUSED(offsetof(struct sc_wire_header, n_rows), int32_t, -1, "-1 rows");
    REFUSED(offsetof(struct sc_wire_header, payload_bytes), uint64_t, 1, "1 bytes of payload");
    REFUSED(offsetof(struct sc_wire_header, slowest_ns), int64_t, -1, "-1 ns");
    REFUSED(offsetof(struct sc_wire_header, rows[0].slot), int32_t, -2, "slot -2");
    REFUSED(offsetof(struct sc_wire_header, rows[1].n_new), int32_t, -1, "-1 new");
    REFUSED(offsetof(struct sc_wire_header, rows[1].pos), int64_t, -1, "after -1");
    REFUSED(offsetof(struct sc_wire_header, rows[1].shares), int32_t, -1, "of -2");
    REFUSED(offsetof(struct sc_wire_header, n_rows), int32_t, 3, "of payload");
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    const size_t at = sc_wire_header_bytes(2), dims = at + sizeof(struct sc_wire_record);
    REFUSED(at + offsetof(struct sc_wire_record, kind), uint8_t, SC_KIND_STATE, "kind 5");
    REFUSED(at + offsetof(struct sc_wire_record, kind), uint8_t, 200, "kind 200");
    REFUSED(at + offsetof(struct sc_wire_record, type), uint8_t, 0, "type 0");
    REFUSED(at + offsetof(struct sc_wire_record, type), uint8_t, SC_N_TYPES, "type");
    REFUSED(at + offsetof(struct sc_wire_record, storage), uint8_t, SC_STORAGE_PACKED, "packed tensor of float");
    REFUSED(at + offsetof(struct sc_wire_record, storage), uint8_t, 2, "storage 2");
    REFUSED(at + offsetof(struct sc_wire_record, rank), uint8_t, SC_MAX_RANK + 1, "rank 17");
    REFUSED(at + offsetof(struct sc_wire_record, n), int64_t, 5, "5 by its count");
    REFUSED(dims, int64_t, -2, "tensor of a message");
    REFUSED(dims, int64_t, INT64_MAX, "tensor of a message");
    const int64_t large[] = {1, 1 << 20, 1 << 20}; /* n, then dims whose product agrees */
    int64_t agreeing[] = {(int64_t)1 << 40, large[1], large[2]};
    refused_with(at + offsetof(struct sc_wire_record, n), agreeing, sizeof agreeing, "are left");
}

static void elements_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum sc_type type;
        unsigned char good, bad;
    } cases[] = {{SC_BOOL, 1, 2}, {SC_U4, 15, 16}, {SC_I4, 0xf8, 0x80}, {SC_U2, 3, 4}, {SC_I2, 0xfe, 0xf0},
        {SC_F4E2M1, 15, 16}, {SC_F6E2M3, 63, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char data[3] = {0, cases[i].good, 0};
        const int64_t dims[] = {3};
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        const struct sc_value sent = tensor_value(cases[i].type, 1, dims, data);
        struct message message = written(&sent, 1);
        assert_int_equal(read_back(&message, &arena, got), SC_OK);
        ((unsigned char *)got[0].u.tensor.data)[2] = cases[i].bad;
        assert_int_equal(read_back(&message, &arena, got), SC_PEER);
        free(message.buffer);
        sc_arena_release(&arena);
    }
}

static void every_cut_message_is_refused(void **state)
{
    (void)state;
    struct message whole = sample();
    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        struct message cut = {.buffer = aligned(bytes), .bytes = bytes};
        memcpy(cut.buffer, whole.buffer, bytes);
        if (bytes >= sc_wire_header_bytes(2)) { /* a liar who says the true length */
            const uint64_t payload = bytes - sc_wire_header_bytes(2);
            memcpy(cut.buffer + offsetof(struct sc_wire_header, payload_bytes), &payload, sizeof payload);
        }
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        assert_int_equal(read_back(&cut, &arena, got), SC_PEER);
        free(cut.buffer);
        sc_arena_release(&arena);
    }
    free(whole.buffer);
}

/* Whatever one byte becomes, reading ends with an error or with values inside the buffer (the sanitizers look on). */
static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    static const unsigned char changes[] = {0x01, 0x80, 0xff, 0x04, 0x7f};
    for (size_t change = 0; change < sizeof changes; change++) {
        struct message message = sample();
        for (size_t i = 0; i < message.bytes; i++) {
            struct sc_arena arena = {.limit_bytes = 1 << 20};
            struct sc_value got[MANY];
            message.buffer[i] ^= changes[change];
            const enum sc_status status = read_back(&message, &arena, got);
            assert_true(status == SC_OK || status == SC_PEER || status == SC_NO_MEMORY);
            message.buffer[i] ^= changes[change];
            sc_arena_release(&arena);
        }
        free(message.buffer);
    }
}

static void nesting_past_eight_is_refused(void **state)
{
    (void)state;
    for (int depth = 8; depth <= 9; depth++) {
        struct message message = {.bytes = sc_wire_header_bytes(0) + (size_t)(depth + 1) * 16};
        message.buffer = aligned(message.bytes);
        memset(message.buffer, 0, message.bytes);
        const struct sc_wire_header header = {.magic = SC_WIRE_MAGIC,
            .version = SC_WIRE_VERSION,
            .n_values = 1,
            .payload_bytes = (uint64_t)(depth + 1) * 16};
        memcpy(message.buffer, &header, sc_wire_header_bytes(0));
        for (int i = 0; i < depth; i++) {
            const struct sc_wire_record record = {.kind = SC_KIND_SEQUENCE, .n = 1};
            memcpy(message.buffer + sc_wire_header_bytes(0) + (size_t)i * 16, &record, sizeof record);
        }
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        assert_int_equal(read_back(&message, &arena, got), depth == 8 ? SC_OK : SC_PEER);
        free(message.buffer);
        sc_arena_release(&arena);
    }
}

static void items_of_another_type_are_refused(void **state)
{
    (void)state;
    float number = 1;
    struct sc_value item = tensor_value(SC_F32, 0, NULL, &number);
    const struct sc_value wrong[] = {{.kind = SC_KIND_SEQUENCE, .u.sequence = {.type = SC_I64, .n = 1, .items = &item}},
        {.kind = SC_KIND_OPTIONAL, .u.optional = {.type = SC_I64, .item_kind = SC_KIND_TENSOR, .item = &item}},
        {.kind = SC_KIND_OPTIONAL, .u.optional = {.type = SC_F32, .item_kind = SC_KIND_SEQUENCE, .item = &item}}};
    for (int i = 0; i < 3; i++) {
        struct message message = written(&wrong[i], 1);
        struct sc_arena arena = {0};
        struct sc_value got[MANY];
        assert_int_equal(read_back(&message, &arena, got), SC_PEER);
        free(message.buffer);
        sc_arena_release(&arena);
    }
}

static void errors_travel_as_poison(void **state)
{
    (void)state;
    struct sc_error error = {.code = SC_BAD_INPUT, .rank = 2, .stage = 3, .seq = 4, .text = "index 9 of 5"};
    struct sc_value sent, got[MANY];
    sc_wire_error_value(&error, &sent);
    struct message message = written(&sent, 1);
    struct sc_arena arena = {0};
    struct sc_error back;
    assert_int_equal(read_back(&message, &arena, got), SC_OK);
    assert_int_equal(sc_wire_read_error(&got[0], &back), SC_OK);
    assert_int_equal(back.code, SC_BAD_INPUT);
    assert_int_equal(back.rank, 2);
    assert_string_equal(back.text, "index 9 of 5");

    memset(got[0].u.tensor.data, 0xff, sizeof error); /* no end of texts, no code of ours */
    assert_int_equal(sc_wire_read_error(&got[0], &back), SC_OK);
    assert_int_equal(back.code, SC_PEER);
    assert_int_equal(strlen(back.text), sizeof back.text - 1);
    got[0].u.tensor.dims[0]--;
    assert_int_equal(sc_wire_read_error(&got[0], &back), SC_PEER);
    free(message.buffer);
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_survives),
        cmocka_unit_test(tensors_of_every_type_survive),
        cmocka_unit_test(scalars_and_empty_tensors_survive),
        cmocka_unit_test(strided_tensors_arrive_dense),
        cmocka_unit_test(packed_tensors_stay_packed),
        cmocka_unit_test(sequences_and_optionals_survive),
        cmocka_unit_test(maps_survive_in_order_and_are_refused_out_of_it),
        cmocka_unit_test(what_cannot_travel_has_no_size),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(elements_out_of_range_are_refused),
        cmocka_unit_test(every_cut_message_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(nesting_past_eight_is_refused),
        cmocka_unit_test(items_of_another_type_are_refused),
        cmocka_unit_test(errors_travel_as_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
