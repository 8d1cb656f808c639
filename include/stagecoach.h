/* SPDX-License-Identifier: Apache-2.0
 * Stagecoach as a library: runs an ONNX model as a pipeline over the ranks of a communicator.
 *
 * The life of a pipeline, on every rank of the communicator together:
 *
 *   open ──► rank 0:  submit ... next ... (at most sc_pipeline_window in flight) ──► finish ──► close
 *       └──► others:  serve ──────────── returns when rank 0 finishes ────────────────────────► close
 *
 * Communicators are Fortran handles (MPI_Comm_c2f), so that this header needs no MPI; stagecoach_mpi.h takes MPI_Comm.
 * The library duplicates the communicator. It initialises and finalises no MPI, and never exits, aborts, prints or
 * takes signals. A pipeline belongs to the thread that opened it, as long as it lives; several threads may each have
 * pipelines of their own without MPI, and over MPI if it was initialised with MPI_THREAD_MULTIPLE.
 *
 * Calls return SC_OK or a code; sc_last_error() then says more. What a call gives is set on success only. */
#ifndef STAGECOACH_H
#define STAGECOACH_H

#include <stddef.h>
#include <stdint.h>

#include "stagecoach_error.h"

#ifdef __cplusplus
extern "C" {
#endif

SC_PUBLIC const char *sc_version(void); /* "0.1.0" */

/* The error of this thread: valid after a call failed, until the next call. Never NULL. */
SC_PUBLIC const struct sc_error *sc_last_error(void);

/* Options by name, spelled and read as on the command line without its dashes: "pp", "plan", "threads", "gemm", "bind",
 * "seed", "memory", "override", "pin", "random-plan". Ranks must agree on them. SC_BAD_USAGE names what is wrong with a
 * name or value; the option is then as before. */
struct sc_run_options;

SC_PUBLIC enum sc_status sc_run_options_create(struct sc_run_options **options);
SC_PUBLIC enum sc_status sc_run_options_set(struct sc_run_options *options, const char *name, const char *value);
SC_PUBLIC void sc_run_options_free(struct sc_run_options *options); /* safe on NULL */

/* Element types: the numbers of ONNX's TensorProto.DataType. In memory each element has whole bytes: the 4- and 2-bit
 * types have one byte each, SC_ELEMENT_STRING a struct sc_text. */
enum sc_element {
    SC_ELEMENT_NONE = 0, /* not a tensor: a sequence or an optional */
    SC_ELEMENT_FLOAT = 1,
    SC_ELEMENT_UINT8 = 2,
    SC_ELEMENT_INT8 = 3,
    SC_ELEMENT_UINT16 = 4,
    SC_ELEMENT_INT16 = 5,
    SC_ELEMENT_INT32 = 6,
    SC_ELEMENT_INT64 = 7,
    SC_ELEMENT_STRING = 8,
    SC_ELEMENT_BOOL = 9,
    SC_ELEMENT_FLOAT16 = 10,
    SC_ELEMENT_DOUBLE = 11,
    SC_ELEMENT_UINT32 = 12,
    SC_ELEMENT_UINT64 = 13,
    SC_ELEMENT_BFLOAT16 = 16
};

/* Bytes of one element in memory; 0 for a number that is no element type. */
SC_PUBLIC size_t sc_element_bytes(int32_t type);

struct sc_text {
    const char *data; /* UTF-8, not terminated */
    size_t bytes;
};

/* A tensor, row-major without gaps. */
struct sc_array {
    const char *name; /* of the graph's input or output */
    int32_t type; /* enum sc_element or another number of TensorProto.DataType */
    int32_t rank; /* 0: a scalar */
    const int64_t *dims;
    const void *data; /* aligned as its element type */
    size_t bytes; /* of data: product of dims times sc_element_bytes(type) */
};

/* What the model declares of an input or output. Lives as long as the pipeline. */
struct sc_port {
    const char *name;
    int32_t type; /* SC_ELEMENT_NONE: not a tensor */
    int32_t rank; /* -1: any */
    const int64_t *dims; /* -1: any */
    int32_t optional; /* an input that need not be given; if it has a default, it can be when "override" names it */
};

/* Opens `model` (a .onnx file, or a folder with one) over the communicator. Collective: every rank gives the same model
 * (rank 0 must be able to read the file, and sends what they lack to others that cannot) and options; options may be
 * NULL and may be freed afterwards. When a rank fails, all do, with the error of that rank. MPI must be initialised
 * with MPI_THREAD_FUNNELED or more. */
struct sc_pipeline;

SC_PUBLIC enum sc_status sc_pipeline_open(
    int fortran_communicator, const char *model, const struct sc_run_options *options, struct sc_pipeline **pipeline);

/* The same on this process alone, with no MPI at all. */
SC_PUBLIC enum sc_status sc_pipeline_open_alone(
    const char *model, const struct sc_run_options *options, struct sc_pipeline **pipeline);

/* On every rank. port(i): SC_BAD_USAGE unless 0 <= i < n. */
SC_PUBLIC int sc_pipeline_n_inputs(const struct sc_pipeline *pipeline);
SC_PUBLIC int sc_pipeline_n_outputs(const struct sc_pipeline *pipeline);
SC_PUBLIC enum sc_status sc_pipeline_input(const struct sc_pipeline *pipeline, int i, struct sc_port *port);
SC_PUBLIC enum sc_status sc_pipeline_output(const struct sc_pipeline *pipeline, int i, struct sc_port *port);
SC_PUBLIC int sc_pipeline_n_stages(const struct sc_pipeline *pipeline);
SC_PUBLIC int sc_pipeline_window(const struct sc_pipeline *pipeline); /* microbatches that may be in flight */
SC_PUBLIC int64_t sc_pipeline_in_flight(const struct sc_pipeline *pipeline); /* rank 0: submitted, not yet delivered */

/* Rank 0. Sends one set of inputs, in any order, into the pipeline; data is copied before the call returns.
 * SC_BAD_INPUT for a name, type, size or a missing input that does not fit, SC_LIMIT when the window is full: nothing
 * was sent then, and the pipeline is as before. */
SC_PUBLIC enum sc_status sc_pipeline_submit(struct sc_pipeline *pipeline, int n, const struct sc_array *inputs);

/* Rank 0. Waits for the oldest set in flight. If that set failed on the way, returns its error (with rank, stage and
 * node): the set is then done with, and the pipeline goes on. SC_BAD_USAGE when nothing is in flight. */
SC_PUBLIC enum sc_status sc_pipeline_next(struct sc_pipeline *pipeline);

/* Rank 0, after a `next` that returned SC_OK. Name, dims and data are the pipeline's, valid until the next call of
 * submit, next, finish or close. */
SC_PUBLIC enum sc_status sc_pipeline_result(struct sc_pipeline *pipeline, const char *name, struct sc_array *output);

/* Other ranks: run their stages until rank 0 finishes. */
SC_PUBLIC enum sc_status sc_pipeline_serve(struct sc_pipeline *pipeline);

/* Rank 0: lets the others return from serve. What is in flight is run and dropped. */
SC_PUBLIC enum sc_status sc_pipeline_finish(struct sc_pipeline *pipeline);

/* Collective, safe on NULL. A rank that has not finished or served does so here. After SC_PEER, SC_TIMEOUT, SC_IO,
 * SC_NO_MEMORY or SC_INTERNAL from next, serve or finish it waits for nobody. */
SC_PUBLIC void sc_pipeline_close(struct sc_pipeline *pipeline);

#ifdef __cplusplus
}
#endif

#endif
