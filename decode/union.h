/* SPDX-License-Identifier: Apache-2.0
 * An encoder and its decoder, which exporters write to several files, as one model. */
#ifndef SC_DECODE_UNION_H
#define SC_DECODE_UNION_H

#include "base/log.h"
#include "comm/world.h"
#include "model/model.h"

/* Values of the whole are called as in the file of steps, with the past; those that run once for a text begin so. */
#define SC_UNION_ENCODER "encoder:"
#define SC_UNION_CROSS "cross:"

/* An input of steps [0, past + new], added to the whole: it says how long the text is, for graphs that ask caches for
 * their shapes, and is empty. */
#define SC_UNION_LENGTH "length_of_text"

/* The same for positions of new tokens [rows, new], which each row has of its own, for graphs that count them. */
#define SC_UNION_POSITIONS "position_ids"

/* Whether the folder has an encoder_model.onnx, and no model.onnx of its own. */
bool sc_union_is_one(const char *path);

/* Opens such a folder: what makes states of the encoder's output once, and the steps that read them.
 *
 *   encoder_model.onnx:   encoder:input_ids ──► encoder:last_hidden_state ─┐
 *   decoder, no past:     ┌────────────────────────────────────────────────┘
 *                         └──► cross:present.N.encoder.key, ...value          the rest of it is left out
 *   decoder, with past:   input_ids, past_key_values.N.* ──► logits, present.N.decoder.*
 *
 * The decoder is decoder_model_merged.onnx, or decoder_model.onnx and decoder_with_past_model.onnx. Any other path is
 * opened as sc_session_open_model does. Collective, as that is; world NULL: here alone. Fails with SC_IO for a file
 * that is not there, SC_BAD_MODEL for files that do not fit together. */
enum sc_status sc_union_open(
    struct sc_world *world, const char *path, const struct sc_log *log, struct sc_model **model);

#endif
