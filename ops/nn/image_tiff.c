/* SPDX-License-Identifier: Apache-2.0
 * TIFF by libtiff, the first page, in any form that it turns to RGBA; transparency is dropped. */
#include "ops/nn/image.h"

#ifdef SC_HAVE_TIFF
#include <stdio.h>
#include <string.h>

#include <tiffio.h>

struct memory {
    const uint8_t *data;
    uint64_t bytes, at;
};

static tmsize_t read_some(thandle_t handle, void *to, tmsize_t n)
{
    struct memory *m = handle;
    const uint64_t left = m->at < m->bytes ? m->bytes - m->at : 0;
    const uint64_t count = (uint64_t)n < left ? (uint64_t)n : left;
    memcpy(to, m->data + (count ? m->at : 0), count);
    m->at += count;
    return (tmsize_t)count;
}

static tmsize_t write_none(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle, (void)from, (void)n;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    struct memory *m = handle;
    m->at = whence == SEEK_CUR ? m->at + offset : whence == SEEK_END ? m->bytes + offset : offset;
    return m->at;
}

static int close_none(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size(thandle_t handle)
{
    return ((struct memory *)handle)->bytes;
}

static int say_nothing(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments)
{
    (void)tiff, (void)user, (void)module, (void)format, (void)arguments;
    return 1;
}

static bool decode(TIFF *tiff, struct sc_arena *arena, struct sc_image *image)
{
    uint32_t width = 0, height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    if (!sc_image_room(arena, width, height, image)) {
        return false;
    }
    uint32_t *rgba = sc_arena_array(arena, (size_t)width * height, sizeof *rgba);
    if (!rgba || !TIFFReadRGBAImageOriented(tiff, width, height, rgba, ORIENTATION_TOPLEFT, 1)) {
        return false;
    }
    for (size_t i = 0; i < (size_t)width * height; i++) {
        image->rgb[3 * i] = (uint8_t)TIFFGetR(rgba[i]);
        image->rgb[3 * i + 1] = (uint8_t)TIFFGetG(rgba[i]);
        image->rgb[3 * i + 2] = (uint8_t)TIFFGetB(rgba[i]);
    }
    return true;
}

bool sc_image_tiff(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    struct memory memory = {data, bytes, 0};
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) {
        return false;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, say_nothing, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, say_nothing, NULL);
    TIFF *tiff =
        TIFFClientOpenExt("memory", "rm", &memory, read_some, write_none, seek, close_none, size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    if (!tiff) {
        return false;
    }
    const bool done = decode(tiff, arena, image);
    TIFFClose(tiff);
    return done;
}
#else
bool sc_image_tiff(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    (void)data, (void)bytes, (void)arena, (void)image;
    return false;
}
#endif
