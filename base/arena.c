/* SPDX-License-Identifier: Apache-2.0
 * Blocks come zeroed from calloc; only bytes that were given out before a reset are cleared again, so that big fresh
 * allocations touch no page. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { SMALL_ALIGN = 16, BIG_ALIGN = 64, FIRST_BLOCK = 16 << 10, LARGEST_STEP = 8 << 20 };

struct sc_arena_block {
    struct sc_arena_block *older;
    unsigned char *data; /* aligned to BIG_ALIGN, inside this allocation */
    size_t capacity;
    size_t used;
    size_t dirty; /* bytes from here on were never given out: still zero */
};

static void *out_of_memory(size_t bytes)
{
    (void)sc_fail(SC_NO_MEMORY, "out of memory: %zu bytes wanted", bytes);
    return NULL;
}

static struct sc_arena_block *block_create(size_t capacity)
{
    const size_t head = sizeof(struct sc_arena_block) + BIG_ALIGN;
    if (capacity > SIZE_MAX / 2 - head) {
        return NULL;
    }
    struct sc_arena_block *const block = calloc(1, head + capacity);
    if (block == NULL) {
        return NULL;
    }
    unsigned char *const after = (unsigned char *)(block + 1);
    block->data = after + (BIG_ALIGN - (uintptr_t)after % BIG_ALIGN) % BIG_ALIGN;
    block->capacity = capacity;
    return block;
}

/* NULL when the block has no room. */
static void *block_cut(struct sc_arena_block *block, size_t bytes, size_t align)
{
    const size_t start = (block->used + align - 1) / align * align;
    if (start > block->capacity || bytes > block->capacity - start) {
        return NULL;
    }
    unsigned char *const data = block->data + start;
    if (start < block->dirty) {
        memset(data, 0, bytes < block->dirty - start ? bytes : block->dirty - start);
    }
    block->used = start + bytes;
    if (block->used > block->dirty) {
        block->dirty = block->used;
    }
    return data;
}

void *sc_arena_alloc(struct sc_arena *arena, size_t bytes)
{
    const size_t wanted = bytes == 0 ? 1 : bytes;
    const size_t align = wanted >= BIG_ALIGN ? BIG_ALIGN : SMALL_ALIGN;
    if (wanted > SIZE_MAX / 4 || wanted > SIZE_MAX - arena->used_bytes) {
        return out_of_memory(bytes);
    }
    if (arena->limit_bytes != 0 &&
        (arena->used_bytes > arena->limit_bytes || wanted > arena->limit_bytes - arena->used_bytes)) {
        (void)sc_fail(SC_NO_MEMORY, "out of memory: %zu bytes wanted, %zu of %zu bytes used", bytes, arena->used_bytes,
            arena->limit_bytes);
        return NULL;
    }
    void *data = arena->newest == NULL ? NULL : block_cut(arena->newest, wanted, align);
    if (data == NULL) {
        size_t capacity = arena->newest == NULL ? FIRST_BLOCK : 2 * arena->newest->capacity;
        capacity = capacity > LARGEST_STEP ? LARGEST_STEP : capacity;
        struct sc_arena_block *const block = block_create(wanted > capacity ? wanted : capacity);
        if (block == NULL) {
            return out_of_memory(bytes);
        }
        block->older = arena->newest;
        arena->newest = block;
        data = block_cut(block, wanted, align);
    }
    arena->used_bytes += wanted;
    return data;
}

void *sc_arena_array(struct sc_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        (void)sc_fail(SC_NO_MEMORY, "out of memory: %zu elements of %zu bytes wanted", count, size);
        return NULL;
    }
    return sc_arena_alloc(arena, count * size);
}

char *sc_arena_text(struct sc_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX) {
        return out_of_memory(length);
    }
    char *const copy = sc_arena_alloc(arena, length + 1);
    if (copy != NULL && length != 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *sc_arena_printf(struct sc_arena *arena, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *const text = length < 0 ? out_of_memory(0) : sc_arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

void sc_arena_adopt(struct sc_arena *arena, struct sc_arena *other)
{
    struct sc_arena_block **end = &arena->newest;
    while (*end != NULL) {
        end = &(*end)->older;
    }
    *end = other->newest;
    arena->used_bytes += other->used_bytes;
    other->newest = NULL;
    other->used_bytes = 0;
}

void sc_arena_reset(struct sc_arena *arena)
{
    struct sc_arena_block *largest = arena->newest;
    for (struct sc_arena_block *block = arena->newest; block != NULL; block = block->older) {
        if (block->capacity > largest->capacity) {
            largest = block;
        }
    }
    for (struct sc_arena_block *block = arena->newest, *older; block != NULL; block = older) {
        older = block->older;
        if (block != largest) {
            free(block);
        }
    }
    if (largest != NULL) {
        largest->older = NULL;
        largest->used = 0;
    }
    arena->newest = largest;
    arena->used_bytes = 0;
}

void sc_arena_release(struct sc_arena *arena)
{
    for (struct sc_arena_block *block = arena->newest, *older; block != NULL; block = older) {
        older = block->older;
        free(block);
    }
    arena->newest = NULL;
    arena->used_bytes = 0;
}
