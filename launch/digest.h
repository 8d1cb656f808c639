/* SPDX-License-Identifier: Apache-2.0
 * One number for all bits of values. */
#ifndef SC_LAUNCH_DIGEST_H
#define SC_LAUNCH_DIGEST_H

#include "tensor/value.h"

#define SC_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* The digest of what `digest` stands for, followed by `value`: kinds, types, dims and the bytes of elements, in order.
 * Equal values have equal digests, whatever their strides; -0 and 0 are not equal, nor are NaNs of other bits.
 * FNV-1a, 64 bits: for comparing runs, no guard against malice. */
uint64_t sc_digest_value(uint64_t digest, const struct sc_value *value);

/* The digest of what `digest` stands for, followed by what `next` does. */
uint64_t sc_digest_join(uint64_t digest, uint64_t next);

#endif
