/* SPDX-License-Identifier: Apache-2.0
 * JPEG by libjpeg-turbo, whose smooth upsampling of chroma is what ImageDecoder asks for. */
#include "ops/nn/image.h"

#ifdef SC_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

struct failure {
    struct jpeg_error_mgr manager;
    jmp_buf back;
};

static void fail(j_common_ptr info)
{
    longjmp(((struct failure *)info->err)->back, 1);
}

static void say_nothing(j_common_ptr info, int level)
{
    (void)info;
    (void)level;
}

bool sc_image_jpeg(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    struct jpeg_decompress_struct info;
    struct failure failure;
    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = fail;
    failure.manager.emit_message = say_nothing;
    jpeg_create_decompress(&info);
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&info);
        return false;
    }
    jpeg_mem_src(&info, data, bytes);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    if (!sc_image_room(arena, info.output_width, info.output_height, image)) {
        jpeg_destroy_decompress(&info);
        return false;
    }
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = image->rgb + (size_t)info.output_scanline * 3 * (size_t)image->width;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return true;
}
#else
bool sc_image_jpeg(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    (void)data, (void)bytes, (void)arena, (void)image;
    return false;
}
#endif
