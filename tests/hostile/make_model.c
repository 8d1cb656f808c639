/* SPDX-License-Identifier: Apache-2.0
 * make_model FILE < TEXT: writes the model that the text of model_text.h says. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile/model_text.h"

int main(int argc, char **argv)
{
    static char text[1 << 21];
    size_t bytes = 0;
    int line = 0;
    if (argc != 2) {
        fputs("usage: make_model FILE < TEXT\n", stderr);
        return 2;
    }
    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    unsigned char *model = sc_test_model(text, &bytes, &line);
    FILE *file = model ? fopen(argv[1], "wb") : NULL;
    if (!file) {
        fprintf(stderr, "make_model: %s: line %d of the text\n", argv[1], line);
        return 1;
    }
    const int bad = fwrite(model, 1, bytes, file) != bytes;
    free(model);
    return fclose(file) != 0 || bad;
}
