/* SPDX-License-Identifier: Apache-2.0
 * The convolutions of ResNet-50 and MobileNetV3 on one thread, as the operator runs them, beside the speed of register
 * tiles whose operands lie in the first cache: no product of this level is faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/limits.h"
#include "ops/op.h"

enum { ROUNDS = 10 }; /* the best of them counts: the machine is not ours alone */

/* How often a network has a convolution of `channels` to `maps`, of square windows over a square picture. */
struct shape {
    int times;
    int64_t channels, size, maps, kernel, stride, groups;
};

static const struct shape resnet50[] = {{1, 3, 224, 64, 7, 2, 1}, {1, 64, 56, 64, 1, 1, 1}, {3, 64, 56, 64, 3, 1, 1},
    {4, 64, 56, 256, 1, 1, 1}, {2, 256, 56, 64, 1, 1, 1}, {1, 256, 56, 128, 1, 1, 1}, {1, 128, 56, 128, 3, 2, 1},
    {4, 128, 28, 512, 1, 1, 1}, {1, 256, 56, 512, 1, 2, 1}, {3, 512, 28, 128, 1, 1, 1}, {3, 128, 28, 128, 3, 1, 1},
    {1, 512, 28, 256, 1, 1, 1}, {1, 256, 28, 256, 3, 2, 1}, {6, 256, 14, 1024, 1, 1, 1}, {1, 512, 28, 1024, 1, 2, 1},
    {5, 1024, 14, 256, 1, 1, 1}, {5, 256, 14, 256, 3, 1, 1}, {1, 1024, 14, 512, 1, 1, 1}, {1, 512, 14, 512, 3, 2, 1},
    {3, 512, 7, 2048, 1, 1, 1}, {1, 1024, 14, 2048, 1, 2, 1}, {2, 2048, 7, 512, 1, 1, 1}, {2, 512, 7, 512, 3, 1, 1},
    {0}};

static const struct shape mobilenet_v3_large[] = {{1, 3, 224, 16, 3, 2, 1}, {1, 16, 112, 16, 3, 1, 16},
    {1, 16, 112, 16, 1, 1, 1}, {1, 16, 112, 64, 1, 1, 1}, {1, 64, 112, 64, 3, 2, 64}, {1, 64, 56, 24, 1, 1, 1},
    {2, 24, 56, 72, 1, 1, 1}, {1, 72, 56, 72, 3, 1, 72}, {1, 72, 56, 24, 1, 1, 1}, {1, 72, 56, 72, 5, 2, 72},
    {1, 72, 28, 40, 1, 1, 1}, {2, 40, 28, 120, 1, 1, 1}, {2, 120, 28, 120, 5, 1, 120}, {2, 120, 28, 40, 1, 1, 1},
    {1, 40, 28, 240, 1, 1, 1}, {1, 240, 28, 240, 3, 2, 240}, {1, 240, 14, 80, 1, 1, 1}, {1, 80, 14, 200, 1, 1, 1},
    {1, 200, 14, 200, 3, 1, 200}, {1, 200, 14, 80, 1, 1, 1}, {2, 80, 14, 184, 1, 1, 1}, {2, 184, 14, 184, 3, 1, 184},
    {2, 184, 14, 80, 1, 1, 1}, {1, 80, 14, 480, 1, 1, 1}, {1, 480, 14, 480, 3, 1, 480}, {1, 480, 14, 112, 1, 1, 1},
    {2, 112, 14, 672, 1, 1, 1}, {1, 672, 14, 672, 3, 1, 672}, {1, 672, 14, 112, 1, 1, 1}, {1, 672, 14, 672, 5, 2, 672},
    {1, 672, 7, 160, 1, 1, 1}, {3, 160, 7, 960, 1, 1, 1}, {2, 960, 7, 960, 5, 1, 960}, {2, 960, 7, 160, 1, 1, 1},
    {2, 960, 1, 240, 1, 1, 1}, {2, 240, 1, 960, 1, 1, 1}, {1, 672, 1, 168, 1, 1, 1}, {1, 168, 1, 672, 1, 1, 1}, {0}};

static void need(enum sc_status status)
{
    if (status != SC_OK) {
        fprintf(stderr, "bench_conv: %s\n", sc_error_last()->text);
        exit(1);
    }
}

/* A tensor with random content. */
static struct sc_value *new_value(struct sc_arena *arena, int rank, const int64_t *dims)
{
    struct sc_value *value = sc_arena_alloc(arena, sizeof(*value));
    value->kind = SC_KIND_TENSOR;
    struct sc_tensor *t = &value->u.tensor;
    sc_tensor_init(t, SC_F32, rank, dims);
    float *x = sc_arena_alloc(arena, sc_tensor_bytes(t) + 64);
    t->data = x;
    uint32_t seed = 1;
    for (int64_t i = 0; i < sc_tensor_count(t); i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return value;
}

/* An attribute of `n` times the same number. */
static void add_ints(struct sc_arena *arena, struct sc_node *node, const char *name, int n, int64_t value)
{
    int64_t *values = sc_arena_alloc(arena, (size_t)n * sizeof(*values));
    for (int i = 0; i < n; i++) {
        values[i] = value;
    }
    node->attributes[node->n_attributes++] =
        (struct sc_attribute){.name = name, .type = SC_ATTRIBUTE_INTS, .n = n, .u.ints = values};
}

/* The convolution as a call that can be run again and again. */
static struct sc_call *new_call(struct sc_arena *arena, const struct sc_kernels *kernels, const struct shape *s)
{
    const int64_t out = (s->size - 1) / s->stride + 1;
    struct sc_graph *graph = sc_arena_alloc(arena, sizeof(*graph));
    struct sc_node *node = sc_arena_alloc(arena, sizeof(*node));
    *node = (struct sc_node){.name = "conv", .domain = "", .op = "Conv", .version = 22, .n_in = 3, .n_out = 1};
    node->attributes = sc_arena_alloc(arena, 3 * sizeof(*node->attributes));
    add_ints(arena, node, "pads", 4, s->kernel / 2);
    add_ints(arena, node, "strides", 2, s->stride);
    node->attributes[node->n_attributes++] =
        (struct sc_attribute){.name = "group", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = s->groups};
    const struct sc_value **in = sc_arena_alloc(arena, 3 * sizeof(*in));
    struct sc_value **out_values = sc_arena_alloc(arena, sizeof(*out_values));
    struct sc_value *w = new_value(arena, 4, (int64_t[]){s->maps, s->channels / s->groups, s->kernel, s->kernel});
    in[0] = new_value(arena, 4, (int64_t[]){1, s->channels, s->size, s->size});
    in[1] = w;
    in[2] = new_value(arena, 1, &s->maps);
    out_values[0] = new_value(arena, 4, (int64_t[]){1, s->maps, out, out});
    struct sc_fact facts[3];
    const struct sc_fact *fact_in[3];
    for (int i = 0; i < 3; i++) {
        sc_fact_of(&facts[i], in[i]);
        fact_in[i] = &facts[i];
    }
    struct sc_call *call = sc_arena_alloc(arena, sizeof(*call));
    *call = (struct sc_call){.graph = graph,
        .node = node,
        .op = sc_op_find("", "Conv", 22),
        .n_in = 3,
        .n_out = 1,
        .in = in,
        .out = out_values,
        .kernels = kernels,
        .arena = arena};
    void *params;
    need(call->op->params(graph, node, arena, &params));
    call->params = params;
    struct sc_prepare prepare = {.graph = graph,
        .node = node,
        .params = params,
        .n_in = 3,
        .in = fact_in,
        .constant = (bool[]){false, true, true},
        .kernels = kernels};
    need(call->op->prepare(&prepare));
    call->choice = prepare.choice;
    if (prepare.packed_inputs == 1U << 1) {
        void *packed = sc_arena_alloc(arena, prepare.packed_bytes + 64);
        call->op->pack(&(struct sc_pack){.prepare = &prepare, .input = 1, .weight = &w->u.tensor, .packed = packed});
        call->packed = packed;
        w->u.tensor.data = NULL;
    }
    call->scratch = sc_arena_alloc(arena, call->op->scratch(call) + 64);
    return call;
}

static double best_seconds(const struct sc_call *call)
{
    double best = 1e30;
    call->op->run(call);
    for (int round = 0; round < ROUNDS; round++) {
        const double start = thread_seconds();
        double passed = 0;
        int calls = 0;
        while (passed < 0.004) {
            call->op->run(call);
            calls++;
            passed = thread_seconds() - start;
        }
        best = fmin(best, passed / calls);
    }
    return best;
}

static void bench(const struct sc_kernels *kernels, const char *name, const struct shape *shapes)
{
    const double speed = tile_speed(kernels);
    double all_ms = 0, least_ms = 0;
    printf("%s\n channels  size   maps kernel stride groups times |       us  GFLOP/s of tiles\n", name);
    for (const struct shape *s = shapes; s->times > 0; s++) {
        struct sc_arena arena = {0};
        const int64_t out = (s->size - 1) / s->stride + 1;
        const double seconds = best_seconds(new_call(&arena, kernels, s));
        const int64_t depth = s->channels / s->groups;
        const double work = 2e-9 * (double)(out * out * s->maps * depth * s->kernel * s->kernel);
        printf("%9lld %5lld %6lld %6lld %6lld %6lld %5d | %8.1f %8.1f %7.0f %%\n", (long long)s->channels,
            (long long)s->size, (long long)s->maps, (long long)s->kernel, (long long)s->stride, (long long)s->groups,
            s->times, 1e6 * seconds, work / seconds, 100 * work / seconds / speed);
        all_ms += 1e3 * s->times * seconds;
        least_ms += 1e3 * s->times * work / speed;
        sc_arena_release(&arena);
    }
    printf("all of them %.2f ms; at the speed of tiles (%.1f GFLOP/s) %.2f ms: ratio %.2f\n\n", all_ms, speed, least_ms,
        all_ms / least_ms);
}

int main(void)
{
    const struct sc_kernels *kernels;
    need(sc_kernels_best(&kernels));
    printf("level %s, one thread\n\n", kernels->name);
    bench(kernels, "ResNet-50", resnet50);
    bench(kernels, "MobileNetV3-Large", mobilenet_v3_large);
    return 0;
}
