/* SPDX-License-Identifier: Apache-2.0
 * External data: where a location may lead, and what offset and length may say. */
#define _XOPEN_SOURCE 700 /* mkfifo, symlink */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "model/model.h"
#include "onnx_bytes.h"

static char base[64]; /* holds the folder of the model and, beside it, a secret */
static char folder[128];

static int make(void **state)
{
    (void)state;
    make_folder(base, sizeof base);
    (void)snprintf(folder, sizeof folder, "%s/model", base);
    if (mkdir(folder, 0700) != 0) {
        return 1;
    }
    char path[256];
    struct bytes data = {.n = 0};
    const float values[] = {1, 2, 3, 4};
    put(&data, values, sizeof values);
    write_file(path, sizeof path, base, "secret.bin", &data);
    write_file(path, sizeof path, folder, "w.bin", &data);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    remove_folder(base);
    return 0;
}

struct keys {
    const char *location, *offset, *length, *other;
};

static void put_entry(struct bytes *tensor, const char *key, const char *value)
{
    struct bytes entry = {.n = 0};
    if (value) {
        put_text(&entry, 1, key);
        put_text(&entry, 2, value);
        put_message(tensor, 13, &entry);
    }
}

/* A model with w: float[2] in external data. */
static enum sc_status open_with(const struct keys *keys, bool links, struct sc_model **model)
{
    struct bytes w = tensor_head("w", SC_F32, 1, &(const int64_t){2}), graph = {.n = 0};
    put_entry(&w, "location", keys->location);
    put_entry(&w, "offset", keys->offset);
    put_entry(&w, "length", keys->length);
    put_entry(&w, "something", keys->other);
    put_int(&w, 14, 1);
    const struct bytes n = node("Add", "x w", "y");
    put_message(&graph, 5, &w);
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 8, 17);
    char path[256];
    const struct sc_model_options options = {.links = links};
    return sc_model_open_with(write_file(path, sizeof path, folder, "m.onnx", &b), &options, model);
}

static void opens(const struct keys *keys, bool links, float first)
{
    struct sc_model *model = NULL;
    if (open_with(keys, links, &model) != SC_OK) {
        fail_msg("'%s'", sc_error_last()->text);
    }
    struct sc_tensor tensor;
    struct sc_arena arena = {0};
    assert_int_equal(sc_weight_tensor(&model->graph->weights[0], &arena, &tensor), SC_OK);
    assert_true(((const float *)tensor.data)[0] == first);
    assert_true(model->graph->weights[0].external);
    assert_int_equal(model->graph->weights[0].file, 1);
    sc_arena_release(&arena);
    sc_model_close(model);
}

static void refused(const struct keys *keys, enum sc_status code, const char *why)
{
    struct sc_model *model = NULL;
    const enum sc_status status = open_with(keys, false, &model);
    if (status != code || !strstr(sc_error_last()->text, why)) {
        fail_msg("status %d, '%s'; want %d and '%s'", status, status ? sc_error_last()->text : "", code, why);
    }
    assert_null(model);
}

static void data_is_found_by_offset_and_length(void **state)
{
    (void)state;
    opens(&(const struct keys){"w.bin", "8", "8", "ignored"}, false, 3);
    opens(&(const struct keys){"w.bin", NULL, NULL, NULL}, false, 1);
    opens(&(const struct keys){"./w.bin", "0", NULL, NULL}, false, 1);
}

static void locations_out_of_the_folder_are_refused(void **state)
{
    (void)state;
    char absolute[256];
    (void)snprintf(absolute, sizeof absolute, "%s/secret.bin", base);
    refused(&(const struct keys){.location = "../secret.bin"}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.location = "a/../../secret.bin"}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.location = "..\\secret.bin"}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.location = absolute}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.location = ""}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.offset = "0"}, SC_BAD_MODEL, "inside the model's folder");
    refused(&(const struct keys){.location = "absent.bin"}, SC_IO, "absent.bin");
}

static void links_need_leave(void **state)
{
    (void)state;
    char out[256], parent[256], inside[256], hard[256], target[256];
    (void)snprintf(out, sizeof out, "%s/out.bin", folder);
    (void)snprintf(parent, sizeof parent, "%s/up", folder);
    (void)snprintf(inside, sizeof inside, "%s/inside.bin", folder);
    (void)snprintf(hard, sizeof hard, "%s/hard.bin", folder);
    (void)snprintf(target, sizeof target, "%s/secret.bin", base);
    assert_int_equal(symlink("../secret.bin", out), 0);
    assert_int_equal(symlink("..", parent), 0);
    assert_int_equal(symlink("w.bin", inside), 0);
    refused(&(const struct keys){.location = "out.bin"}, SC_BAD_MODEL, "link out of the model's folder");
    refused(&(const struct keys){.location = "up/secret.bin"}, SC_BAD_MODEL, "link out of the model's folder");
    opens(&(const struct keys){.location = "inside.bin"}, false, 1);
    opens(&(const struct keys){.location = "out.bin"}, true, 1);
    assert_int_equal(link(target, hard), 0);
    refused(&(const struct keys){.location = "hard.bin"}, SC_BAD_MODEL, "2 hard links");
    opens(&(const struct keys){.location = "hard.bin"}, true, 1);
    assert_int_equal(unlink(hard), 0);
}

static void only_regular_files_are_opened(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(&(const struct keys){.location = "pipe"}, SC_BAD_MODEL, "not a regular file"); /* and does not hang */
    refused(&(const struct keys){.location = "."}, SC_BAD_MODEL, "not a regular file");
    (void)snprintf(path, sizeof path, "%s/zero", folder);
    assert_int_equal(symlink("/dev/zero", path), 0);
    refused(&(const struct keys){.location = "zero"}, SC_BAD_MODEL, "not a regular file");
}

static void sizes_must_fit_the_file(void **state)
{
    (void)state;
    refused(&(const struct keys){"w.bin", "12", NULL, NULL}, SC_BAD_MODEL, "wants 8 bytes at 12");
    refused(&(const struct keys){"w.bin", "17", NULL, NULL}, SC_BAD_MODEL, "wants 8 bytes at 17");
    refused(&(const struct keys){"w.bin", "18446744073709551615", NULL, NULL}, SC_BAD_MODEL, "");
    refused(&(const struct keys){"w.bin", "18446744073709551608", NULL, NULL}, SC_BAD_MODEL, "");
    refused(&(const struct keys){"w.bin", "99999999999999999999999", NULL, NULL}, SC_BAD_MODEL, "bad external offset");
    refused(&(const struct keys){"w.bin", "-8", NULL, NULL}, SC_BAD_MODEL, "bad external offset");
    refused(&(const struct keys){"w.bin", "", NULL, NULL}, SC_BAD_MODEL, "bad external offset");
    refused(&(const struct keys){"w.bin", "0x8", NULL, NULL}, SC_BAD_MODEL, "bad external offset");
    refused(&(const struct keys){"w.bin", "0", "4", NULL}, SC_BAD_MODEL, "4 bytes of external data, want 8");
    refused(&(const struct keys){"w.bin", "0", "1125899906842624", NULL}, SC_BAD_MODEL, "want 8");
    refused(&(const struct keys){"w.bin", "0", "-1", NULL}, SC_BAD_MODEL, "bad external length");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_found_by_offset_and_length),
        cmocka_unit_test(locations_out_of_the_folder_are_refused),
        cmocka_unit_test(links_need_leave),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(sizes_must_fit_the_file),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
