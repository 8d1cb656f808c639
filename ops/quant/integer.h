/* SPDX-License-Identifier: Apache-2.0
 * What the products and the convolutions of 8-bit integers share: rows of sums become results. */
#ifndef SC_OPS_QUANT_INTEGER_H
#define SC_OPS_QUANT_INTEGER_H

#include "ops/kernels/gemm_bytes.h"
#include "ops/op.h"

enum { SC_INTEGER_COLUMNS = 16 * 24 }; /* at most, of a row of sums */

/* One side of a product: its rows, or its columns. A single zero point or scale serves all of them. */
struct sc_integer_side {
    enum sc_type type;
    const struct sc_tensor *zero, *scale; /* may be NULL: 0, and no scale */
};

struct sc_integer {
    const struct sc_kernels *kernels;
    int64_t K;
    struct sc_integer_side rows, columns; /* as operands A and B of gemm_bytes.h */
    const int32_t *row_sums;
    const struct sc_tensor *bias; /* one for each row, or NULL */
    const struct sc_tensor *y; /* I32: the sums themselves */
    double y_scale, y_zero;
    int32_t *column_zeros; /* NULL: a single one */
    double *factors; /* of columns, NULL: a single one */
};

/* A piece of a row of sums, as sc_bytes_tile leaves them, is brought to the result at `to`. column_sums: of its
 * columns; not read where sc_integer_rows_are_centred. */
struct sc_integer_row {
    int64_t row, column, n;
    int32_t *sums;
    const int32_t *column_sums;
    void *to;
};

/* Memory for what differs by column. */
size_t sc_integer_bytes(const struct sc_integer *integer);
void sc_integer_spread(struct sc_integer *integer, void *room);
bool sc_integer_rows_are_centred(const struct sc_integer *integer);
void sc_integer_put(const struct sc_integer *integer, const struct sc_integer_row *row);

/* The two kinds of products, with what the rows of operators ask of them. `integer` is open but for the sums and what
 * is spread; b's content may be packed. */
size_t sc_integer_product_packed_bytes(const struct sc_fact *b);
void sc_integer_product_pack(const struct sc_pack *pack);
size_t sc_integer_product_scratch(
    const struct sc_call *call, struct sc_integer *integer, const struct sc_tensor *a, const struct sc_tensor *b);
void sc_integer_product_run(
    const struct sc_call *call, struct sc_integer *integer, const struct sc_tensor *a, const struct sc_tensor *b);

/* Refuses pads and dilations that make planes of more bytes than memory can have. */
enum sc_status sc_integer_conv_check(const struct sc_infer *infer);
size_t sc_integer_conv_packed_bytes(const struct sc_fact *w);
void sc_integer_conv_pack(const struct sc_pack *pack);
size_t sc_integer_conv_scratch(
    const struct sc_call *call, struct sc_integer *integer, const struct sc_tensor *x, const struct sc_tensor *w);
void sc_integer_conv_run(
    const struct sc_call *call, struct sc_integer *integer, const struct sc_tensor *x, const struct sc_tensor *w);

/* QLinearMatMul with a float8 type anywhere. */
bool sc_is_float8(enum sc_type type);
size_t sc_float8_scratch(void);
void sc_float8_run(const struct sc_call *call);

#endif
