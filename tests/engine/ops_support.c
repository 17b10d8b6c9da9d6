#include "ops_support.h"

enum { PATTERN = 0x5a };

double ops_tile_error = 0;
size_t ops_most_rows = SIZE_MAX;
size_t fewer(size_t rows) { return rows < ops_most_rows ? rows : ops_most_rows; }

double uniform(ops *o, double low, double high) { /* splitmix64 */
    uint64_t z = o->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return low + (high - low) * ((double)(z >> 11) * 0x1p-53);
}

void *zeroed(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) {
        fprintf(stderr, "test_ops: out of memory\n");
        exit(2);
    }
    return block;
}

const char *dtype_name(uocr_dtype dtype) {
    return dtype == UOCR_F32 ? "f32" : dtype == UOCR_F16 ? "f16" : dtype == UOCR_Q8 ? "q8" : "q4";
}

static double power_of_two(int exponent) { /* -1022..1023; much faster than ldexp */
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double f16_value(uint16_t half) {
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                       : exponent == 0 ? mantissa * 0x1p-24
                                       : (1024 + mantissa) * power_of_two(exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

uint16_t f16_of(double value) { /* round half even; nearbyint uses the default rounding mode */
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    uint64_t bits;
    if (isnan(value)) return 0x7e00;
    if (magnitude >= 65520) return sign | 0x7c00;
    memcpy(&bits, &magnitude, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;         /* magnitude is 1.xxx * 2^exponent */
    int unit = exponent < -14 ? -24 : exponent - 10; /* of the last mantissa bit */
    double steps = nearbyint(magnitude * power_of_two(-unit));
    if (unit == -24) return sign | (uint16_t)steps;
    return (uint16_t)(sign | (((unsigned)(unit + 24) << 10) + (unsigned)steps));
}

/* -- weights ------------------------------------------------------------------------------- */

static void encode_group(weight *w, size_t at, const double *v) {
    size_t group = at / UOCR_GROUP;
    double largest = 0;
    for (size_t i = 0; i < UOCR_GROUP; i++)
        if (fabs(v[i]) > fabs(largest)) largest = v[i];
    bool q4 = w->view.dtype == UOCR_Q4;
    uint16_t half = f16_of(q4 ? largest / -8 : fabs(largest) / 127);
    double scale = f16_value(half), inverse = scale != 0 ? 1 / scale : 0;
    w->scales[2 * group] = (uint8_t)half;
    w->scales[2 * group + 1] = (uint8_t)(half >> 8);
    for (size_t i = 0; i < UOCR_GROUP; i++) {
        double q = nearbyint(v[i] * inverse), low = q4 ? -8 : -127, high = q4 ? 7 : 127;
        q = q < low ? low : q > high ? high : q;
        w->value[at + i] = q * scale;
        if (!q4) w->payload[at + i] = (uint8_t)(int8_t)q;
        else w->payload[at / 2 + i % 32] |= (uint8_t)((int)q + 8) << (i < 32 ? 0 : 4);
    }
}

static weight weight_encode(uocr_dtype dtype, size_t matrices, size_t rows, size_t cols, double *values) {
    size_t n = matrices * rows * cols;
    bool grouped = dtype == UOCR_Q8 || dtype == UOCR_Q4;
    weight w = {{dtype, NULL, NULL, rows, cols, matrices}, values, NULL, NULL};
    if (grouped && cols % UOCR_GROUP) abort();
    /* Exactly what is needed: sanitizers see a read past the last row. */
    w.payload = zeroed(dtype == UOCR_F32   ? 4 * n
                       : dtype == UOCR_F16 ? 2 * n
                       : dtype == UOCR_Q8  ? n
                                           : n / 2,
                       1);
    w.scales = grouped ? zeroed(n / UOCR_GROUP, 2) : NULL;
    for (size_t i = 0; i < n; i += grouped ? UOCR_GROUP : 1) {
        if (grouped) encode_group(&w, i, values + i);
        else if (dtype == UOCR_F32)
            ((float *)(void *)w.payload)[i] = (float)values[i], values[i] = (float)values[i];
        else {
            ((uint16_t *)(void *)w.payload)[i] = f16_of(values[i]);
            values[i] = f16_value(f16_of(values[i]));
        }
    }
    w.view.payload = w.payload;
    w.view.scales = w.scales;
    return w;
}

weight weight_random(ops *o, uocr_dtype dtype, size_t matrices, size_t rows, size_t cols, double amplitude) {
    size_t n = matrices * rows * cols;
    double *values = zeroed(n, sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = uniform(o, -amplitude, amplitude);
    return weight_encode(dtype, matrices, rows, cols, values);
}

weight weight_of(uocr_dtype dtype, size_t rows, size_t cols, const double *source) {
    double *values = zeroed(rows * cols, sizeof *values);
    memcpy(values, source, rows * cols * sizeof *values);
    return weight_encode(dtype, 1, rows, cols, values);
}

void weight_free(weight *w) {
    free(w->value);
    free(w->payload);
    free(w->scales);
    *w = (weight){0};
}

/* -- tensors ------------------------------------------------------------------------------- */

static size_t element_bytes(uocr_dtype dtype) { return dtype == UOCR_U8 ? 1 : dtype == UOCR_F16 ? 2 : 4; }

uocr_tensor tensor_new(ops *o, uocr_dtype dtype, size_t rows, size_t cols, size_t gap) {
    size_t bytes = rows * (cols + gap) * element_bytes(dtype), offset = 64;
    uocr_buffer *buffer = o->backend->buffer_create(o->backend, UOCR_MEMORY_DECODER_SCRATCH, bytes + offset);
    uint8_t *fill = zeroed(bytes + offset, 1);
    memset(fill, PATTERN, bytes + offset);
    if (!buffer) exit(2);
    o->backend->write(o->backend, buffer, 0, fill, bytes + offset);
    free(fill);
    return (uocr_tensor){buffer, offset, dtype, rows, cols, cols + gap};
}

void tensor_free(ops *o, uocr_tensor t) { o->backend->buffer_destroy(o->backend, t.buffer); }

double *tensor_values(ops *o, uocr_tensor t) {
    size_t n = t.rows * t.stride;
    uint8_t *raw = zeroed(n, 4);
    double *out = zeroed(t.rows * t.cols, sizeof *out);
    o->backend->read(o->backend, t.buffer, t.offset, raw, n * element_bytes(t.dtype));
    for (size_t r = 0; r < t.rows; r++)
        for (size_t c = 0; c < t.cols; c++) {
            size_t i = r * t.stride + c;
            out[r * t.cols + c] = t.dtype == UOCR_F32   ? ((float *)(void *)raw)[i]
                                  : t.dtype == UOCR_F16 ? f16_value(((uint16_t *)(void *)raw)[i])
                                  : t.dtype == UOCR_I32 ? ((int32_t *)(void *)raw)[i]
                                                        : raw[i];
        }
    free(raw);
    return out;
}

void tensor_write(ops *o, uocr_tensor t, const double *values) {
    size_t size = element_bytes(t.dtype);
    uint8_t raw[8];
    for (size_t r = 0; r < t.rows; r++)
        for (size_t c = 0; c < t.cols; c++) {
            double v = values[r * t.cols + c];
            if (t.dtype == UOCR_F32) memcpy(raw, &(float){(float)v}, 4);
            else if (t.dtype == UOCR_F16) memcpy(raw, &(uint16_t){f16_of(v)}, 2);
            else if (t.dtype == UOCR_I32) memcpy(raw, &(int32_t){(int32_t)v}, 4);
            else raw[0] = (uint8_t)v;
            o->backend->write(o->backend, t.buffer, t.offset + (r * t.stride + c) * size, raw, size);
        }
}

uocr_tensor tensor_random(ops *o, size_t rows, size_t cols, size_t gap, double amplitude) {
    uocr_tensor t = tensor_new(o, UOCR_F32, rows, cols, gap);
    double *values = zeroed(rows * cols, sizeof *values);
    for (size_t i = 0; i < rows * cols; i++) values[i] = uniform(o, -amplitude, amplitude);
    tensor_write(o, t, values);
    free(values);
    return t;
}

uocr_buffer *workspace(ops *o, size_t bytes) {
    uocr_buffer *buffer =
        bytes ? o->backend->buffer_create(o->backend, UOCR_MEMORY_MOE_SCRATCH, bytes) : NULL;
    o->backend->bind_workspace(o->backend, buffer, bytes);
    return buffer;
}

/* -- expectations -------------------------------------------------------------------------- */

static void digest(ops *o, const uint8_t *bytes, size_t n) { /* FNV-1a */
    uint64_t h = o->digest ? o->digest : UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    o->digest = h;
}

static void fail(ops *o, const char *what) {
    if (o->failures++ < 20) printf("FAIL %s/%s: %s", precision_name(o), o->backend->simd, what);
}

void expect(ops *o, const char *what, uocr_tensor got, const double *want, const double *bound) {
    size_t size = element_bytes(got.dtype), n = got.rows * got.stride * size;
    uint8_t *raw = zeroed(n, 1);
    o->backend->read(o->backend, got.buffer, got.offset, raw, n);
    digest(o, raw, n);
    o->checks++;
    for (size_t r = 0; r < got.rows; r++)
        for (size_t i = got.cols * size; i < got.stride * size; i++)
            if (raw[r * got.stride * size + i] != PATTERN) {
                fail(o, what);
                printf(": wrote past the end of row %zu\n", r);
                r = got.rows - 1;
                break;
            }
    free(raw);
    if (!want) return;
    double *values = tensor_values(o, got), worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < got.rows * got.cols; i++) {
        double error = fabs(values[i] - want[i]), ratio = error == 0 ? 0 : error / bound[i];
        if (!(ratio <= worst)) worst = ratio, at = i;
        if (ratio != ratio) break;
    }
    if (!(worst <= 1)) {
        fail(o, what);
        printf(": element (%zu, %zu) is %.9g, should be %.9g +- %.3g\n", at / got.cols, at % got.cols,
               values[at], want[at], bound[at]);
    } else if (worst > o->worst) {
        o->worst = worst;
        snprintf(o->worst_name, sizeof o->worst_name, "%s", what);
    }
    free(values);
}

void expect_true(ops *o, const char *what, bool truth) {
    o->checks++;
    if (truth) return;
    fail(o, what);
    printf(": not so\n");
}

void expect_ok(ops *o, const char *what, uocr_status status) {
    o->checks++;
    if (status == UOCR_OK) return;
    fail(o, what);
    printf(": status %d\n", (int)status);
}

/* -- references ---------------------------------------------------------------------------- */

double sum_bound(size_t n, double magnitude) {
    double chain = (n < 256 ? (double)n : 256) + (double)n / 256 + 8;
    return (8 * sqrt(chain) * EPS + ops_tile_error) * magnitude + 1e-37;
}

void product(const double *x, const weight *w, size_t m, size_t rows, double *y, double *magnitude) {
    size_t in = w->view.cols, out = w->view.rows;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < out; c++) {
            const double *row = w->value + (m * out + c) * in, *v = x + r * in;
            double sum = 0, size = 0;
            for (size_t i = 0; i < in; i++) sum += v[i] * row[i], size += fabs(v[i] * row[i]);
            y[r * out + c] = sum;
            if (magnitude) magnitude[r * out + c] = size;
        }
}

void int8_error(const double *x, const weight *w, size_t m, size_t rows, double *error) {
    size_t in = w->view.cols, out = w->view.rows;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < out; c++) {
            const double *row = w->value + (m * out + c) * in, *v = x + r * in;
            double sum = 0;
            for (size_t g = 0; g < in; g += UOCR_GROUP) {
                double largest = 0, size = 0;
                for (size_t i = g; i < g + UOCR_GROUP; i++) {
                    if (fabs(v[i]) > largest) largest = fabs(v[i]);
                    size += fabs(row[i]);
                }
                sum += largest / 254 * 1.0001 * size;
            }
            error[r * out + c] = sum;
        }
}

bool uses_int8(const ops *o, const weight *w, size_t rows) {
    return !o->exact && (w->view.dtype == UOCR_Q4 || (w->view.dtype == UOCR_Q8 && (rows == 1 || o->integer)));
}

void product_bound(const double *x, const weight *w, size_t m, size_t rows, bool int8, double *y,
                   double *bound) {
    size_t n = rows * w->view.rows;
    double *magnitude = zeroed(n, sizeof *magnitude), *quantised = zeroed(n, sizeof *quantised);
    product(x, w, m, rows, y, magnitude);
    if (int8) int8_error(x, w, m, rows, quantised);
    for (size_t i = 0; i < n; i++) {
        /* Nibbles are stored plus 8 and corrected afterwards: the terms before that are up to 16 times
         * larger. */
        double factor = int8 && w->view.dtype == UOCR_Q4 ? 16 : 1;
        bound[i] = quantised[i] + sum_bound(w->view.cols, factor * (magnitude[i] + quantised[i]));
    }
    free(magnitude);
    free(quantised);
}
