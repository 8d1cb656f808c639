/* SPDX-License-Identifier: Apache-2.0
 * The generated table, sorted by domain, name and since. For ops/schema.c alone. */
#ifndef SC_OPS_SCHEMA_TABLE_H
#define SC_OPS_SCHEMA_TABLE_H

#include "ops/schema.h"

extern const struct sc_schema sc_schema_table[];
extern const int sc_schema_table_n;

#endif
