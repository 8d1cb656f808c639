/* SPDX-License-Identifier: Apache-2.0
 * Claims about .wav files: every coding gives the samples of tone.wav, and what is damaged is refused by a line. */
#include "audio/wav.h"

#include <math.h>

#include "graph_case.h"

#define SOUNDS SC_SOURCE_DIR "/tests/data/sounds/"

static struct sc_sound read_sound(const char *name, struct sc_arena *arena)
{
    char path[512];
    struct sc_sound sound;
    snprintf(path, sizeof path, SOUNDS "%s.wav", name);
    assert_ok(sc_wav_read(path, arena, &sound));
    assert_int_equal(sound.rate, 16000);
    return sound;
}

static void every_coding_gives_the_same_samples(void **state)
{
    static const struct {
        const char *name;
        double scale, tolerance;
    } codings[] = {{"s24", 1, 0}, {"s32", 1, 0}, {"f32", 1, 0}, {"f64", 1, 0}, {"extensible", 1, 0}, {"stereo", 0.5, 0},
        {"u8", 1, 1.0 / 128}};
    struct sc_arena arena = {0};
    (void)state;
    const struct sc_sound tone = read_sound("tone", &arena);
    assert_int_equal(tone.n, 6000);
    for (size_t c = 0; c < sizeof codings / sizeof codings[0]; c++) {
        const struct sc_sound sound = read_sound(codings[c].name, &arena);
        assert_int_equal(sound.n, 400);
        for (int64_t i = 0; i < sound.n; i++) {
            const double off = (double)sound.samples[i] - (double)tone.samples[i] * codings[c].scale;
            if (fabs(off) > codings[c].tolerance) {
                fail_msg("%s: sample %d is off by %g", codings[c].name, (int)i, off);
            }
        }
    }
    sc_arena_release(&arena);
}

/* tone.wav with some bytes changed, cut to so many. */
static enum sc_status read_changed(size_t at, const char *bytes, size_t n, size_t length)
{
    char path[] = "/tmp/sc_wav_XXXXXX", *content;
    size_t size;
    struct sc_arena arena = {0};
    struct sc_sound sound;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_ok(sc_file_read_text(SOUNDS "tone.wav", 1 << 20, &arena, &content, &size));
    memcpy(content + at, bytes, n);
    assert_int_equal(write(fd, content, length < size ? length : size), length < size ? length : size);
    close(fd);
    const enum sc_status status = sc_wav_read(path, &arena, &sound);
    (void)unlink(path);
    sc_arena_release(&arena);
    return status;
}

static void damaged_files_are_refused(void **state)
{
    enum { FORMAT = 20, CHANNELS = 22, RATE = 24, BLOCK = 32, BITS = 34, DATA = 48, DATA_SIZE = 52, ALL = 1 << 20 };
    (void)state;
    assert_fails(SC_BAD_INPUT, "is no RIFF file", read_changed(0, "R", 1, 11));
    assert_fails(SC_BAD_INPUT, "is no RIFF file", read_changed(0, "X", 1, ALL));
    assert_fails(SC_BAD_INPUT, "is cut short: its chunk 'data' has 12000 bytes, and", read_changed(0, "R", 1, 5000));
    assert_fails(SC_BAD_INPUT, "has no chunk 'fmt '", read_changed(12, "junk", 4, ALL));
    assert_fails(SC_BAD_INPUT, "has no chunk 'data'", read_changed(DATA, "junk", 4, ALL));
    assert_fails(SC_BAD_INPUT, "holds no samples", read_changed(DATA_SIZE, "\0\0\0\0", 4, ALL));
    assert_fails(SC_BAD_INPUT, "holds no samples", read_changed(DATA_SIZE, "\1\0\0\0", 4, ALL));
    assert_fails(SC_UNSUPPORTED, "is coded as 2 with 16 bits", read_changed(FORMAT, "\2", 1, ALL));
    assert_fails(SC_UNSUPPORTED, "is coded as 1 with 12 bits", read_changed(BITS, "\14", 1, ALL));
    assert_fails(SC_BAD_INPUT, "has 0 channels", read_changed(CHANNELS, "\0", 1, ALL));
    assert_fails(SC_BAD_INPUT, "in blocks of 3 bytes", read_changed(BLOCK, "\3", 1, ALL));
    assert_fails(SC_BAD_INPUT, "0 a second", read_changed(RATE, "\0\0\0\0", 4, ALL));
    assert_fails(SC_IO, "no_such.wav", sc_wav_read("/tmp/no_such.wav", NULL, NULL));
}

static void samples_that_are_no_numbers_are_refused(void **state)
{
    char path[] = "/tmp/sc_wav_XXXXXX", *content;
    size_t size;
    struct sc_arena arena = {0};
    struct sc_sound sound;
    const float nan = NAN;
    (void)state;
    assert_ok(sc_file_read_text(SOUNDS "f32.wav", 1 << 20, &arena, &content, &size));
    memcpy(content + size - 8, &nan, sizeof nan);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, content, size), size);
    close(fd);
    assert_fails(SC_BAD_INPUT, "sample 398 is no number", sc_wav_read(path, &arena, &sound));
    (void)unlink(path);
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_coding_gives_the_same_samples),
        cmocka_unit_test(damaged_files_are_refused), cmocka_unit_test(samples_that_are_no_numbers_are_refused)};
    return cmocka_run_group_tests_name("wav", tests, NULL, NULL);
}
