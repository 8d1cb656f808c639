/* SPDX-License-Identifier: Apache-2.0
 * BMP without compression, and the portable formats P1 to P6. */
#include <string.h>

#include "ops/nn/image.h"

static int64_t little(const uint8_t *p, int n)
{
    uint32_t value = 0;
    for (int i = n - 1; i >= 0; i--) {
        value = value << 8 | p[i];
    }
    return n == 4 ? (int64_t)(int32_t)value : (int64_t)value;
}

struct bmp {
    const uint8_t *pixels, *palette;
    int64_t stride, n_colors;
    int bits;
};

static void bmp_pixel(const struct bmp *b, const uint8_t *row, int64_t x, uint8_t *rgb)
{
    const uint8_t *bgr = row + x * (b->bits / 8);
    if (b->bits <= 8) {
        const int shift = 8 - b->bits - (int)(x * b->bits % 8);
        const int64_t index = row[x * b->bits / 8] >> shift & ((1 << b->bits) - 1);
        bgr = b->palette + 4 * (index < b->n_colors ? index : 0);
    }
    rgb[0] = bgr[2];
    rgb[1] = bgr[1];
    rgb[2] = bgr[0];
}

bool sc_image_bmp(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    if (bytes < 54 || little(data + 14, 4) < 40 || little(data + 30, 4) != 0) {
        return false;
    }
    const int64_t start = little(data + 10, 4), header = little(data + 14, 4), height = little(data + 22, 4);
    struct bmp b = {.bits = (int)little(data + 28, 2)};
    const bool known = b.bits == 1 || b.bits == 4 || b.bits == 8 || b.bits == 24 || b.bits == 32;
    if (!known || height == INT32_MIN ||
        !sc_image_room(arena, little(data + 18, 4), height < 0 ? -height : height, image)) {
        return false;
    }
    b.stride = (image->width * b.bits + 31) / 32 * 4;
    b.n_colors = b.bits <= 8 ? little(data + 46, 4) : 0;
    b.n_colors = b.bits <= 8 && b.n_colors == 0 ? 1 << b.bits : b.n_colors;
    const int64_t end = (int64_t)bytes;
    if (b.n_colors < 0 || b.n_colors > 256 || (b.bits <= 8 && b.n_colors < 1) || header > end ||
        14 + header + 4 * b.n_colors > end || start < 0 || start > end || b.stride * image->height > end - start) {
        return false;
    }
    b.palette = data + 14 + header;
    b.pixels = data + start;
    for (int64_t y = 0; y < image->height; y++) {
        const uint8_t *row = b.pixels + (height < 0 ? y : image->height - 1 - y) * b.stride;
        for (int64_t x = 0; x < image->width; x++) {
            bmp_pixel(&b, row, x, image->rgb + 3 * (y * image->width + x));
        }
    }
    return true;
}

/* A number in decimal, after blanks and comments; -1 when there is none. One digit alone where `single`. */
static int64_t read_number(const uint8_t *data, size_t bytes, size_t *at, bool single)
{
    while (*at < bytes && (strchr(" \t\r\n\v\f", data[*at]) || data[*at] == '#')) {
        if (data[*at] == '#') {
            while (*at < bytes && data[*at] != '\n') {
                (*at)++;
            }
        } else {
            (*at)++;
        }
    }
    int64_t value = -1;
    for (; *at < bytes && data[*at] >= '0' && data[*at] <= '9' && value < 1 << 24; (*at)++) {
        value = (value < 0 ? 0 : value * 10) + (data[*at] - '0');
        if (single) {
            (*at)++;
            break;
        }
    }
    return value;
}

struct pnm {
    const uint8_t *data;
    size_t bytes, at;
    int kind; /* the digit after P */
    int64_t most;
};

/* Sample i of row y as 0 to 255; -1 past the end. n: samples of a row. */
static int64_t pnm_sample(struct pnm *p, int64_t y, int64_t i, int64_t n)
{
    if (p->kind <= 3) {
        const int64_t value = read_number(p->data, p->bytes, &p->at, p->kind == 1);
        return value < 0 || value > p->most ? -1 : p->kind == 1 ? 255 * (1 - value) : value * 255 / p->most;
    }
    if (p->kind == 4) {
        const size_t place = p->at + (size_t)(y * ((n + 7) / 8) + i / 8);
        return place < p->bytes ? (p->data[place] >> (7 - i % 8) & 1 ? 0 : 255) : -1;
    }
    const size_t width = p->most > 255 ? 2 : 1, place = p->at + (size_t)(y * n + i) * width;
    if (place + width > p->bytes) {
        return -1;
    }
    const int64_t value = width == 2 ? p->data[place] << 8 | p->data[place + 1] : p->data[place];
    return value > p->most ? 255 : value * 255 / p->most;
}

bool sc_image_pnm(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    struct pnm p = {.data = data, .bytes = bytes, .at = 2, .most = 1};
    if (bytes < 3 || data[1] < '1' || data[1] > '6') {
        return false;
    }
    p.kind = data[1] - '0';
    const int64_t width = read_number(data, bytes, &p.at, false), height = read_number(data, bytes, &p.at, false);
    p.most = p.kind == 1 || p.kind == 4 ? 1 : read_number(data, bytes, &p.at, false);
    if (p.most < 1 || p.most > 65535 || width > (int64_t)bytes * 8 || height > (int64_t)bytes * 8 ||
        !sc_image_room(arena, width, height, image)) {
        return false;
    }
    p.at++; /* one blank before samples in binary */
    const bool color = p.kind == 3 || p.kind == 6;
    const int64_t n = color ? 3 * width : width;
    for (int64_t y = 0; y < height; y++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t value = pnm_sample(&p, y, i, n);
            if (value < 0) {
                return false;
            }
            uint8_t *rgb = image->rgb + (color ? y * n + i : 3 * (y * n + i));
            memset(rgb, (int)value, color ? 1 : 3);
        }
    }
    return true;
}
