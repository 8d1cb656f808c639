/* SPDX-License-Identifier: Apache-2.0
 * How the pages of a cache hold numbers: as its tensors do, or narrower. */
#ifndef SC_TENSOR_PAGE_H
#define SC_TENSOR_PAGE_H

#include "tensor/value.h"

/* q8_0: a head's part of a page is 64 * width whole numbers of 8 bits, which lie as elements would, and then a float
 * for each SC_PAGE_CODES columns of each position, which they are multiplied by: keys [block][64], values
 * [64][block]. */
#define SC_PAGE_CODES 32

/* Type of the elements of pages whose tensors are of `type`; SC_I8 for q8_0. */
enum sc_type sc_page_type(enum sc_page_format format, enum sc_type type);

/* Bytes that one position of one head takes. */
int64_t sc_page_row_bytes(enum sc_page_format format, enum sc_type type, int64_t width);

/* "float", "float16", "q8_0": of pages whose tensors are of `type`. */
const char *sc_page_name(enum sc_page_format format, enum sc_type type);

/* q8_0: where the scale of a position of a page and a column lies, in bytes from the head's part of the page. */
int64_t sc_page_scale_at(const struct sc_state_view *view, int64_t width, int64_t row, int64_t column);

#endif
