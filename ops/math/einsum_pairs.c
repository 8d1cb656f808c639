/* SPDX-License-Identifier: Apache-2.0
 * Einsum two operands at a time. Letters of both that are needed later are batches, needed ones of one operand rows or
 * columns, the others are summed: [batch, m, k] times [batch, k, n]. */
#include <string.h>

#include "ops/kernels/kernels.h"
#include "ops/math/einsum.h"
#include "ops/nn/matmul.h"
#include "ops/nn/product.h"
#include "ops/shape/shape.h"
#include "ops/room.h"
#include "tensor/convert.h"

enum { LANES = 8, PART_PRODUCTS = 1 << 16, FEW = 8, MOST_TIMES = 16, ALWAYS = 1 << 20 };

/* Elements by letter, of the type that is computed in. */
struct operand {
    const void *data;
    bool has[SC_EINSUM_LABELS];
    int64_t steps[SC_EINSUM_LABELS]; /* 0 where it is broadcast */
};

/* Letters in order, and the product of their dims. */
struct letters {
    int n;
    unsigned char all[SC_EINSUM_LABELS];
    int64_t count;
};

struct run {
    const struct sc_call *call;
    const struct sc_einsum_plan *plan;
    enum sc_type type; /* computed in */
    size_t bytes; /* of an element */
    size_t used; /* of the scratch */
    int64_t most; /* elements between */
    bool fits;
};

static void add_letter(const struct run *run, struct letters *letters, int letter)
{
    letters->count = letters->n ? letters->count : 1;
    letters->all[letters->n++] = (unsigned char)letter;
    letters->count *= run->plan->dims[letter];
}

static int64_t count_of(const struct letters *letters)
{
    return letters->n ? letters->count : 1;
}

/* Scratch for `count` elements; NULL while sizes are looked for. */
static void *take(struct run *run, int64_t count)
{
    char *base = run->call->scratch;
    void *at = base ? base + run->used : NULL;
    run->fits = run->fits && count <= run->most;
    run->used += run->fits ? sc_room_round((size_t)count * run->bytes) : 0;
    return at;
}

/* A dense operand of these letters, outermost first. */
static struct operand dense(const struct run *run, const void *data, int n_lists, const struct letters *const *lists)
{
    struct operand made = {.data = data};
    int64_t step = 1;
    for (int l = n_lists - 1; l >= 0; l--) {
        for (int i = lists[l]->n - 1; i >= 0; i--) {
            made.has[lists[l]->all[i]] = true;
            made.steps[lists[l]->all[i]] = step;
            step *= run->plan->dims[lists[l]->all[i]];
        }
    }
    return made;
}

static bool is_like(const struct run *run, const struct operand *a, const struct operand *b)
{
    for (int letter = 0; letter < SC_EINSUM_LABELS; letter++) {
        if (a->has[letter] != b->has[letter] ||
            (a->has[letter] && run->plan->dims[letter] != 1 && a->steps[letter] != b->steps[letter])) {
            return false;
        }
    }
    return true;
}

/* One letter after the other: the walk over `outer`, in elements of two operands. */
static void offsets_of(const struct run *run, const struct letters *outer, int64_t index,
    const struct operand *const *in, int n, int64_t *at)
{
    for (int i = outer->n - 1; i >= 0; i--) {
        const int letter = outer->all[i];
        const int64_t dim = run->plan->dims[letter];
        for (int t = 0; t < n; t++) {
            at[t] += index % dim * in[t]->steps[letter];
        }
        index /= dim;
    }
}

struct loop {
    const struct run *run;
    const struct operand *in[2];
    int n; /* operands */
    struct letters rows, summed; /* without their last letters */
    int64_t inner, depth, per_part; /* dims of the last letters */
    int64_t inner_steps[2], depth_steps[2];
    void *out;
};

#define T float
#define SUM double
#define SUFFIX F32
#include "ops/math/einsum_row.inc.h"
#define T double
#define SUM double
#define SUFFIX F64
#include "ops/math/einsum_row.inc.h"
#define T uint32_t
#define SUM uint32_t
#define SUFFIX U32
#include "ops/math/einsum_row.inc.h"
#define T uint64_t
#define SUM uint64_t
#define SUFFIX U64
#include "ops/math/einsum_row.inc.h"

static void loop_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct loop *loop = arg;
    const int64_t n = count_of(&loop->rows), end = (part + 1) * loop->per_part < n ? (part + 1) * loop->per_part : n;
    for (int64_t row = part * loop->per_part; row < end; row++) {
        switch (loop->run->type) {
        case SC_F32:
            row_F32(loop, row);
            break;
        case SC_F64:
            row_F64(loop, row);
            break;
        case SC_I32:
        case SC_U32:
            row_U32(loop, row);
            break;
        default:
            row_U64(loop, row);
            break;
        }
    }
}

/* The letters but for the last one; the last one's dim and its step in an operand (1 and 0 when there is none). */
static int64_t but_last(const struct run *run, const struct letters *letters, struct letters *rest)
{
    *rest = (struct letters){.n = 0};
    for (int i = 0; i + 1 < letters->n; i++) {
        add_letter(run, rest, letters->all[i]);
    }
    return letters->n ? run->plan->dims[letters->all[letters->n - 1]] : 1;
}

/* out[order] = the sum over `summed` of the product of one or two operands. */
static void sum_products(struct run *run, const struct operand *const *in, int n, const struct letters *order,
    const struct letters *summed, void *out)
{
    struct loop loop = {.run = run, .n = n, .out = out};
    if (!run->call->scratch || count_of(order) == 0) {
        return;
    }
    loop.inner = but_last(run, order, &loop.rows);
    loop.depth = but_last(run, summed, &loop.summed);
    for (int t = 0; t < n; t++) {
        loop.in[t] = in[t];
        loop.inner_steps[t] = order->n ? in[t]->steps[order->all[order->n - 1]] : 0;
        loop.depth_steps[t] = summed->n ? in[t]->steps[summed->all[summed->n - 1]] : 0;
    }
    loop.per_part = 1 + PART_PRODUCTS / (loop.inner * count_of(summed) + 1);
    sc_team_for(run->call->team, sc_parts(count_of(&loop.rows), loop.per_part), loop_part, &loop);
}

/* The operand densely in the order of the lists; as it is where it lies so. */
static struct operand ordered(
    struct run *run, const struct operand *from, int n_lists, const struct letters *const *lists)
{
    struct operand made = dense(run, NULL, n_lists, lists);
    if (is_like(run, from, &made)) {
        return *from;
    }
    int64_t count = 1;
    struct sc_move move = {.bytes = run->bytes, .from = from->data};
    for (int l = 0; l < n_lists; l++) {
        for (int i = 0; i < lists[l]->n; i++) {
            const int letter = lists[l]->all[i];
            sc_move_axis(&move, run->plan->dims[letter], made.steps[letter], from->steps[letter]);
            count *= run->plan->dims[letter];
        }
    }
    made.data = move.to = take(run, count);
    if (run->call->scratch) {
        sc_move_run(&move, run->call->team);
    }
    return made;
}

/* What only this operand has and nobody needs is summed first. */
static struct operand reduced(
    struct run *run, const struct operand *from, const struct letters *kept, const struct letters *summed)
{
    if (summed->n == 0) {
        return *from;
    }
    void *out = take(run, count_of(kept));
    sum_products(run, &from, 1, kept, summed, out);
    return dense(run, out, 1, &kept);
}

/* Letters of a pair by what becomes of them. */
struct kinds {
    struct letters batch, m, n, k, a_alone, b_alone, a_kept, b_kept, out;
};

static void sort_letters(
    const struct run *run, const struct operand *a, const struct operand *b, const bool *needed, struct kinds *kinds)
{
    *kinds = (struct kinds){.batch = {.n = 0}};
    for (int letter = 0; letter < SC_EINSUM_LABELS; letter++) {
        const bool both = a->has[letter] && b->has[letter];
        if (both) {
            add_letter(run, needed[letter] ? &kinds->batch : &kinds->k, letter);
        } else if (a->has[letter]) {
            add_letter(run, needed[letter] ? &kinds->m : &kinds->a_alone, letter);
        } else if (b->has[letter]) {
            add_letter(run, needed[letter] ? &kinds->n : &kinds->b_alone, letter);
        }
    }
    const struct letters *const lists[3] = {&kinds->batch, &kinds->m, &kinds->n};
    for (int letter = 0; letter < SC_EINSUM_LABELS; letter++) {
        if (a->has[letter] && (needed[letter] || b->has[letter])) {
            add_letter(run, &kinds->a_kept, letter);
        }
        if (b->has[letter] && (needed[letter] || a->has[letter])) {
            add_letter(run, &kinds->b_kept, letter);
        }
    }
    for (int l = 0; l < 3; l++) {
        for (int i = 0; i < lists[l]->n; i++) {
            add_letter(run, &kinds->out, lists[l]->all[i]);
        }
    }
}

/* [batch, m, k] times [batch, k, n], or n before k, by MatMul. */
static void multiply(
    struct run *run, const struct operand *a, const struct operand *b, const struct kinds *kinds, void *out)
{
    const struct letters *const mk[3] = {&kinds->batch, &kinds->m, &kinds->k};
    const struct letters *const kn[3] = {&kinds->batch, &kinds->k, &kinds->n};
    const struct letters *const nk[3] = {&kinds->batch, &kinds->n, &kinds->k};
    const int64_t batch = count_of(&kinds->batch), m = count_of(&kinds->m), n = count_of(&kinds->n),
                  k = count_of(&kinds->k);
    const struct operand turned = dense(run, NULL, 3, nk);
    const bool is_turned = is_like(run, b, &turned);
    const struct operand left = ordered(run, a, 3, mk);
    const struct operand right = is_turned ? *b : ordered(run, b, 3, kn);
    struct sc_value in[2] = {{.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR}}, result = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&in[0].u.tensor, run->type, 3, (const int64_t[]){batch, m, k});
    sc_tensor_init(&in[1].u.tensor, run->type, 3, (const int64_t[]){batch, k, n});
    sc_tensor_init(&result.u.tensor, run->type, 3, (const int64_t[]){batch, m, n});
    memcpy(&in[0].u.tensor.data, &left.data, sizeof(void *));
    memcpy(&in[1].u.tensor.data, &right.data, sizeof(void *));
    if (is_turned) {
        in[1].u.tensor.strides[1] = 1;
        in[1].u.tensor.strides[2] = k;
    }
    result.u.tensor.data = out;
    const struct sc_value *ins[2] = {&in[0], &in[1]};
    struct sc_value *outs[1] = {&result};
    struct sc_call call = *run->call;
    call.n_in = 2;
    call.n_out = 1;
    call.in = ins;
    call.out = outs;
    call.packed = NULL;
    call.choice = SC_PRODUCT_PLAIN;
    const size_t bytes = sc_matmul_scratch(&call);
    if (run->call->scratch) {
        call.scratch = (char *)run->call->scratch + run->used;
        sc_matmul_run(&call);
    }
    run->used += sc_room_round(bytes);
}

static struct operand contract(struct run *run, const struct operand *a, const struct operand *b, const bool *needed)
{
    struct kinds kinds;
    sort_letters(run, a, b, needed, &kinds);
    run->fits = run->fits && kinds.out.n <= SC_MOVE_RANK;
    const struct operand left = reduced(run, a, &kinds.a_kept, &kinds.a_alone);
    const struct operand right = reduced(run, b, &kinds.b_kept, &kinds.b_alone);
    void *out = take(run, count_of(&kinds.out));
    const struct letters *const order[1] = {&kinds.out};
    const struct operand made = dense(run, out, 1, order);
    if (!run->fits) {
        return made;
    }
    if (count_of(&kinds.m) >= FEW && count_of(&kinds.n) >= FEW && count_of(&kinds.k) >= FEW) {
        multiply(run, &left, &right, &kinds, out);
    } else {
        const struct operand *in[2] = {&left, &right};
        sum_products(run, in, 2, &kinds.out, &kinds.k, out);
    }
    return made;
}

/* Operand t as the equation names its axes; a letter twice is the diagonal. */
static struct operand open_operand(struct run *run, int t)
{
    const struct sc_tensor *x = sc_call_in(run->call, t);
    const struct sc_einsum_term *term = &run->plan->operands[t];
    struct operand made = {.data = x->data};
    for (int i = 0; i < term->n; i++) {
        made.has[term->letters[i]] = true;
        made.steps[term->letters[i]] += x->dims[i] == 1 ? 0 : x->strides[i];
    }
    if (x->type != run->type) {
        const int64_t count = sc_tensor_count(x);
        void *wide = take(run, count);
        if (run->call->scratch) {
            sc_convert(x->type, x->data, run->type, wide, count, 0);
        }
        made.data = wide;
    }
    return made;
}

/* The result in its order and type. */
static void put(struct run *run, const struct operand *from)
{
    const struct sc_tensor *out = sc_call_out(run->call, 0);
    struct letters order = {.n = 0}, summed = {.n = 0};
    bool in_out[SC_EINSUM_LABELS] = {false};
    for (int i = 0; i < run->plan->out.n; i++) {
        in_out[run->plan->out.letters[i]] = true;
        add_letter(run, &order, run->plan->out.letters[i]);
    }
    for (int letter = 0; letter < SC_EINSUM_LABELS; letter++) {
        if (from->has[letter] && !in_out[letter]) {
            add_letter(run, &summed, letter);
        }
    }
    const struct letters *const lists[1] = {&order};
    const bool same = out->type == run->type;
    struct operand made = dense(run, NULL, 1, lists);
    if (summed.n > 0 || !is_like(run, from, &made)) {
        made.data = same ? out->data : take(run, count_of(&order));
        void *to;
        memcpy(&to, &made.data, sizeof(to));
        if (summed.n > 0) {
            sum_products(run, &from, 1, &order, &summed, to);
        } else if (run->call->scratch) {
            struct sc_move move = {.bytes = run->bytes, .from = from->data, .to = to};
            for (int i = 0; i < order.n; i++) {
                sc_move_axis(&move, run->plan->dims[order.all[i]], made.steps[order.all[i]], from->steps[order.all[i]]);
            }
            sc_move_run(&move, run->call->team);
        }
    } else {
        made.data = from->data;
    }
    if (run->call->scratch && made.data != out->data) {
        sc_convert(run->type, made.data, out->type, out->data, count_of(&order), 0);
    }
}

static enum sc_type computed_in(enum sc_type type)
{
    if (type == SC_F16 || type == SC_BF16 || type == SC_F32) {
        return SC_F32;
    }
    return type == SC_F64 || type == SC_I32 || type == SC_U32 ? type : SC_I64;
}

bool sc_einsum_pairs(const struct sc_call *call, const struct sc_einsum_plan *plan, size_t *scratch_bytes)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    struct run run = {.call = call, .plan = plan, .type = computed_in(out->type), .fits = true};
    int64_t elements = sc_tensor_count(out);
    for (int t = 0; t < call->n_in; t++) {
        elements += sc_tensor_count(sc_call_in(call, t));
    }
    run.bytes = sc_type_bytes(run.type);
    run.most = elements < ALWAYS / MOST_TIMES ? ALWAYS : elements * MOST_TIMES;
    struct operand current = open_operand(&run, 0);
    for (int t = 1; t < call->n_in && run.fits; t++) {
        bool needed[SC_EINSUM_LABELS] = {false};
        for (int i = 0; i < plan->out.n; i++) {
            needed[plan->out.letters[i]] = true;
        }
        for (int later = t + 1; later < call->n_in; later++) {
            for (int i = 0; i < plan->operands[later].n; i++) {
                needed[plan->operands[later].letters[i]] = true;
            }
        }
        const struct operand next = open_operand(&run, t);
        current = contract(&run, &current, &next, needed);
    }
    if (run.fits) {
        put(&run, &current);
    }
    *scratch_bytes = run.used + 64;
    return run.fits;
}
