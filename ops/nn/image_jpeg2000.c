/* SPDX-License-Identifier: Apache-2.0
 * JPEG 2000 by OpenJPEG: one or three components, of any depth, that may be stored more coarsely than the picture. */
#include "ops/nn/image.h"

#ifdef SC_HAVE_JPEG2000
#include <string.h>

#include <openjpeg.h>

struct memory {
    const uint8_t *data;
    OPJ_SIZE_T bytes, at;
};

static OPJ_SIZE_T read_some(void *to, OPJ_SIZE_T n, void *user)
{
    struct memory *m = user;
    const OPJ_SIZE_T left = m->bytes - m->at, count = n < left ? n : left;
    memcpy(to, m->data + m->at, count);
    m->at += count;
    return count ? count : (OPJ_SIZE_T)-1;
}

static OPJ_OFF_T skip(OPJ_OFF_T n, void *user)
{
    struct memory *m = user;
    const OPJ_SIZE_T left = m->bytes - m->at;
    if (n < 0 || (OPJ_SIZE_T)n > left) {
        return -1;
    }
    m->at += (OPJ_SIZE_T)n;
    return n;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *user)
{
    struct memory *m = user;
    if (to < 0 || (OPJ_SIZE_T)to > m->bytes) {
        return OPJ_FALSE;
    }
    m->at = (OPJ_SIZE_T)to;
    return OPJ_TRUE;
}

static uint8_t sample(const opj_image_comp_t *c, int64_t x, int64_t y)
{
    const int64_t column = x / c->dx < c->w ? x / c->dx : c->w - 1, row = y / c->dy < c->h ? y / c->dy : c->h - 1;
    const int64_t most = ((int64_t)1 << c->prec) - 1;
    int64_t value = c->data[row * c->w + column] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
    value = value < 0 ? 0 : value > most ? most : value;
    return (uint8_t)(value * 255 / most);
}

static bool convert(const opj_image_t *from, struct sc_arena *arena, struct sc_image *image)
{
    const bool color = from->numcomps >= 3;
    if (from->color_space == OPJ_CLRSPC_SYCC || from->color_space == OPJ_CLRSPC_EYCC || from->numcomps < 1 ||
        !sc_image_room(arena, (int64_t)from->x1 - from->x0, (int64_t)from->y1 - from->y0, image)) {
        return false;
    }
    for (int c = 0; c < (color ? 3 : 1); c++) {
        const opj_image_comp_t *comp = &from->comps[c];
        if (!comp->data || comp->w < 1 || comp->h < 1 || comp->dx < 1 || comp->dy < 1 || comp->prec < 1 ||
            comp->prec > 31) {
            return false;
        }
    }
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++) {
            for (int c = 0; c < 3; c++) {
                image->rgb[3 * (y * image->width + x) + c] = sample(&from->comps[color ? c : 0], x, y);
            }
        }
    }
    return true;
}

bool sc_image_jpeg2000(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    struct memory memory = {data, bytes, 0};
    opj_dparameters_t parameters;
    opj_image_t *decoded = NULL;
    opj_codec_t *codec = opj_create_decompress(data[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    bool done = codec && stream;
    if (done) {
        opj_stream_set_user_data(stream, &memory, NULL);
        opj_stream_set_user_data_length(stream, bytes);
        opj_stream_set_read_function(stream, read_some);
        opj_stream_set_skip_function(stream, skip);
        opj_stream_set_seek_function(stream, seek);
        opj_set_default_decoder_parameters(&parameters);
        done = opj_setup_decoder(codec, &parameters) && opj_read_header(stream, codec, &decoded) &&
            (int64_t)(decoded->x1 - decoded->x0) * (decoded->y1 - decoded->y0) <= 1 << 28 &&
            opj_decode(codec, stream, decoded) && opj_end_decompress(codec, stream) && convert(decoded, arena, image);
    }
    opj_image_destroy(decoded);
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    return done;
}
#else
bool sc_image_jpeg2000(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    (void)data, (void)bytes, (void)arena, (void)image;
    return false;
}
#endif
