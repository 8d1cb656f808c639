/* SPDX-License-Identifier: Apache-2.0
 * Which file a folder means: model.onnx, what genai_config.json names, or the only .onnx there is. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "model/load.h"

#define MAX_CONFIG_BYTES ((size_t)16 << 20)

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_plain_name(const char *name)
{
    return name && *name && !strchr(name, '/') && strcmp(name, "..") != 0 && strcmp(name, ".") != 0;
}

/* *file stays NULL when there is no genai_config.json. */
static enum sc_status read_config(const char *folder, struct sc_arena *arena, char **file)
{
    const char *path = sc_path_join(arena, folder, "genai_config.json");
    if (!path || !is_file(path)) {
        return path ? SC_OK : SC_NO_MEMORY;
    }
    char *text;
    size_t bytes;
    struct sc_json *root;
    SC_TRY(sc_file_read_text(path, MAX_CONFIG_BYTES, arena, &text, &bytes));
    SC_TRY(sc_json_parse(text, bytes, path, &root));
    const struct sc_json *decoder = sc_json_get(sc_json_get(root, "model"), "decoder");
    const char *name = sc_json_text(sc_json_get(decoder, "filename"), NULL);
    enum sc_status status = SC_OK;
    if (!is_plain_name(name)) {
        status = sc_fail(SC_BAD_MODEL, "'%s': model.decoder.filename is %s%s%s, want the name of a file beside it",
            path, name ? "'" : "", name ? name : "absent", name ? "'" : "");
    } else {
        *file = sc_path_join(arena, folder, name);
        status = *file ? SC_OK : SC_NO_MEMORY;
    }
    sc_json_free(root);
    return status;
}

static bool ends_in_onnx(const char *name)
{
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".onnx") == 0;
}

static enum sc_status find_only(const char *folder, struct sc_arena *arena, char **file)
{
    DIR *listing = opendir(folder);
    if (!listing) {
        return sc_fail(SC_IO, "'%s': %s", folder, strerror(errno));
    }
    enum sc_status status = SC_OK;
    int n = 0;
    for (const struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        if (ends_in_onnx(entry->d_name) && n++ == 0) {
            *file = sc_path_join(arena, folder, entry->d_name);
            status = *file ? SC_OK : SC_NO_MEMORY;
        }
    }
    (void)closedir(listing);
    if (status == SC_OK && n != 1) {
        status = sc_fail(n ? SC_BAD_MODEL : SC_IO, "'%s' has no model.onnx and %s other .onnx file: name the file",
            folder, n ? "more than one" : "no");
    }
    return status;
}

enum sc_status sc_locate_model(const char *path, struct sc_arena *arena, char **file)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        *file = sc_arena_text(arena, path, strlen(path)); /* opening it will say what is wrong with it */
        return *file ? SC_OK : SC_NO_MEMORY;
    }
    char *found = sc_path_join(arena, path, "model.onnx");
    if (!found) {
        return SC_NO_MEMORY;
    }
    if (!is_file(found)) {
        found = NULL;
        SC_TRY(read_config(path, arena, &found));
    }
    if (!found) {
        SC_TRY(find_only(path, arena, &found));
    }
    *file = found;
    return SC_OK;
}
