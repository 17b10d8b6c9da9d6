/* Reads one page and prints its tokens: everything a program needs is uocr.h and libuocr.
 *
 *     cc read_page.c $(pkg-config --cflags --libs uocr) -o read_page
 *     read_page MODEL.uocr PAGE.rgb SIZE ID...
 *
 * PAGE.rgb holds SIZE x SIZE pixels of 3 bytes (red, green, blue), row by row; SIZE is 512, 640, 1024 or
 * 1280. The ids are the whole prompt: bos, the image id once for every visual row, the text. A view of SIZE
 * pixels has side = SIZE / 64 tokens a side and side * (side + 1) + 1 visual rows: 273 of 1024 pixels. For
 * the built-in model that is 0, then 273 times 2035, then 70 403 903 386 85 343 16 ("document parsing.").
 * Prints one token id a line. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uocr.h>

/* Whether `text` is a whole number from 0 to 2^31 - 1, which goes into `number`. */
static int whole_number(const char *text, int32_t *number) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 0 || value > INT32_MAX) {
        fprintf(stderr, "%s is not a whole number.\n", text);
        return 0;
    }
    *number = (int32_t)value;
    return 1;
}

static uint8_t *read_pixels(const char *path, uint32_t size) {
    size_t bytes = (size_t)3 * size * size;
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be opened: %s.\n", path, strerror(errno));
        return NULL;
    }
    uint8_t *pixels = malloc(bytes);
    int whole = pixels && fread(pixels, 1, bytes, file) == bytes && fgetc(file) == EOF;
    fclose(file);
    if (whole)
        return pixels;
    fprintf(stderr, "%s does not hold %u x %u pixels of 3 bytes.\n", path, size, size);
    free(pixels);
    return NULL;
}

static uocr_status read_page(uocr_engine *engine, const uocr_plan *plan, const uint8_t *pixels,
                             uocr_error *error) {
    uocr_run *run = NULL;
    uocr_event event = {.size = sizeof event};
    uocr_status status = uocr_run_begin(engine, plan, &run, error);
    while (status == UOCR_OK && event.kind != UOCR_EVENT_DONE) {
        status = uocr_run_step(run, &event, error);
        if (status != UOCR_OK)
            break;
        if (event.kind == UOCR_EVENT_NEED_VIEW) {
            status =
                uocr_run_feed_view(run, event.view, pixels, plan->global_size, plan->global_size, 0, error);
        } else if (event.kind == UOCR_EVENT_TOKEN) {
            printf("%d\n", (int)event.token);
            fflush(stdout); /* a page is read while it is written */
        }
    }
    if (status == UOCR_OK) {
        static const char *const reasons[] = {"",       "the page's end", "length",
                                              "a loop", "cancelling",     "an error"};
        fprintf(stderr, "%u tokens, ended by %s: vision %.2f s, prefill %.2f s, decoding %.2f s\n",
                event.done, reasons[event.finish], event.vision_s, event.prefill_s, event.decode_s);
    }
    uocr_run_end(run);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s MODEL.uocr PAGE.rgb SIZE ID...\n", argv[0]);
        return 2;
    }
    uocr_engine_options options = {.size = sizeof options, .model_path = argv[1]};
    uocr_error error = {.size = sizeof error};
    uocr_engine *engine = NULL;
    uint32_t count = (uint32_t)argc - 4;
    int32_t size = 0;
    if (!whole_number(argv[3], &size))
        return 2;
    if (size != 512 && size != 640 && size != 1024 && size != 1280) {
        fprintf(stderr, "SIZE is %d; give 512, 640, 1024 or 1280.\n", (int)size);
        return 2;
    }
    int32_t *ids = malloc(count * sizeof *ids);
    if (!ids)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!whole_number(argv[4 + i], &ids[i])) {
            free(ids);
            return 2;
        }
    }
    uint8_t *pixels = read_pixels(argv[2], (uint32_t)size);
    if (!pixels) {
        free(ids);
        return 1;
    }

    uocr_status status = uocr_engine_open(&options, &engine, &error);
    if (status == UOCR_OK) {
        uocr_plan plan = {.size = sizeof plan,
                          .pages = 1,
                          .global_size = (uint32_t)size,
                          .prompt_count = count,
                          .prompt_ids = ids,
                          .ngram_size = 35, /* no 35 tokens twice within 128 */
                          .ngram_window = 128,
                          .loop_guard_hits = 8, /* and an end when that was needed 8 times in 256 steps */
                          .loop_history = 256};
        status = read_page(engine, &plan, pixels, &error);
    }
    if (status != UOCR_OK)
        fprintf(stderr, "%s\n", error.message);
    uocr_engine_close(engine);
    free(ids);
    free(pixels);
    return status == UOCR_OK ? 0 : 1;
}
