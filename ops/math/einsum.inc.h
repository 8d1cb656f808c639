/* SPDX-License-Identifier: Apache-2.0
 * The sum behind one element of an Einsum. Parameters: T, the type of operands and sums, and SUM, the function's
 * name. */
static T SUM(const struct job *job, const int64_t *at)
{
    const int n = job->n_operands, last = job->n_summed - 1;
    const int64_t inner = job->summed[last], rows = inner ? job->products / inner : 0;
    int64_t index[LABELS] = {0}, place[MAX_TERMS];
    T sum = 0;
    memcpy(place, at, (size_t)n * sizeof *place);
    for (int64_t row = 0; row < rows; row++) {
        const T *a = (const T *)job->operands[0] + place[0];
        const T *b = n == 2 ? (const T *)job->operands[1] + place[1] : NULL;
        const int64_t step_a = job->summed_steps[0][last], step_b = b ? job->summed_steps[1][last] : 0;
        for (int64_t k = 0; k < inner && b; k++) {
            sum += a[k * step_a] * b[k * step_b];
        }
        for (int64_t k = 0; k < inner && !b; k++) {
            T product = a[k * step_a];
            for (int t = 1; t < n; t++) {
                product *= ((const T *)job->operands[t])[place[t] + k * job->summed_steps[t][last]];
            }
            sum += product;
        }
        bool carry = true;
        for (int d = last - 1; d >= 0 && carry; d--) {
            carry = ++index[d] == job->summed[d];
            index[d] = carry ? 0 : index[d];
            for (int t = 0; t < n; t++) {
                const int64_t step = job->summed_steps[t][d];
                place[t] += carry ? -step * (job->summed[d] - 1) : step;
            }
        }
    }
    return sum;
}
#undef T
#undef SUM
