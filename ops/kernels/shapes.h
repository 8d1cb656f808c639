/* SPDX-License-Identifier: Apache-2.0
 * Kernels that take so many rows and panels at once, and how a product is shared out among them. */
#ifndef SC_OPS_KERNELS_SHAPES_H
#define SC_OPS_KERNELS_SHAPES_H

#include <stdint.h>

/* In a list most rows come first, and the shapes of as many rows end in one of a single panel. */
struct sc_shape {
    int rows, panels;
    void (*run)(const void *product, int64_t m, int64_t p); /* from this row and panel on */
};

static inline void sc_shapes_run(const struct sc_shape *shapes, const void *product, int64_t rows, int64_t panels)
{
    int64_t m = 0;
    while (m < rows) {
        int s = 0;
        while (shapes[s].rows > rows - m) {
            s++;
        }
        const int taken = shapes[s].rows;
        for (int64_t p = 0; p < panels; p += shapes[s].panels) {
            while (shapes[s].panels > panels - p) {
                s++;
            }
            shapes[s].run(product, m, p);
        }
        m += taken;
    }
}

#endif
