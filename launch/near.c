/* SPDX-License-Identifier: Apache-2.0
 * The edit distance by one row of its table. */
#include "launch/near.h"

#include <string.h>

enum { MOST = 24 };

/* Of two short words; long ones are as far as can be. */
static int distance(const char *a, const char *b)
{
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n > MOST || m > MOST) {
        return MOST;
    }
    int row[MOST + 1];
    for (int j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            const int shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < shift ? change : shift;
        }
    }
    return row[m];
}

void sc_near_try(struct sc_near *near, const char *candidate, const char *name)
{
    if (!candidate) {
        return;
    }
    const int half = (int)strlen(near->word) / 2;
    const int found = distance(near->word, candidate);
    if (found <= (half < 2 ? half : 2) && (!near->found || found < near->distance)) {
        near->found = name;
        near->distance = found;
    }
}
