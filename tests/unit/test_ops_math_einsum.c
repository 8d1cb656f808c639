/* SPDX-License-Identifier: Apache-2.0
 * Einsum against sums taken letter by letter, and what an equation may not be. */
#include <stdio.h>

#include "op_harness.h"

enum { A = 3, B = 4, C = 5, D = 2 };

static double number(int64_t i)
{
    return (double)(i * 37 % 23) - 11;
}

static void fill(double *x, int n, int salt)
{
    for (int i = 0; i < n; i++) {
        x[i] = number(i * 3 + salt);
    }
}

/* Every type: products of small integers are exact. */
static void products_of_two_hold_in_every_type(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_I8, SC_I16, SC_I32, SC_I64, SC_U8, SC_U64, SC_F16, SC_BF16, SC_F32, SC_F64};
    for (int k = 0; k < 10; k++) {
        struct op_test t;
        op_open(&t, "", "Einsum", 28);
        op_text(&t, "equation", " bi k, bkj->bji");
        op_in(&t, types[k], OP_DIMS(1, 2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
        op_in(&t, types[k], OP_DIMS(1, 3, 2), OP_VALUES(1, 0, 0, 1, 2, 1));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(1, 2, 2), OP_VALUES(7, 16, 5, 11), 0);
        op_close(&t);
    }
}

static void three_operands_multiply(void **state)
{
    (void)state;
    static double x[A * B], y[B * C], z[C * A], wanted[A];
    fill(x, A * B, 1);
    fill(y, B * C, 2);
    fill(z, C * A, 3);
    for (int a = 0; a < A; a++) {
        for (int b = 0; b < B; b++) {
            for (int c = 0; c < C; c++) {
                wanted[a] += x[a * B + b] * y[b * C + c] * z[c * A + a];
            }
        }
    }
    struct op_test t;
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", "ab,bc,ca->a");
    op_in(&t, SC_F32, OP_DIMS(A, B), x);
    op_in(&t, SC_F32, OP_DIMS(B, C), y);
    op_in(&t, SC_F32, OP_DIMS(C, A), z);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(A), wanted, 0);
    op_close(&t);
}

/* The sum over all letters, one after the other; dims by letter, operands of up to 4 letters. */
static void naive(
    const char *const *terms, int n, const char *out, const int64_t *dims, double *const *in, double *wanted)
{
    const char *letters = "abcdef";
    int64_t at[128] = {0}, total = 1;
    for (const char *c = letters; *c; c++) {
        total *= dims[(int)*c];
    }
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i, place = 0;
        for (const char *c = letters; *c; c++) {
            at[(int)*c] = rest % dims[(int)*c];
            rest /= dims[(int)*c];
        }
        double product = 1;
        for (int t = 0; t < n; t++) {
            int64_t from = 0;
            for (const char *c = terms[t]; *c; c++) {
                from = from * dims[(int)*c] + at[(int)*c];
            }
            product *= in[t][from];
        }
        for (const char *c = out; *c; c++) {
            place = place * dims[(int)*c] + at[(int)*c];
        }
        wanted[place] += product;
    }
}

/* Small integers are exact in every type, in whatever order they are added. Dims of letters that are not used are 1. */
static void check_large(
    const char *equation, const char *const *terms, int n, const char *out, enum sc_type type, struct sc_team *team)
{
    enum { MOST = 1 << 15 };
    static double in[3][MOST], wanted[MOST];
    double *const ins[3] = {in[0], in[1], in[2]};
    int64_t dims[128], shape[8];
    static const int64_t sizes[] = {9, 13, 17, 11, 8, 10};
    for (int c = 'a'; c <= 'f'; c++) {
        dims[c] = strchr(equation, c) ? sizes[c - 'a'] : 1;
    }
    memset(wanted, 0, sizeof wanted);
    struct op_test t;
    op_open(&t, "", "Einsum", 28);
    t.team = team;
    op_text(&t, "equation", equation);
    for (int k = 0; k < n; k++) {
        int rank = 0;
        int64_t count = 1;
        for (const char *c = terms[k]; *c; c++) {
            shape[rank++] = dims[(int)*c];
            count *= dims[(int)*c];
        }
        for (int64_t i = 0; i < count; i++) {
            in[k][i] = (double)((i * 7 + k) % 3);
        }
        op_in(&t, type, rank, shape, in[k]);
    }
    naive(terms, n, out, dims, ins, wanted);
    int rank = 0;
    for (const char *c = out; *c; c++) {
        shape[rank++] = dims[(int)*c];
    }
    op_passes(&t, 1);
    op_gives(&t, 0, type, rank, shape, wanted, 0);
    op_close(&t);
}

static void large_products_are_those_of_matrices(void **state)
{
    (void)state;
    static const struct {
        const char *equation, *terms[3], *out;
        int n;
    } claims[] = {
        {"ab,bc->ac", {"ab", "bc"}, "ac", 2}, {"ab,cb->ca", {"ab", "cb"}, "ca", 2},
        {"abe,ecb->aec", {"abe", "ecb"}, "aec", 2}, {"abcd,abed->abce", {"abcd", "abed"}, "abce", 2},
        {"abc,cd,be->aed", {"abc", "cd", "be"}, "aed", 3}, {"ab,bc,ca->a", {"ab", "bc", "ca"}, "a", 3},
        {"abd,bce->ac", {"abd", "bce"}, "ac", 2}, /* d and e are in one operand alone */
        {"ab,ab->", {"ab", "ab"}, "", 2}, {"ab,ab->a", {"ab", "ab"}, "a", 2}, {"a,b->ba", {"a", "b"}, "ba", 2},
        {"abc->ca", {"abc"}, "ca", 1}, {"abc->cab", {"abc"}, "cab", 1},
        {"ab,cd,ef->fb", {"ab", "cd", "ef"}, "fb", 3}, /* what lies between is larger than all */
    };
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_I32, SC_I64, SC_U32, SC_U64};
    const struct sc_team_options options = {.n_workers = 3};
    struct sc_team *team;
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++) {
        for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
            check_large(
                claims[k].equation, claims[k].terms, claims[k].n, claims[k].out, types[type], type % 2 ? team : NULL);
        }
    }
    sc_team_free(team);
}

/* 'B' is another letter than 'b', and comes first when the output is not given. */
static void outputs_follow_from_letters_that_occur_once(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", "bBa,a");
    op_in(&t, SC_F64, OP_DIMS(2, 2, 2), OP_VALUES(1, 2, 3, 4, 5, 6, 7, 8));
    op_in(&t, SC_F64, OP_DIMS(2), OP_VALUES(10, 1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, 2), OP_VALUES(12, 56, 34, 78), 0);
    op_close(&t);
}

static void repeated_letters_are_diagonals(void **state)
{
    (void)state;
    static const char *const equations[] = {"ii", "ii->i", "...ii->...i"};
    for (int k = 0; k < 3; k++) {
        struct op_test t;
        op_open(&t, "", "Einsum", 12);
        op_text(&t, "equation", equations[k]);
        op_in(&t, SC_I64, OP_DIMS(3, 3), OP_VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9));
        op_passes(&t, 1);
        if (k) {
            op_gives(&t, 0, SC_I64, OP_DIMS(3), OP_VALUES(1, 5, 9), 0);
        } else {
            op_gives(&t, 0, SC_I64, OP_SCALAR, OP_VALUES(15), 0);
        }
        op_close(&t);
    }
}

/* Both ellipses are two axes, each of which is 1 in one of the inputs. */
static void ellipses_broadcast(void **state)
{
    (void)state;
    static double x[D * A * B], y[C * B * A], wanted[D * C * A], total[A];
    fill(x, D * A * B, 5);
    fill(y, C * B * A, 6);
    for (int d = 0; d < D; d++) {
        for (int c = 0; c < C; c++) {
            for (int a = 0; a < A; a++) {
                for (int b = 0; b < B; b++) {
                    wanted[(d * C + c) * A + a] += x[(d * A + a) * B + b] * y[(c * B + b) * A + a];
                }
                total[a] += wanted[(d * C + c) * A + a];
            }
        }
    }
    static const char *const equations[] = {"...ab,...ba->...a", "...ab,...ba->a"};
    for (int k = 0; k < 2; k++) {
        struct op_test t;
        op_open(&t, "", "Einsum", 12);
        op_text(&t, "equation", equations[k]);
        op_in(&t, SC_F64, OP_DIMS(D, 1, A, B), x);
        op_in(&t, SC_F64, OP_DIMS(1, C, B, A), y);
        op_passes(&t, 1);
        if (k) {
            op_gives(&t, 0, SC_F64, OP_DIMS(A), total, 0);
        } else {
            op_gives(&t, 0, SC_F64, OP_DIMS(D, C, A), wanted, 0);
        }
        op_close(&t);
    }
}

/* 64-bit integers that no double holds. */
static void integers_wrap(void **state)
{
    (void)state;
    static const int64_t x[] = {INT64_MAX, 9007199254740993},
                         wanted = (int64_t)((uint64_t)INT64_MAX * 3U + 9007199254740993U);
    static const int64_t y[] = {3, 1};
    struct op_test t;
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", "i,i->");
    op_in_raw(&t, SC_I64, OP_DIMS(2), x);
    op_in_raw(&t, SC_I64, OP_DIMS(2), y);
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_I64, OP_SCALAR, &wanted);
    op_close(&t);
}

static void sums_over_nothing_are_zero(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", "ij,jk->ik");
    op_in(&t, SC_F32, OP_DIMS(2, 0), NULL);
    op_in(&t, SC_F32, OP_DIMS(0, 1), NULL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 1), OP_VALUES(0, 0), 0);
    op_close(&t);
}

static void sums_over_no_elements_of_one_operand_are_zero(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_U8, SC_I32, SC_I64, SC_F16, SC_F32, SC_F64};
    for (int k = 0; k < 6; k++) {
        struct op_test t;
        op_open(&t, "", "Einsum", 28);
        op_text(&t, "equation", "ij->j");
        op_in(&t, types[k], OP_DIMS(0, 3), NULL);
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(3), OP_VALUES(0, 0, 0), 0);
        op_close(&t);
    }
}

static void threads_share_outputs_out(void **state)
{
    (void)state;
    enum { N = 120 };
    static double x[N * N], ones[N * N], wanted[N * N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            x[i * N + j] = i;
            ones[i * N + j] = 1;
            wanted[j * N + i] = (double)i * N;
        }
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", "ik,kj->ji");
    t.team = team;
    op_in(&t, SC_F32, OP_DIMS(N, N), x);
    op_in(&t, SC_F32, OP_DIMS(N, N), ones);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(N, N), wanted, 0);
    op_close(&t);
    sc_team_free(team);
}

static void fails(const char *equation, enum sc_status code, const char *text)
{
    char line[256];
    struct op_test t;
    snprintf(line, sizeof line, "node 'n' (Einsum): %s", text);
    op_open(&t, "", "Einsum", 12);
    op_text(&t, "equation", equation);
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
    op_fails(&t, 1, code, line);
    op_close(&t);
}

static void bad_equations_are_refused(void **state)
{
    (void)state;
    fails("ij", SC_BAD_MODEL, "equation has 1 terms for 2 inputs");
    fails("ij,j1->i", SC_BAD_MODEL, "equation has a term that cannot be read at '1->i'");
    fails("ij,jk-i", SC_BAD_MODEL, "equation has a term that cannot be read at '-i'");
    fails("i..j,jk->i", SC_BAD_MODEL, "equation has a term that cannot be read at '..j,jk->i'");
    fails("ij,jk->iz", SC_BAD_MODEL, "equation has 'z' in its output twice, or there alone");
    fails("ij,jk->ii", SC_BAD_MODEL, "equation has 'i' in its output twice, or there alone");
    fails("ij,jk->...i", SC_BAD_MODEL, "equation has an ellipsis in its output alone");
    fails("ij,jk->i,k", SC_BAD_MODEL, "equation has a second output at ',k'");
    fails("ij,jkl->i", SC_BAD_INPUT, "input 1 has rank 2, which its term does not fit");
    fails("...ij,...k->i", SC_BAD_INPUT, "input 1 has rank 2, which its term does not fit");
    fails("ij,ji->i", SC_BAD_INPUT, "'i' is 2 in one input and 3 in another");
    fails("i...,i...->i", SC_BAD_INPUT, "'...' is 2 in one input and 3 in another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_two_hold_in_every_type),
        cmocka_unit_test(three_operands_multiply),
        cmocka_unit_test(large_products_are_those_of_matrices),
        cmocka_unit_test(outputs_follow_from_letters_that_occur_once),
        cmocka_unit_test(repeated_letters_are_diagonals),
        cmocka_unit_test(ellipses_broadcast),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(sums_over_nothing_are_zero),
        cmocka_unit_test(sums_over_no_elements_of_one_operand_are_zero),
        cmocka_unit_test(threads_share_outputs_out),
        cmocka_unit_test(bad_equations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
