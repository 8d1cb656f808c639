/* SPDX-License-Identifier: Apache-2.0
 * exp on sixteen lanes: what softmax, sigmoid, tanh and their like share. */
#ifndef SC_OPS_KERNELS_EXP_H
#define SC_OPS_KERNELS_EXP_H

#include "ops/kernels/vec.h"

/* e^x = 2^n e^r with |r| <= ln 2 / 2; ln 2 in two parts, the first so short that n times it is exact. Outside of
 * [-104, 89] the result is 0 or infinite. About 1 ulp, subnormal results included. */
SC_INLINE v16 v_exp(v16 x)
{
    const v16 in = v_max(v_set(-104.0f), v_min(v_set(89.0f), x)); /* NaN stays */
    const v16 n = v_round(v_mul(in, v_set(0x1.715476p+0f)));
    v16 r = v_fma(n, v_set(-0.693359375f), in);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    v16 p = v_set(0.00139517174f);
    p = v_fma(p, r, v_set(0.00836959854f));
    p = v_fma(p, r, v_set(0.0416661873f));
    p = v_fma(p, r, v_set(0.166665122f));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(p, v_mul(r, r), r);
    return v_scale(v_add(p, v_set(1.0f)), n);
}

#endif
