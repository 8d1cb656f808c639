/* SPDX-License-Identifier: Apache-2.0
 * Which operators have loops that are compiled per instruction set level: seen, not declared, so that the list is
 * true. */
#include <string.h>

#include "ops/op.h"

static const struct {
    const char *domain, *name;
} with_levels[] = {
#include "ops/levels.inc.h"
};

bool sc_op_has_levels(const char *domain, const char *name)
{
    for (size_t i = 0; i < sizeof with_levels / sizeof *with_levels; i++) {
        if (strcmp(with_levels[i].name, name) == 0 && strcmp(with_levels[i].domain, domain) == 0) {
            return true;
        }
    }
    return false;
}
