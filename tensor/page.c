/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/page.h"

enum sc_type sc_page_type(enum sc_page_format format, enum sc_type type)
{
    static const enum sc_type types[] = {
        [SC_PAGE_F32] = SC_F32, [SC_PAGE_F16] = SC_F16, [SC_PAGE_BF16] = SC_BF16, [SC_PAGE_Q8_0] = SC_I8};
    return format == SC_PAGE_AS_TYPE ? type : types[format];
}

static int64_t blocks_of(int64_t width)
{
    return (width + SC_PAGE_CODES - 1) / SC_PAGE_CODES;
}

int64_t sc_page_row_bytes(enum sc_page_format format, enum sc_type type, int64_t width)
{
    const int64_t bytes = width * (int64_t)sc_type_bytes(sc_page_type(format, type));
    return format == SC_PAGE_Q8_0 ? bytes + blocks_of(width) * (int64_t)sizeof(float) : bytes;
}

const char *sc_page_name(enum sc_page_format format, enum sc_type type)
{
    return format == SC_PAGE_Q8_0 ? "q8_0" : sc_type_name(sc_page_type(format, type));
}

/* With keys the positions are neighbours. A width of 1 makes neighbours of values too, and one block: the same
 * place. */
int64_t sc_page_scale_at(const struct sc_state_view *view, int64_t width, int64_t row, int64_t column)
{
    const int64_t block = column / SC_PAGE_CODES;
    const int64_t at = view->row_stride == 1 ? block * SC_PAGE_ROWS + row : row * blocks_of(width) + block;
    return SC_PAGE_ROWS * width + at * (int64_t)sizeof(float);
}
