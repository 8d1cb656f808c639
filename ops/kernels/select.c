/* SPDX-License-Identifier: Apache-2.0
 * Which levels this build and this CPU have. */
#include <stdlib.h>
#include <string.h>

#include "ops/kernels/kernels.h"

const struct sc_kernels *sc_k_table_base(void);
#ifdef SC_HAVE_AVX2
const struct sc_kernels *sc_k_table_avx2(void);
#endif
#ifdef SC_HAVE_AVX512
const struct sc_kernels *sc_k_table_avx512(void);
#endif

/* __builtin_cpu_supports asks XGETBV too: registers that the system does not save do not count. */
const struct sc_kernels *sc_kernels_at(enum sc_isa isa)
{
    switch (isa) {
    case SC_ISA_BASE:
        return sc_k_table_base();
#ifdef SC_HAVE_AVX2
    case SC_ISA_AVX2:
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
            return sc_k_table_avx2();
        }
        return NULL;
#endif
#ifdef SC_HAVE_AVX512
    case SC_ISA_AVX512:
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("f16c")) {
            return sc_k_table_avx512();
        }
        return NULL;
#endif
    default:
        return NULL;
    }
}

bool sc_kernels_have_vnni(void)
{
#ifdef SC_HAVE_AVX512
    return __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

enum sc_status sc_kernels_best(const struct sc_kernels **kernels)
{
    static const char *const names[SC_ISA_N] = {"base", "avx2", "avx512"};
    const char *wanted = getenv("SC_CPU");
    if (wanted == NULL || *wanted == '\0') {
        const struct sc_kernels *best = NULL;
        for (int isa = 0; isa < SC_ISA_N; isa++) {
            const struct sc_kernels *at = sc_kernels_at((enum sc_isa)isa);
            best = at != NULL ? at : best;
        }
        *kernels = best;
        return SC_OK;
    }
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        if (strcmp(wanted, names[isa]) == 0) {
            const struct sc_kernels *at = sc_kernels_at((enum sc_isa)isa);
            if (at == NULL) {
                return sc_fail(SC_BAD_USAGE, "SC_CPU asks for '%s', which this build or CPU does not have", wanted);
            }
            *kernels = at;
            return SC_OK;
        }
    }
    return sc_fail(SC_BAD_USAGE, "SC_CPU is '%s', want base, avx2 or avx512", wanted);
}
