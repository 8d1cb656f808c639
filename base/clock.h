/* SPDX-License-Identifier: Apache-2.0
 * The monotonic clock. */
#ifndef SC_BASE_CLOCK_H
#define SC_BASE_CLOCK_H

#include <stdint.h>

int64_t sc_clock_ns(void);
void sc_clock_sleep_ns(int64_t ns);

#endif
