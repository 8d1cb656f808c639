/* SPDX-License-Identifier: Apache-2.0
 * Claims about Resize and Upsample; values are those of ONNX Runtime 1.32 where nothing else is said. The official
 * cases have every mode of version 19. */
#include "op_case.h"

static void upsample_linear_of_version_9_is_asymmetric(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const float scales[] = {1, 1, 2, 2};
    static const float want[] = {
        1, 1.5F, 2, 2.5F, 3, 3, 2.5F, 3, 3.5F, 4, 4.5F, 4.5F, 4, 4.5F, 5, 5.5F, 6, 6, 4, 4.5F, 5, 5.5F, 6, 6};
    struct op_case c;
    op_open(&c, "", "Upsample", 9, 1);
    op_text(&c, "mode", "linear");
    op_in(&c, SC_F32, x, DIMS(1, 1, 2, 3));
    op_in(&c, SC_F32, scales, DIMS(4));
    c.unknown[1] = true;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(1, 1, 4, 6));
    op_close(&c);
}

static void upsample_nearest_repeats_elements_of_any_type(void **state)
{
    (void)state;
    static const float scales[] = {1, 1, 1.5F, 2};
    static const int16_t x[] = {1, 2, 3, 4, 5, 6};
    static const int16_t want[] = {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};
    struct op_case c;
    op_open(&c, "", "Upsample", 7, 1);
    op_attribute(&c, "scales", SC_ATTRIBUTE_FLOATS, 4)->u.floats = scales;
    op_in(&c, SC_I16, x, DIMS(1, 1, 2, 3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I16, want, DIMS(1, 1, 3, 6));
    op_close(&c);
}

static void whole_scales_repeat_elements_of_every_width(void **state)
{
    (void)state;
    enum { N = 37, MOST = 16 };
    static const enum sc_type types[] = {SC_U8, SC_F16, SC_F32, SC_I64, SC_C128};
    static unsigned char x[N * MOST], want[3 * N * MOST];
    for (int i = 0; i < N * MOST; i++) {
        x[i] = (unsigned char)(i * 7 % 100); /* no pattern of a NaN */
    }
    for (int k = 0; k < 10; k++) {
        const size_t bytes = sc_type_bytes(types[k / 2]);
        const int times = 2 + k % 2;
        const float scale = (float)times;
        for (int i = 0; i < times * N; i++) {
            memcpy(want + (size_t)i * bytes, x + (size_t)(i / times) * bytes, bytes);
        }
        struct op_case c;
        op_open(&c, "", "Resize", 19, 1);
        op_in(&c, types[k / 2], x, DIMS(N));
        op_in_absent(&c);
        op_in(&c, SC_F32, &scale, DIMS(1));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect(&c, 0, types[k / 2], want, DIMS(times * N));
        op_close(&c);
    }
}

static void upsample_of_version_1_has_two_scales(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4};
    static const float want[] = {1, 1, 2, 2, 3, 3, 4, 4}; /* the specification's example, with a height_scale of 1 */
    struct op_case c;
    op_open(&c, "", "Upsample", 1, 1);
    op_float(&c, "height_scale", 1.0F);
    op_float(&c, "width_scale", 2.0F);
    op_in(&c, SC_F32, x, DIMS(1, 1, 2, 2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(1, 1, 2, 4));
    op_close(&c);
}

/* 2 / 3 is no float: by it the output would be a little longer than two, and its last place short of the input's. */
static void sizes_say_the_length_of_the_output_exactly(void **state)
{
    (void)state;
    static const int8_t x[] = {-1, -3, 1}, want[] = {-1, 1};
    static const int64_t sizes[] = {1, 1, 1, 2};
    struct op_case c;
    op_open(&c, "", "Resize", 13, 1);
    op_text(&c, "mode", "nearest");
    op_text(&c, "coordinate_transformation_mode", "align_corners");
    op_text(&c, "nearest_mode", "floor");
    op_in(&c, SC_I8, x, DIMS(1, 1, 1, 3));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, sizes, DIMS(4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I8, want, DIMS(1, 1, 1, 2));
    op_close(&c);
}

static void complex_numbers_are_filtered_part_by_part(void **state)
{
    (void)state;
    static const float x[] = {0, 4, 2, -4}, want[] = {0, 4, 1, 0, 2, -4, 2, -4};
    static const float scales[] = {2};
    struct op_case c;
    op_open(&c, "", "Resize", 13, 1);
    op_text(&c, "mode", "linear");
    op_text(&c, "coordinate_transformation_mode", "asymmetric");
    op_in(&c, SC_C64, x, DIMS(2));
    op_in_absent(&c);
    op_in(&c, SC_F32, scales, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_C64, want, DIMS(4));
    op_close(&c);
}

/* Axes that are not said are all of them: the larger scale would be 4, the smaller is 4 / 3. */
static void one_scale_keeps_the_aspect_of_all_axes(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int64_t sizes[] = {4, 8};
    static const float want[] = {1, 1, 2, 1, 1, 2, 3, 3, 4, 5, 5, 6};
    struct op_case c;
    op_open(&c, "", "Resize", 19, 1);
    op_text(&c, "mode", "nearest");
    op_text(&c, "coordinate_transformation_mode", "asymmetric");
    op_text(&c, "nearest_mode", "floor");
    op_text(&c, "keep_aspect_ratio_policy", "not_larger");
    op_in(&c, SC_F32, x, DIMS(3, 2));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, sizes, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(4, 3));
    op_close(&c);
}

static void resize_row(int version, float scale, const char *place, const char *rounding, int64_t n, const float *want)
{
    static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const float scales[] = {1, 1, 1, scale};
    struct op_case c;
    op_open(&c, "", "Resize", version, 1);
    op_text(&c, "mode", "nearest");
    op_in(&c, SC_F32, x, DIMS(1, 1, 1, 9));
    if (version >= 11) {
        op_text(&c, "coordinate_transformation_mode", place);
        op_text(&c, "nearest_mode", rounding);
        op_in_absent(&c);
    }
    op_in(&c, SC_F32, scales, DIMS(4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(1, 1, 1, n));
    op_close(&c);
}

static void scales_that_are_no_floats_pick_the_elements_that_were_meant(void **state)
{
    (void)state;
    resize_row(13, 1.0F / 3.0F, "asymmetric", "floor", 3, (const float[]){0, 3, 6});
    resize_row(13, 0.7F, "asymmetric", "floor", 6, (const float[]){0, 1, 2, 4, 5, 7});
}

static void resize_of_version_10_rounds_up_where_it_shrinks(void **state)
{
    (void)state;
    resize_row(10, 0.6F, NULL, NULL, 5, (const float[]){0, 2, 4, 5, 7});
}

static void cubic_leaves_out_what_is_outside(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 4, 8, 16};
    static const int64_t sizes[] = {1, 1, 7, 1};
    static const float want[] = {0.9417476F, 1.426593F, 2.440232F, 4, 6.50729F, 11.78947F, 16.46602F};
    struct op_case c;
    op_open(&c, "", "Resize", 13, 1);
    op_text(&c, "mode", "cubic");
    op_float(&c, "cubic_coeff_a", -0.5F);
    op_int(&c, "exclude_outside", 1);
    op_in(&c, SC_F32, x, DIMS(1, 1, 5, 1));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, sizes, DIMS(4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want, 1e-5, DIMS(1, 1, 7, 1));
    op_close(&c);
}

static void integers_round_to_the_nearest_and_saturate(void **state)
{
    (void)state;
    static const uint8_t x[] = {0, 255, 0};
    static const int64_t sizes[] = {6};
    static const uint8_t want[] = {0, 67, 224, 224, 67, 0}; /* of onnx 1.23; the ends are -26.9 before */
    struct op_case c;
    op_open(&c, "", "Resize", 19, 1);
    op_text(&c, "mode", "cubic");
    op_in(&c, SC_U8, x, DIMS(3));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, sizes, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_U8, want, DIMS(6));
    op_close(&c);
}

static void halves_resize_as_floats_do(void **state)
{
    (void)state;
    static const uint16_t x[] = {0x3c00, 0x4000, 0x4200, 0x4400}; /* 1 2 3 4 */
    static const float scales[] = {1, 1, 1, 2};
    static const uint16_t want[] = {0x3c00, 0x3d00, 0x3f00, 0x4000, 0x4200, 0x4280, 0x4380, 0x4400};
    struct op_case c;
    op_open(&c, "", "Resize", 13, 1);
    op_text(&c, "mode", "linear");
    op_in(&c, SC_F16, x, DIMS(1, 1, 2, 2));
    op_in_absent(&c);
    op_in(&c, SC_F32, scales, DIMS(4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F16, want, DIMS(1, 1, 2, 4));
    op_close(&c);
}

static enum sc_status try_resize(int n_scales, float scale, int n_sizes, int64_t size, int64_t dim)
{
    const float scales[] = {1, scale, 1};
    const int64_t sizes[] = {1, size, 1};
    struct op_case c;
    op_open(&c, "", "Resize", 13, 1);
    op_in(&c, SC_F32, "", DIMS(1, dim));
    c.unknown[2] = c.unknown[3] = true;
    op_in_absent(&c);
    op_in(&c, SC_F32, scales, DIMS(n_scales));
    op_in(&c, SC_I64, sizes, DIMS(n_sizes));
    const enum sc_status status = op_run(&c);
    op_close(&c);
    return status;
}

static void scales_and_sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_int_equal(try_resize(3, 2.0F, 0, 0, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(0, 0.0F, 1, 0, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(0, 0.0F, 0, 0, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(2, 2.0F, 2, 2, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(2, -1.0F, 0, 0, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(2, 1.0F / 0.0F, 0, 0, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(2, 1e30F, 0, 0, 1 << 20), SC_BAD_INPUT);
    assert_int_equal(try_resize(0, 0.0F, 2, -1, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(0, 0.0F, 2, 3, 0), SC_BAD_INPUT);
    assert_int_equal(try_resize(2, 2.0F, 0, 0, 0), SC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upsample_linear_of_version_9_is_asymmetric),
        cmocka_unit_test(upsample_nearest_repeats_elements_of_any_type),
        cmocka_unit_test(whole_scales_repeat_elements_of_every_width),
        cmocka_unit_test(upsample_of_version_1_has_two_scales),
        cmocka_unit_test(complex_numbers_are_filtered_part_by_part),
        cmocka_unit_test(sizes_say_the_length_of_the_output_exactly),
        cmocka_unit_test(one_scale_keeps_the_aspect_of_all_axes),
        cmocka_unit_test(scales_that_are_no_floats_pick_the_elements_that_were_meant),
        cmocka_unit_test(resize_of_version_10_rounds_up_where_it_shrinks),
        cmocka_unit_test(cubic_leaves_out_what_is_outside),
        cmocka_unit_test(integers_round_to_the_nearest_and_saturate),
        cmocka_unit_test(halves_resize_as_floats_do),
        cmocka_unit_test(scales_and_sizes_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
