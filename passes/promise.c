/* SPDX-License-Identifier: Apache-2.0
 * What a caller promises of an input, as symbolic evaluation takes it. */
#include <string.h>

#include "passes/passes.h"

enum sc_status sc_pass_promise(struct sc_symbolics *s, const struct sc_pass_input *input)
{
    struct sc_symbolic *out = &s->values[input->value];
    *out = (struct sc_symbolic){.rank = input->rank};
    out->dims = sc_arena_array(s->arena, (size_t)input->rank, sizeof *out->dims);
    struct sc_form *form = sc_arena_alloc(s->arena, sizeof *form);
    if (!out->dims || !form) {
        return SC_NO_MEMORY;
    }
    memcpy(out->dims, input->dims, (size_t)input->rank * sizeof *out->dims);
    if (input->content == SC_PASS_ONES || input->content == SC_PASS_POSITIONS) {
        out->kind = SC_SYMBOLIC_FORM;
        out->form = form;
        form->base = (struct sc_size){.constant = input->content == SC_PASS_ONES};
        if (input->content == SC_PASS_POSITIONS) {
            form->base.symbol[SC_PASS_PAST] = 1;
            form->index[input->rank - 1] = 1;
        }
    }
    return SC_OK;
}
