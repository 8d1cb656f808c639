/* SPDX-License-Identifier: Apache-2.0
 * The peak of this process, and what opening a model does to it. */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/model.h"

#define MIB ((int64_t)1 << 20)

static void touched_memory_raises_the_peak(void **state)
{
    (void)state;
    const int64_t before = sc_memory_peak_bytes();
    assert_true(before > 0);
    volatile char *data = malloc(64 * MIB);
    assert_non_null(data);
    for (int64_t i = 0; i < 64 * MIB; i += 1024) {
        data[i] = 1;
    }
    const int64_t after = sc_memory_peak_bytes();
    free((void *)(uintptr_t)data);
    assert_true(after - before >= 60 * MIB); /* what was there and not touched may make up for some */
    assert_true(sc_memory_peak_bytes() >= after - MIB); /* the kernel counts in batches */
}

static void asking_for_huge_pages_changes_no_byte(void **state)
{
    (void)state;
    unsigned char *data = calloc(1, (size_t)(9 * MIB));
    assert_non_null(data);
    sc_memory_prefer_huge(data, 0);
    sc_memory_prefer_huge(data + 1, 1); /* no whole page */
    sc_memory_prefer_huge(data + 3, (size_t)(8 * MIB) - 5);
    data[4 * MIB] = 7;
    for (int64_t i = 0; i < 9 * MIB; i++) {
        assert_int_equal(data[i], i == 4 * MIB ? 7 : 0);
    }
    free(data);
}

static size_t put_varint(unsigned char *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 0x7f; value >>= 7) {
        to[n++] = (unsigned char)(value | 0x80);
    }
    to[n++] = (unsigned char)value;
    return n;
}

/* A model of n float tensors with `bytes` of raw_data each. Written in one piece, so that the page cache has them in
 * large ones: a touched byte of a hole would bring a page alone. */
static void write_model(int fd, int n, int64_t bytes)
{
    unsigned char *values = calloc(1, (size_t)bytes);
    assert_non_null(values);
    memset(values, 1, (size_t)bytes); /* pages of its own: a write from untouched ones goes in small pieces */
    unsigned char tensor[64], head[64], tag[16];
    size_t n_tensor = 0, n_head = 0;
    tensor[n_tensor++] = 1 << 3; /* dims */
    n_tensor += put_varint(tensor + n_tensor, (uint64_t)bytes / 4);
    tensor[n_tensor++] = 2 << 3; /* data_type: float */
    tensor[n_tensor++] = 1;
    tensor[n_tensor++] = 8 << 3 | 2; /* name, "w000" */
    tensor[n_tensor++] = 4;
    const size_t name = n_tensor;
    n_tensor += 4;
    tensor[n_tensor++] = 9 << 3 | 2; /* raw_data */
    n_tensor += put_varint(tensor + n_tensor, (uint64_t)bytes);
    tag[0] = 5 << 3 | 2; /* initializer */
    const size_t n_tag = 1 + put_varint(tag + 1, n_tensor + (uint64_t)bytes);
    const uint64_t graph = (uint64_t)n * (n_tag + n_tensor + (uint64_t)bytes) + 3;
    static const unsigned char start[] = {1 << 3, 8, 8 << 3 | 2, 2, 2 << 3, 17}; /* ir_version 8, opset 17 */
    memcpy(head, start, sizeof start);
    n_head = sizeof start;
    head[n_head++] = 7 << 3 | 2; /* graph */
    n_head += put_varint(head + n_head, graph);
    enum { MOST = 300 };
    struct iovec parts[MOST];
    unsigned char headers[MOST / 2][80];
    assert_true(2 * n + 2 <= MOST);
    int n_parts = 0;
    parts[n_parts++] = (struct iovec){head, n_head};
    for (int i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "w%03d", i % 1000);
        memcpy(tensor + name, text, 4);
        memcpy(headers[i], tag, n_tag);
        memcpy(headers[i] + n_tag, tensor, n_tensor);
        parts[n_parts++] = (struct iovec){headers[i], n_tag + n_tensor};
        parts[n_parts++] = (struct iovec){values, (size_t)bytes};
    }
    char last[] = "\x12\x01g"; /* the graph's name */
    parts[n_parts++] = (struct iovec){last, 3};
    assert_true(writev(fd, parts, n_parts) > n * bytes);
    free(values);
}

/* 128 MiB of weights, whose headers alone are looked at. */
static void opening_a_model_brings_no_weights_into_memory(void **state)
{
    (void)state;
    char path[] = "test_memory_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_model(fd, 32, 4 * MIB);
    assert_int_equal(close(fd), 0);
    const int64_t before = sc_memory_peak_bytes();
    struct sc_model *model = NULL;
    const enum sc_status status = sc_model_open(path, &model);
    const int64_t after = sc_memory_peak_bytes();
    (void)unlink(path);
    if (status != SC_OK) {
        fail_msg("%s", sc_error_last()->text);
    }
    assert_int_equal(model->graph->n_weights, 32);
    sc_model_close(model);
    assert_true(after - before < 16 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_a_model_brings_no_weights_into_memory), /* first: the other one raises the peak */
        cmocka_unit_test(touched_memory_raises_the_peak),
        cmocka_unit_test(asking_for_huge_pages_changes_no_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
