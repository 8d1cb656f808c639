/* SPDX-License-Identifier: Apache-2.0
 * Mean and standard deviation of each test, as a Markdown table, CSV or JSON. */
#include "launch/bench_table.h"

#include <inttypes.h>
#include <math.h>

static void summarise(const struct sc_bench_row *row, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int r = 0; r < row->n_runs; r++) {
        sum += row->value[r];
    }
    *mean = row->n_runs ? sum / row->n_runs : 0;
    for (int r = 0; r < row->n_runs; r++) {
        squares += (row->value[r] - *mean) * (row->value[r] - *mean);
    }
    *deviation = row->n_runs > 1 ? sqrt(squares / (row->n_runs - 1)) : 0;
}

static double rate(int64_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds : 0;
}

static void print_batches_md(const struct sc_bench_table *table, FILE *out)
{
    if (table->n_batches > 0) {
        fprintf(out,
            "\n|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
            "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n");
    }
    for (int i = 0; i < table->n_batches; i++) {
        const struct sc_bench_batch *b = &table->batches[i];
        const double prompt = b->prompt_seconds / b->n_runs, made = b->made_seconds / b->n_runs;
        const int64_t n_prompt = b->n_texts * b->n_prompt, n_made = b->n_made / b->n_runs;
        fprintf(out, "|%6" PRId64 " |%7" PRId64 " |%5d |%7" PRId64 " |%9.3f |%9.2f |%9.3f |%9.2f |%9.3f |%9.2f |\n",
            b->n_prompt, b->n_gen, b->n_texts, n_prompt + b->n_texts * b->n_gen, prompt, rate(n_prompt, prompt), made,
            rate(n_made, made), prompt + made, rate(n_prompt + n_made, prompt + made));
    }
}

static void print_md(const struct sc_bench_table *table, FILE *out)
{
    fprintf(out,
        "| model | size | backend | ranks | stages | threads | test | result | |\n"
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (int i = 0; i < table->n_rows; i++) {
        double mean, deviation;
        summarise(&table->rows[i], &mean, &deviation);
        const int digits = mean < 1 ? 4 : 2; /* a small model's milliseconds */
        fprintf(out, "| %s | %.2f MiB | %s | %d | %d | %d | %s | %.*f ± %.*f | %s |\n", table->model,
            (double)table->weight_bytes / 1048576.0, table->backend, table->n_ranks, table->n_stages, table->n_threads,
            table->rows[i].test, digits, mean, digits, deviation, table->rows[i].unit);
    }
    print_batches_md(table, out);
}

static void print_csv(const struct sc_bench_table *table, FILE *out)
{
    fprintf(out, "model,size_bytes,backend,ranks,stages,threads,test,mean,deviation,unit\n");
    for (int i = 0; i < table->n_rows; i++) {
        double mean, deviation;
        summarise(&table->rows[i], &mean, &deviation);
        fprintf(out, "\"%s\",%" PRId64 ",%s,%d,%d,%d,%s,%.6g,%.6g,%s\n", table->model, table->weight_bytes,
            table->backend, table->n_ranks, table->n_stages, table->n_threads, table->rows[i].test, mean, deviation,
            table->rows[i].unit);
    }
    for (int i = 0; i < table->n_batches; i++) {
        const struct sc_bench_batch *b = &table->batches[i];
        fprintf(out, "\"%s\",%" PRId64 ",%s,%d,%d,%d,tg%" PRId64 " b%d,%.6g,0,t/s\n", table->model, table->weight_bytes,
            table->backend, table->n_ranks, table->n_stages, table->n_threads, b->n_gen, b->n_texts,
            rate(b->n_made, b->made_seconds));
    }
}

static void print_text_json(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        fputc((unsigned char)*text < 32 ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void print_json(const struct sc_bench_table *table, FILE *out)
{
    fprintf(out, "[\n");
    for (int i = 0; i < table->n_rows; i++) {
        const struct sc_bench_row *row = &table->rows[i];
        double mean, deviation;
        summarise(row, &mean, &deviation);
        fprintf(out, "  {\"model\": ");
        print_text_json(table->model, out);
        fprintf(out,
            ", \"size_bytes\": %" PRId64 ", \"backend\": \"%s\", \"ranks\": %d, \"stages\": %d, \"threads\": %d, "
            "\"test\": \"%s\", \"mean\": %.9g, \"deviation\": %.9g, \"unit\": \"%s\", \"samples\": [",
            table->weight_bytes, table->backend, table->n_ranks, table->n_stages, table->n_threads, row->test, mean,
            deviation, row->unit);
        for (int r = 0; r < row->n_runs; r++) {
            fprintf(out, "%s%.9g", r ? ", " : "", row->value[r]);
        }
        fprintf(out, "]}%s\n", i + 1 < table->n_rows + table->n_batches ? "," : "");
    }
    for (int i = 0; i < table->n_batches; i++) {
        const struct sc_bench_batch *b = &table->batches[i];
        fprintf(out,
            "  {\"texts\": %d, \"prompt_tokens\": %" PRId64 ", \"gen_tokens\": %" PRId64
            ", \"prompt_seconds\": %.9g, \"gen_seconds\": %.9g, \"gen_per_second\": %.9g}%s\n",
            b->n_texts, b->n_prompt, b->n_gen, b->prompt_seconds / b->n_runs, b->made_seconds / b->n_runs,
            rate(b->n_made, b->made_seconds), i + 1 < table->n_batches ? "," : "");
    }
    fprintf(out, "]\n");
}

void sc_bench_print(const struct sc_bench_table *table, enum sc_bench_format format, FILE *out)
{
    static void (*const printers[])(const struct sc_bench_table *, FILE *) = {print_md, print_csv, print_json};
    printers[format](table, out);
}

enum sc_status sc_bench_report(const struct sc_bench_table *table, struct sc_json *document)
{
    struct sc_json *tests, *test, *samples;
    SC_TRY(sc_json_add(document, "tests", true, &tests));
    for (int i = 0; i < table->n_rows; i++) {
        const struct sc_bench_row *row = &table->rows[i];
        double mean, deviation;
        summarise(row, &mean, &deviation);
        SC_TRY(sc_json_add(tests, NULL, false, &test));
        SC_TRY(sc_json_add_text(test, "test", row->test));
        SC_TRY(sc_json_add_text(test, "unit", row->unit));
        SC_TRY(sc_json_add_real(test, "mean", mean));
        SC_TRY(sc_json_add_real(test, "deviation", deviation));
        SC_TRY(sc_json_add(test, "samples", true, &samples));
        for (int r = 0; r < row->n_runs; r++) {
            SC_TRY(sc_json_add_real(samples, NULL, row->value[r]));
        }
    }
    return SC_OK;
}
