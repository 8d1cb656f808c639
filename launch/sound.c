/* SPDX-License-Identifier: Apache-2.0
 * Models of speech take [samples], or [1, samples] for one speaker among a batch. */
#include "launch/sound.h"

#include "audio/resample.h"

enum sc_status sc_sound_read(
    const char *path, int64_t rate, const struct sc_graph_value *input, struct sc_arena *arena, struct sc_value *value)
{
    const struct sc_fact *fact = &input->fact;
    const int rank = fact->rank < 0 ? 1 : fact->rank;
    struct sc_sound sound;
    int64_t dims[SC_MAX_RANK];
    if (fact->kind != SC_KIND_TENSOR || (fact->type != SC_F32 && fact->type != SC_TYPE_NONE) || rank == 0) {
        return sc_fail(SC_BAD_INPUT, "input '%s' is %s of rank %d, which '%s' does not fit: want a tensor of float",
            input->name, fact->kind == SC_KIND_TENSOR ? sc_type_name(fact->type) : "no tensor", rank, path);
    }
    SC_TRY(sc_wav_read(path, arena, &sound));
    SC_TRY(rate > 0 ? sc_resample(path, rate, arena, &sound) : SC_OK);
    for (int d = 0; d < rank; d++) {
        dims[d] = d + 1 < rank ? 1 : sound.n;
    }
    value->kind = SC_KIND_TENSOR;
    sc_tensor_init(&value->u.tensor, SC_F32, rank, dims);
    value->u.tensor.data = sound.samples;
    return SC_OK;
}
