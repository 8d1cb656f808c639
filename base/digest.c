/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

uint64_t sc_digest_bytes(uint64_t digest, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) {
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}
