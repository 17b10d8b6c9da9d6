/* How the Metal device cuts the mapped model: whole layers a view, overlapping pieces of a layer that is too long. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/device_metal_views.h"

enum { PAGE = 16384, ROOM = 4096 };
static gpu_view view[ROOM];

static void layers_are_taken_whole_as_long_as_they_fit(void) {
    const uint64_t section[] = {2 * PAGE, 5 * PAGE, 6 * PAGE, 10 * PAGE, 11 * PAGE};
    CHECK_EQUAL(gpu_views_cut(12 * PAGE, section, 5, PAGE, 4 * PAGE, view, ROOM), 3);
    CHECK(view[0].offset == 2 * PAGE && view[0].bytes == 4 * PAGE); /* what lies before the payload is left out */
    CHECK(view[1].offset == 6 * PAGE && view[1].bytes == 4 * PAGE);
    CHECK(view[2].offset == 10 * PAGE && view[2].bytes == 2 * PAGE);
    CHECK_EQUAL(gpu_views_cut(12 * PAGE, section, 5, PAGE, 100 * PAGE, view, ROOM), 1);
    CHECK(view[0].offset == 2 * PAGE && view[0].bytes == 10 * PAGE);
}

static void a_layer_that_is_too_long_is_covered_by_views_that_overlap_by_half(void) {
    const uint64_t section[] = {PAGE, 2 * PAGE, 13 * PAGE};
    CHECK_EQUAL(gpu_views_cut(14 * PAGE, section, 3, PAGE, 4 * PAGE, view, ROOM), 7);
    CHECK(view[0].offset == PAGE && view[0].bytes == PAGE);
    for (size_t i = 0; i < 4; i++) CHECK(view[1 + i].offset == (2 + 2 * i) * PAGE && view[1 + i].bytes == 4 * PAGE);
    CHECK(view[5].offset == 10 * PAGE && view[5].bytes == 3 * PAGE);
    CHECK(view[6].offset == 13 * PAGE && view[6].bytes == PAGE);
}

static void no_room_is_told_and_nothing_is_written_past_it(void) {
    const uint64_t section[] = {0, PAGE, 2 * PAGE};
    memset(view, 0, sizeof view);
    CHECK_EQUAL(gpu_views_cut(3 * PAGE, section, 3, PAGE, PAGE + PAGE / 2, view, 2), 3);
    CHECK(view[1].bytes == PAGE && view[2].bytes == 0);
    CHECK_EQUAL(gpu_views_cut(3 * PAGE, section, 0, PAGE, 2 * PAGE, view, 2), 0);
}

/* Whatever the layers are: views are whole pages of the mapping, none is too long, and every piece of a layer of up
 * to half a view lies whole in one. */
static void every_tensor_lies_whole_in_one_view(void) {
    srand(7);
    for (int round = 0; round < 2000; round++) {
        uint64_t section[24], at = (uint64_t)(1 + rand() % 5) * PAGE, page = rand() % 2 ? PAGE : 4096;
        size_t sections = 1 + (size_t)rand() % 24;
        for (size_t i = 0; i < sections; i++) section[i] = at, at += (uint64_t)(1 + rand() % 12) * PAGE;
        uint64_t most = (uint64_t)(2 + rand() % 14) * PAGE + (uint64_t)(rand() % PAGE);
        size_t count = gpu_views_cut(at, section, sections, page, most, view, ROOM);
        CHECK(count >= 1 && count <= ROOM);
        for (size_t i = 0; i < count; i++)
            CHECK(view[i].offset % page == 0 && view[i].bytes % page == 0 && view[i].bytes > 0 &&
                  view[i].bytes <= most && view[i].offset + view[i].bytes <= at);
        for (size_t s = 0; s < sections; s++) {
            uint64_t begin = section[s], bytes = (s + 1 < sections ? section[s + 1] : at) - begin, half = most / 2;
            uint64_t longest = bytes <= most / page * page ? bytes : half / page * page;
            for (int tensor = 0; tensor < 8; tensor++) {
                uint64_t size = 1 + (uint64_t)rand() % longest, from = begin + (uint64_t)rand() % (bytes - size + 1);
                const gpu_view *found = gpu_view_of(view, count, from, size);
                CHECK(found && from >= found->offset && from + size <= found->offset + found->bytes);
            }
        }
        CHECK(gpu_view_of(view, count, at, 1) == NULL);
        CHECK(gpu_view_of(view, count, section[0] - 1, 1) == NULL);
        CHECK(gpu_view_of(view, count, section[0], at) == NULL);
    }
}

int main(void) {
    layers_are_taken_whole_as_long_as_they_fit();
    a_layer_that_is_too_long_is_covered_by_views_that_overlap_by_half();
    no_room_is_told_and_nothing_is_written_past_it();
    every_tensor_lies_whole_in_one_view();
    return check_result();
}
