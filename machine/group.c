/* SPDX-License-Identifier: Apache-2.0
 * Control groups are nested, and each may have a limit: the least one holds. Where only a part of the tree is mounted,
 * as in a container, the group's own folder is not there; those above it are looked at all the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

#define NO_LIMIT (INT64_C(1) << 60) /* version 1 says so by a number near the largest */

/* The limit in one file; 0: there is none. */
static int64_t read_limit(const char *folder, const char *name)
{
    char path[4200], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        return 0;
    }
    const bool got = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    const long long bytes = got ? strtoll(text, NULL, 10) : 0; /* "max" is 0 */
    return bytes > 0 && bytes < NO_LIMIT ? bytes : 0;
}

static int64_t lower(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* The least limit of the group `group` of the tree at `root`, and of those around it. */
static int64_t least_limit(const char *root, const char *group, const char *name)
{
    char folder[4096];
    const size_t top = strlen(root);
    int64_t least = 0;
    if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder) {
        return 0;
    }
    for (char *end = folder + strlen(folder); end; end = strlen(folder) > top ? strrchr(folder, '/') : NULL) {
        *end = '\0';
        least = lower(least, read_limit(folder, name));
    }
    return least;
}

/* A line is ID:CONTROLLERS:GROUP; version 2 has no controllers there. */
static int64_t limit_of_line(char *line, const char *root)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL, tree[2048];
    if (!group) {
        return 0;
    }
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[0] == '\0') {
        return least_limit(root, group, "memory.max");
    }
    for (char *rest = NULL, *word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "memory") == 0 && snprintf(tree, sizeof tree, "%s/memory", root) < (int)sizeof tree) {
            return least_limit(tree, group, "memory.limit_in_bytes");
        }
    }
    return 0;
}

int64_t sc_machine_group_memory(const char *groups, const char *root)
{
    char line[4096];
    int64_t least = 0;
    FILE *file = fopen(groups ? groups : "/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) {
        least = lower(least, limit_of_line(line, root ? root : "/sys/fs/cgroup"));
    }
    if (file) {
        (void)fclose(file);
    }
    return least;
}
