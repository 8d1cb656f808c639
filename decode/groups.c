/* SPDX-License-Identifier: Apache-2.0
 * Trials one after the other, and a pause between them that doubles while the outcome stays. */
#include "decode/groups.h"

enum {
    ROUNDS = 2, /* steps of every text that are measured */
    KEEP_LEAST = 64,
    KEEP_MOST = 512
};

static int find_size(int n_texts)
{
    int size = 0;
    while (size < SC_GROUPS_SIZES - 1 && 1 << size < n_texts) {
        size++;
    }
    return size;
}

static int count_groups(const struct sc_groups *groups, int shift)
{
    return 1 << shift < groups->n_most ? 1 << shift : groups->n_most;
}

/* What is in flight when the number changes was cut by the one before. */
static void begin(struct sc_groups_trial *trial, int shift, int64_t n_skip)
{
    trial->now = shift;
    trial->n_steps = 0;
    trial->n_skip = n_skip;
    trial->sum_ns = 0;
}

int sc_groups_choose(struct sc_groups *groups, int n_texts, int n_stages)
{
    if (n_stages != groups->n_stages) {
        *groups = (struct sc_groups){.n_stages = n_stages};
    }
    const int size = find_size(n_texts);
    struct sc_groups_trial *trial = &groups->trials[size];
    groups->n_most = n_texts < n_stages ? n_texts : n_stages;
    if (size != groups->size) {
        groups->size = size;
        begin(trial, trial->now, groups->n_most);
    }
    return count_groups(groups, trial->now);
}

static void settle(struct sc_groups_trial *trial)
{
    const int64_t twice = 2 * trial->n_keep;
    trial->n_keep = trial->best != trial->last || twice == 0 ? KEEP_LEAST : twice < KEEP_MOST ? twice : KEEP_MOST;
    trial->last = trial->best;
    trial->settled = true;
    begin(trial, trial->best, 0);
}

static void start_again(const struct sc_groups *groups, struct sc_groups_trial *trial)
{
    const int from = trial->best > 0 ? trial->best - 1 : 0;
    trial->settled = false;
    trial->least_ns = 0;
    begin(trial, from, count_groups(groups, trial->now) + count_groups(groups, from));
}

void sc_groups_note(struct sc_groups *groups, int64_t token_ns)
{
    struct sc_groups_trial *trial = &groups->trials[groups->size];
    const int n_now = count_groups(groups, trial->now);
    trial->n_steps++;
    if (trial->settled) {
        if (trial->n_steps >= trial->n_keep * n_now && groups->n_most > 1) {
            start_again(groups, trial);
        }
        return;
    }
    trial->sum_ns += trial->n_steps > trial->n_skip ? (double)token_ns : 0;
    if (trial->n_steps < trial->n_skip + ROUNDS * n_now) {
        return;
    }
    const double mean_ns = trial->sum_ns / (ROUNDS * n_now);
    const bool better = trial->least_ns == 0 || mean_ns < trial->least_ns;
    if (better) {
        trial->best = trial->now;
        trial->least_ns = mean_ns;
    }
    if (better && n_now < groups->n_most) {
        begin(trial, trial->now + 1, count_groups(groups, trial->now + 1));
    } else {
        settle(trial);
    }
}
