/* SPDX-License-Identifier: Apache-2.0
 * What an operator is given and gives tells whether it can take long. */
#include "exec/perform.h"

/* With less than this even sorting and searching is done in some milliseconds; what relief costs is nothing beside
 * more. */
#define MUCH_BYTES (256 << 10)

struct work {
    const struct sc_op *op;
    const struct sc_call *call;
    enum sc_deed deed;
};

static enum sc_status perform(void *arg)
{
    const struct work *work = arg;
    switch (work->deed) {
    case SC_DEED_RESOLVE:
        return work->op->resolve(work->call);
    case SC_DEED_EXEC:
        return work->op->exec(work->call);
    default:
        work->op->run(work->call);
        return SC_OK;
    }
}

static size_t bytes_of(const struct sc_value *value)
{
    size_t bytes = 0;
    if (value && value->kind == SC_KIND_TENSOR) {
        bytes = sc_tensor_bytes(&value->u.tensor);
    }
    for (int64_t i = 0; value && value->kind == SC_KIND_SEQUENCE && i < value->u.sequence.n && bytes < MUCH_BYTES;
         i++) {
        const struct sc_value *item = &value->u.sequence.items[i]; /* sequences hold tensors alone */
        bytes += item->kind == SC_KIND_TENSOR ? sc_tensor_bytes(&item->u.tensor) : 0;
    }
    return bytes;
}

static bool is_much(const struct sc_call *call, enum sc_deed deed)
{
    size_t bytes = 0;
    for (int i = 0; i < call->n_in && bytes < MUCH_BYTES; i++) {
        bytes += bytes_of(call->in[i]);
    }
    for (int o = 0; o < call->n_out && deed == SC_DEED_RUN && bytes < MUCH_BYTES; o++) { /* before, nothing is known */
        bytes += bytes_of(call->out[o]);
    }
    return bytes >= MUCH_BYTES;
}

/* Parts are counted in elements, and a string is more than a number. */
static bool has_strings(const struct sc_call *call)
{
    for (int i = 0; i < call->n_in + call->n_out; i++) {
        const struct sc_value *value = i < call->n_in ? call->in[i] : call->out[i - call->n_in];
        if (value && value->kind == SC_KIND_TENSOR && value->u.tensor.type == SC_STRING) {
            return true;
        }
    }
    return false;
}

enum sc_status sc_step_perform(const struct sc_step *step, const struct sc_call *call, enum sc_deed deed)
{
    struct work work = {.op = step->op, .call = call, .deed = deed};
    const bool short_parts = step->op->flags & SC_OP_VIEW || (step->op->flags & SC_OP_TICKS && !has_strings(call));
    if (short_parts || !is_much(call, deed)) {
        return perform(&work);
    }
    return sc_team_relieve(call->team, perform, &work);
}
