/* SPDX-License-Identifier: Apache-2.0
 * One decoder against recorded logits, and against itself: every cut, thread count and prompt chunk gives the same
 * bits.
 *
 * usage: decoder_test MODEL_FOLDER REFERENCE_FOLDER [TOLERANCE [TYPE]]   of a logit; of caches: f16, bf16 or q8_0
 *
 * Exit code 77 where there is no REFERENCE_FOLDER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/decoder/run.h"

#define SC_SKIPPED 77

/* false: no such type. */
static bool read_formats(const char *type, struct sc_cache_formats *formats)
{
    static const char *const names[] = {
        [SC_PAGE_F32] = "f32", [SC_PAGE_F16] = "f16", [SC_PAGE_BF16] = "bf16", [SC_PAGE_Q8_0] = "q8_0"};
    for (int f = SC_PAGE_F32; f <= SC_PAGE_Q8_0; f++) {
        if (strcmp(type, names[f]) == 0) {
            formats->keys = formats->values = (enum sc_page_format)f;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct sc_arena arena = {0};
    struct sc_reference reference;
    struct sc_counts counts = {0, 0};
    struct sc_subject subject = {.model = argv[1]};
    if (argc < 3 || argc > 5 || (argc == 5 && !read_formats(argv[4], &subject.formats))) {
        fprintf(stderr, "usage: decoder_test MODEL_FOLDER REFERENCE_FOLDER [TOLERANCE [TYPE]]\n");
        return 2;
    }
    if (access(argv[2], F_OK) != 0) {
        printf("skipped: no %s (./dev venv, then ctest, which makes it)\n", argv[2]);
        return SC_SKIPPED;
    }
    if (sc_reference_read(argv[2], &arena, &reference) != SC_OK) {
        fprintf(stderr, "decoder_test: %s\n", sc_error_last()->text);
        return 2;
    }
    sc_test_recorded(&subject, &reference, argc >= 4 ? strtod(argv[3], NULL) : SC_LOGIT_TOLERANCE, &counts);
    sc_test_bits(&subject, &reference, &counts);
    sc_test_moves(&subject, &reference, &counts);
    sc_test_apart(&subject, &reference, &counts);
    sc_arena_release(&arena);
    printf("%d passed, %d failed\n", counts.passed, counts.failed);
    return counts.failed != 0;
}
