/* SPDX-License-Identifier: Apache-2.0
 * One number for many bytes. */
#ifndef SC_BASE_DIGEST_H
#define SC_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define SC_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* The digest of what `digest` stands for, followed by these bytes: FNV-1a, 64 bits, for comparing runs and finding
 * damage, no guard against malice. */
uint64_t sc_digest_bytes(uint64_t digest, const void *data, size_t bytes);

#endif
