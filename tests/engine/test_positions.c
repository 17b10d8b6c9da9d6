/* Position tables fitted to other view sizes. The grids were resized with Pillow 13.0.0 (mode F, BICUBIC), an
 * independent antialiased bicubic with a = -0.5; the axes follow from the formula by hand. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "positions.h"
#include "tensors.h"

/* A back end that can do nothing but keep what is written. */
struct uocr_buffer {
    float values[256];
};
static uocr_status keep(uocr_backend *backend, uocr_buffer *buffer, size_t offset, const void *source,
                        size_t bytes) {
    (void)backend;
    if (!CHECK(offset + bytes <= sizeof buffer->values))
        abort();
    memcpy((char *)buffer->values + offset, source, bytes);
    return UOCR_OK;
}
static uocr_backend keeper = {.write = keep};

static uocr_weight f32_table(const float *values, size_t rows, size_t cols) {
    return (uocr_weight){UOCR_F32, (const uint8_t *)values, NULL, rows, cols, 1};
}

static void check_close(const float *found, const float *expected, size_t count, double tolerance) {
    for (size_t i = 0; i < count; i++) {
        if (!CHECK(fabs((double)found[i] - (double)expected[i]) <= tolerance))
            fprintf(stderr, "    value %zu is %.9g, expected %.9g\n", i, (double)found[i],
                    (double)expected[i]);
    }
}

static const float grid4[16] = {1, 5, -2, 0, 4, 3, 2, 7, 0, -6, 8, 1, 9, 2, -3, 5};

static void a_grid_shrinks_and_grows_as_pillow_resizes_it(void) {
    static const float grid2[4] = {2.228877783f, 2.205074787f, 1.513250470f, 2.474011421f};
    static const float grid3[9] = {3.088831186f, 1.819660902f, 0.861333489f,  0.466807663f, 1.759912968f,
                                   4.879336357f, 4.775639057f, -0.589830101f, 2.808586836f};
    static const float grid6[36] = {
        0.517832398f,  3.274767876f,  4.471125603f,  -1.427266002f, -1.743808031f, -0.341932148f,
        2.519350052f,  3.858131647f,  4.043981552f,  -0.077478223f, 1.411764741f,  3.917956829f,
        3.711622953f,  2.622685194f,  1.723636746f,  2.688271523f,  5.044117928f,  6.870492458f,
        0.350511730f,  -3.331018448f, -4.032664776f, 6.659336567f,  5.364379406f,  1.151437640f,
        4.978328228f,  1.034602165f,  -2.111111164f, 1.856209278f,  2.937716246f,  2.780185699f,
        10.056960106f, 6.634675026f,  1.261086822f,  -3.573221207f, 0.666408658f,  5.854397297f};
    static const struct {
        size_t side;
        const float *values;
    } cases[] = {{2, grid2}, {3, grid3}, {4, grid4}, {6, grid6}};
    uocr_weight table = f32_table(grid4, 16, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uocr_buffer out = {{0}};
        size_t side = cases[i].side;
        uocr_tensor target = {&out, 0, UOCR_F32, side * side, 1, 1};
        void *scratch = malloc(uocr_grid_scratch(4, side, 1));
        CHECK_EQUAL(uocr_grid_resize(&keeper, &table, 0, 4, side, scratch, target, 0), UOCR_OK);
        check_close(out.values, cases[i].values, side * side, 4e-6);
        free(scratch);
    }
}

/* CLIP's table: row 0 belongs to the class token and stays apart; several columns. */
static void rows_before_the_grid_are_left_alone(void) {
    float values[5 * 2] = {100, -100, 1, -10, 3, -30, 5, -50, 7, -70};
    uocr_weight table = f32_table(values, 5, 2);
    uocr_buffer out = {{42, 43}};
    uocr_tensor target = {&out, 0, UOCR_F32, 2, 2, 2};
    void *scratch = malloc(uocr_grid_scratch(2, 1, 2));
    CHECK_EQUAL(uocr_grid_resize(&keeper, &table, 1, 2, 1, scratch, target, 1), UOCR_OK);
    static const float expected[4] = {42, 43, 4, -40}; /* the mean of the four: the filter is symmetric */
    check_close(out.values, expected, 4, 1e-5);
    free(scratch);
}

static void weights_sum_to_one_and_stay_inside_the_table(void) {
    static const size_t sizes[][2] = {{64, 40}, {64, 32}, {64, 80},  {16, 10},
                                      {16, 8},  {16, 20}, {256, 32}, {1, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t o = 0; o < sizes[i][1]; o++) {
            double weights[UOCR_BICUBIC_TAPS], sum = 0;
            size_t first, count = uocr_bicubic_weights(sizes[i][0], sizes[i][1], o, &first, weights);
            for (size_t j = 0; j < count; j++)
                sum += weights[j];
            CHECK(first + count <= sizes[i][0]);
            CHECK(fabs(sum - 1) < 1e-12);
        }
    }
}

static void axes_are_interpolated_between_half_pixels(void) {
    static const float three[3] = {1, 3, -5};
    static const float to5[5] = {1, 1.8f, 3, -1.8f, -5}; /* places 0, 0.4, 1, 1.6, 2 */
    static const float five[5] = {0, 10, 20, 40, 80};
    static const float to3[3] = {10.0f / 3, 20, 80 - 40.0f / 3}; /* places 1/3, 2, 3 2/3 */
    static const struct {
        const float *in, *out;
        size_t rows, fitted;
    } cases[] = {{three, to5, 3, 5}, {five, to3, 5, 3}, {five, five, 5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uocr_weight table = f32_table(cases[i].in, cases[i].rows, 1);
        uocr_buffer out = {{0}};
        float scratch[1];
        uocr_tensor target = {&out, 0, UOCR_F32, cases[i].fitted, 1, 1};
        CHECK_EQUAL(uocr_axis_resize(&keeper, &table, scratch, target), UOCR_OK);
        check_close(out.values, cases[i].out, cases[i].fitted, 1e-5);
    }
}

static void half_precision_tables_are_read_too(void) {
    static const uint8_t halves[4] = {0x00, 0x3C, 0x00, 0xC0}; /* 1, -2 */
    uocr_weight table = {UOCR_F16, halves, NULL, 2, 1, 1};
    uocr_buffer out = {{0}};
    float scratch[1];
    uocr_tensor target = {&out, 0, UOCR_F32, 3, 1, 1};
    CHECK_EQUAL(uocr_axis_resize(&keeper, &table, scratch, target), UOCR_OK);
    static const float expected[3] = {1, -0.5f, -2};
    check_close(out.values, expected, 3, 1e-6);
}

int main(void) {
    a_grid_shrinks_and_grows_as_pillow_resizes_it();
    rows_before_the_grid_are_left_alone();
    weights_sum_to_one_and_stay_inside_the_table();
    axes_are_interpolated_between_half_pixels();
    half_precision_tables_are_read_too();
    return check_result();
}
