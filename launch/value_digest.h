/* SPDX-License-Identifier: Apache-2.0
 * One number for all bits of values. */
#ifndef SC_LAUNCH_VALUE_DIGEST_H
#define SC_LAUNCH_VALUE_DIGEST_H

#include "base/digest.h"
#include "tensor/value.h"

/* The digest of what `digest` stands for, followed by `value`: kinds, types, dims and the bytes of elements, in order.
 * Equal values have equal digests, whatever their strides; -0 and 0 are not equal, nor are NaNs of other bits. */
uint64_t sc_digest_value(uint64_t digest, const struct sc_value *value);

/* The digest of what `digest` stands for, followed by what `next` does. */
uint64_t sc_digest_join(uint64_t digest, uint64_t next);

#endif
