/* SPDX-License-Identifier: Apache-2.0
 * A RIFF file is a list of chunks: `fmt ` says what the bytes of `data` are. */
#include "audio/wav.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"

enum { CODING_PCM = 1, CODING_FLOAT = 3, CODING_EXTENSIBLE = 0xfffe };
enum { MOST_CHANNELS = 64 };

struct wav {
    const char *path;
    const unsigned char *data; /* of the chunk `data`; NULL: not there yet */
    size_t bytes;
    bool has_format;
    unsigned coding, channels, bits, block; /* block: bytes of a sample of all channels */
    uint32_t rate;
};

static unsigned u16(const unsigned char *at)
{
    return (unsigned)at[0] | (unsigned)at[1] << 8;
}

static uint32_t u32(const unsigned char *at)
{
    return (uint32_t)u16(at) | (uint32_t)u16(at + 2) << 16;
}

static enum sc_status read_format(struct wav *wav, const unsigned char *at, size_t bytes)
{
    if (bytes < 16) {
        return sc_fail(SC_BAD_INPUT, "'%s': its chunk 'fmt ' has %zu bytes, want at least 16", wav->path, bytes);
    }
    wav->coding = u16(at);
    wav->channels = u16(at + 2);
    wav->rate = u32(at + 4);
    wav->block = u16(at + 12);
    wav->bits = u16(at + 14);
    if (wav->coding == CODING_EXTENSIBLE && bytes >= 26) {
        wav->coding = u16(at + 24); /* the first two bytes of the sub-format */
    }
    wav->has_format = true;
    return SC_OK;
}

static enum sc_status check_format(const struct wav *wav)
{
    const bool whole =
        wav->coding == CODING_PCM && (wav->bits == 8 || wav->bits == 16 || wav->bits == 24 || wav->bits == 32);
    const bool real = wav->coding == CODING_FLOAT && (wav->bits == 32 || wav->bits == 64);
    if (!wav->has_format || !wav->data) {
        return sc_fail(SC_BAD_INPUT, "'%s' has no chunk '%s'", wav->path, wav->has_format ? "data" : "fmt ");
    }
    if (!whole && !real) {
        return sc_fail(SC_UNSUPPORTED,
            "'%s' is coded as %u with %u bits, want PCM (1) of 8, 16, 24 or 32 bits, or float (3) of 32 or 64",
            wav->path, wav->coding, wav->bits);
    }
    if (wav->channels < 1 || wav->channels > MOST_CHANNELS || wav->rate < 1 ||
        wav->block != wav->channels * wav->bits / 8) {
        return sc_fail(SC_BAD_INPUT, "'%s' has %u channels of %u bits in blocks of %u bytes, %lu a second", wav->path,
            wav->channels, wav->bits, wav->block, (unsigned long)wav->rate);
    }
    return wav->bytes >= wav->block ? SC_OK : sc_fail(SC_BAD_INPUT, "'%s' holds no samples", wav->path);
}

/* All chunks up to `data`; those behind it say nothing of samples. */
static enum sc_status find_chunks(struct wav *wav, const struct sc_file *file)
{
    if (file->bytes < 12 || memcmp(file->data, "RIFF", 4) != 0 || memcmp(file->data + 8, "WAVE", 4) != 0) {
        return sc_fail(SC_BAD_INPUT, "'%s' is no RIFF file with WAVE sound", wav->path);
    }
    for (size_t at = 12; at + 8 <= file->bytes && !wav->data;) {
        const unsigned char *chunk = file->data + at;
        const size_t bytes = u32(chunk + 4), left = file->bytes - at - 8;
        if (bytes > left) {
            return sc_fail(SC_BAD_INPUT, "'%s' is cut short: its chunk '%.4s' has %zu bytes, and %zu are there",
                wav->path, (const char *)chunk, bytes, left);
        }
        if (memcmp(chunk, "fmt ", 4) == 0) {
            SC_TRY(read_format(wav, chunk + 8, bytes));
        } else if (memcmp(chunk, "data", 4) == 0) {
            wav->data = chunk + 8;
            wav->bytes = bytes;
        }
        at += 8 + bytes + bytes % 2;
    }
    return check_format(wav);
}

static double sample(const struct wav *wav, const unsigned char *at)
{
    const uint32_t low = wav->bits >= 16 ? u16(at) : 0;
    float single;
    double twice;
    switch (wav->bits) {
    case 8: /* the only one without a sign */
        return (at[0] - 128) / 128.0;
    case 16:
        return (int16_t)low / 32768.0;
    case 24:
        return (int32_t)(low << 8 | (uint32_t)at[2] << 24) / 2147483648.0;
    case 32:
        if (wav->coding == CODING_PCM) {
            return (int32_t)u32(at) / 2147483648.0;
        }
        memcpy(&single, at, sizeof single);
        return single;
    default:
        memcpy(&twice, at, sizeof twice);
        return twice;
    }
}

static enum sc_status mix(const struct wav *wav, struct sc_arena *arena, struct sc_sound *sound)
{
    const size_t n = wav->bytes / wav->block;
    float *samples = sc_arena_array(arena, n, sizeof *samples);
    if (!samples) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (unsigned c = 0; c < wav->channels; c++) {
            sum += sample(wav, wav->data + i * wav->block + c * wav->bits / 8);
        }
        samples[i] = (float)(sum / wav->channels);
        if (!isfinite(samples[i])) {
            return sc_fail(SC_BAD_INPUT, "'%s': sample %zu is no number", wav->path, i);
        }
    }
    *sound = (struct sc_sound){.rate = wav->rate, .n = (int64_t)n, .samples = samples};
    return SC_OK;
}

enum sc_status sc_wav_read(const char *path, struct sc_arena *arena, struct sc_sound *sound)
{
    struct sc_file file = {0};
    struct wav wav = {.path = path};
    SC_TRY(sc_file_map(path, &file));
    enum sc_status status = find_chunks(&wav, &file);
    status = status == SC_OK ? mix(&wav, arena, sound) : status;
    sc_file_release(&file);
    return status;
}
