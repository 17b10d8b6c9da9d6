/* How the mapped model is cut into views, each small enough for one buffer of the device.
 *
 * A view takes whole sections (layers) as long as they fit: a command buffer makes only the views that it uses
 * resident, so that the decoder does not hold the vision weights. A section longer than a view is covered by views
 * that overlap by half, so that a tensor of up to half a view still lies whole in one. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_VIEWS_H
#define UOCR_SRC_GPU_DEVICE_METAL_VIEWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct gpu_view { uint64_t offset, bytes; } gpu_view; /* in the mapping, both multiples of a page */

static inline size_t gpu_view_add(gpu_view *view, size_t room, size_t count, uint64_t from, uint64_t to,
                                  uint64_t page) {
    uint64_t begin = from / page * page, end = (to + page - 1) / page * page;
    if (count < room) view[count] = (gpu_view){begin, end - begin};
    return count + 1;
}

/* Cuts [section[0], total) into views of at most `most` bytes, two pages or more; the first `room` of them go into
 * view. How many there are. Sections are ascending and below total; a mapping ends with a whole page. */
static inline size_t gpu_views_cut(uint64_t total, const uint64_t *section, size_t sections, uint64_t page,
                                   uint64_t most, gpu_view *view, size_t room) {
    size_t count = 0;
    most = most / page * page;
    for (size_t i = 0; i < sections;) {
        uint64_t from = section[i] / page * page, to = from;
        for (; i < sections; i++) {
            uint64_t end = i + 1 < sections ? section[i + 1] : total;
            if ((end - from + page - 1) / page * page > most) break;
            to = end;
        }
        if (to > from) {
            count = gpu_view_add(view, room, count, from, to, page);
            continue;
        }
        uint64_t end = i + 1 < sections ? section[i + 1] : total, step = most / 2 / page * page;
        for (; from + most < end; from += step)
            count = gpu_view_add(view, room, count, from, from + most, page);
        count = gpu_view_add(view, room, count, from, end, page);
        i++;
    }
    return count;
}

/* The view that holds [offset, offset + bytes) whole; NULL: none does. */
static inline const gpu_view *gpu_view_of(const gpu_view *view, size_t count, uint64_t offset, uint64_t bytes) {
    for (size_t i = 0; i < count; i++)
        if (offset >= view[i].offset && offset - view[i].offset <= view[i].bytes &&
            bytes <= view[i].bytes - (offset - view[i].offset))
            return &view[i];
    return NULL;
}

#endif
