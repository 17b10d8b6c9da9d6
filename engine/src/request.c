#include "request.h"

#include <inttypes.h>

#include "abi.h"
#include "loop.h"
#include "ngram.h"
#include "status.h"

enum { MOST_CROPS = 32, SMALLEST_VIEW = 512, LARGEST_VIEW = 1280, VIEW_STEP = 64, PIXELS_A_TOKEN = 64 };

static uocr_status check_views(const uocr_config *config, const uocr_plan *plan, uocr_request *request,
                               uocr_error *error) {
    uint64_t crops = (uint64_t)plan->crop_cols * plan->crop_rows;
    if (plan->pages > config->max_positions) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->pages, config->max_positions,
                         "A plan of %" PRIu32 " pages cannot fit the model's %" PRIu32
                         " positions; plan fewer pages.",
                         plan->pages, config->max_positions);
    }
    if (plan->pages > 0 && (plan->global_size < SMALLEST_VIEW || plan->global_size > LARGEST_VIEW ||
                            plan->global_size % VIEW_STEP != 0)) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->global_size, LARGEST_VIEW,
                         "global_size is %" PRIu32 " pixels; it must be a multiple of %d from %d to %d.",
                         plan->global_size, VIEW_STEP, SMALLEST_VIEW, LARGEST_VIEW);
    }
    if ((plan->crop_cols == 0) != (plan->crop_rows == 0) || crops == 1 || crops > MOST_CROPS) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, crops, MOST_CROPS,
                         "The crop grid is %" PRIu32 " x %" PRIu32
                         "; it must hold 2 to %d crops, or be 0 x 0 for none.",
                         plan->crop_cols, plan->crop_rows, MOST_CROPS);
    }
    if (crops > 0 && plan->pages != 1) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->pages, 1,
                         "A plan with crops has exactly 1 page, not %" PRIu32 "; read the pages one by one.",
                         plan->pages);
    }
    request->global_size = plan->pages > 0 ? plan->global_size : 0;
    request->layout = (uocr_layout){.pages = plan->pages,
                                    .crop_cols = plan->crop_cols,
                                    .crop_rows = plan->crop_rows,
                                    .global_side = request->global_size / PIXELS_A_TOKEN,
                                    .crop_side = UOCR_CROP_SIZE / PIXELS_A_TOKEN};
    request->views = uocr_layout_views(&request->layout);
    request->visual_rows = uocr_layout_rows(&request->layout);
    return UOCR_OK;
}

static uocr_status check_prompt(const uocr_config *config, const uocr_plan *plan, uocr_request *request,
                                uocr_error *error) {
    uint32_t images = 0, last = 0;
    if (plan->prompt_count == 0 || !plan->prompt_ids) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0,
                         "The plan has no prompt ids; at least one is needed.");
    }
    if (plan->prompt_count >= config->max_positions) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->prompt_count, config->max_positions - 1,
                         "The prompt has %" PRIu32 " tokens, but the model has %" PRIu32
                         " positions for prompt and answer together; use fewer pages or smaller views.",
                         plan->prompt_count, config->max_positions);
    }
    for (uint32_t i = 0; i < plan->prompt_count; i++) {
        int32_t id = plan->prompt_ids[i];
        if (id < 0 || (uint32_t)id >= config->vocab_size) {
            return uocr_fail(error, UOCR_INVALID_ARGUMENT, (uint64_t)(uint32_t)id, config->vocab_size - 1,
                             "Prompt id %" PRIu32 " is %" PRId32 "; ids are 0 to %" PRIu32 ".", i, id,
                             config->vocab_size - 1);
        }
        if ((uint32_t)id == config->image_id) {
            request->first_visual = images == 0 ? i : request->first_visual;
            last = i;
            images++;
        }
    }
    if (images != request->visual_rows) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, images, request->visual_rows,
                         "The prompt has %" PRIu32 " image ids, but the views of this plan give %" PRIu32
                         " visual rows; both must be the same number.",
                         images, request->visual_rows);
    }
    if (images > 0 && last - request->first_visual + 1 != images) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, last, request->first_visual + images - 1,
                         "The image ids of the prompt are interrupted: %" PRIu32
                         " ids between places %" PRIu32 " and %" PRIu32 "; they must follow one another.",
                         images, request->first_visual, last);
    }
    request->prompt = plan->prompt_count;
    request->prompt_ids = plan->prompt_ids;
    return UOCR_OK;
}

static uocr_status check_guard(const uocr_config *config, const uocr_plan *plan, uocr_request *request,
                               uocr_error *error) {
    if (plan->ngram_size > 0 && (plan->ngram_window == 0 || plan->ngram_window > UOCR_NGRAM_MAX_WINDOW)) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->ngram_window, UOCR_NGRAM_MAX_WINDOW,
                         "ngram_window is %" PRIu32 " ids; with ngram_size %" PRIu32 " it must be 1 to %d.",
                         plan->ngram_window, plan->ngram_size, UOCR_NGRAM_MAX_WINDOW);
    }
    if (plan->guard_allow_count > config->vocab_size || (plan->guard_allow_count > 0 && !plan->guard_allow)) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->guard_allow_count, config->vocab_size,
                         "guard_allow_count is %" PRIu32
                         "; it must be the number of ids in guard_allow, at most %" PRIu32 ".",
                         plan->guard_allow_count, config->vocab_size);
    }
    for (uint32_t i = 0; i < plan->guard_allow_count; i++) {
        int32_t id = plan->guard_allow[i];
        if (id < 0 || (uint32_t)id >= config->vocab_size) {
            return uocr_fail(error, UOCR_INVALID_ARGUMENT, (uint64_t)(uint32_t)id, config->vocab_size - 1,
                             "guard_allow id %" PRIu32 " is %" PRId32 "; ids are 0 to %" PRIu32 ".", i, id,
                             config->vocab_size - 1);
        }
    }
    request->ngram_size = plan->ngram_size;
    request->ngram_cycle =
        plan->ngram_cycle > 0 && plan->ngram_cycle < plan->ngram_size ? plan->ngram_cycle : plan->ngram_size;
    request->ngram_window = plan->ngram_size > 0 ? plan->ngram_window : 0;
    request->allow_count = plan->guard_allow_count;
    request->allow = plan->guard_allow;
    return UOCR_OK;
}

static uocr_status check_loop(const uocr_plan *plan, uocr_request *request, uocr_error *error) {
    if (plan->loop_history > UOCR_LOOP_MAX_HISTORY) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->loop_history, UOCR_LOOP_MAX_HISTORY,
                         "loop_history is %" PRIu32 " steps; at most %d are kept, 0 turns the verdict off.",
                         plan->loop_history, UOCR_LOOP_MAX_HISTORY);
    }
    bool guarded = plan->ngram_size > 0, on = plan->loop_history > 0;
    if (on && guarded && (plan->loop_guard_hits == 0 || plan->loop_guard_hits > plan->loop_history)) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->loop_guard_hits, plan->loop_history,
                         "loop_guard_hits is %" PRIu32 "; with loop_history %" PRIu32
                         " it must be 1 to %" PRIu32 ".",
                         plan->loop_guard_hits, plan->loop_history, plan->loop_history);
    }
    if (on && !guarded && (plan->loop_period_max == 0 || plan->loop_period_max > UOCR_LOOP_MAX_PERIOD)) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan->loop_period_max, UOCR_LOOP_MAX_PERIOD,
                         "loop_period_max is %" PRIu32 "; with the repeat guard off it must be 1 to %d ids.",
                         plan->loop_period_max, UOCR_LOOP_MAX_PERIOD);
    }
    request->loop_history = plan->loop_history;
    request->loop_hits = plan->loop_guard_hits;
    request->loop_period = plan->loop_period_max;
    return UOCR_OK;
}

uocr_status uocr_request_check(const uocr_config *config, const uocr_plan *theirs, uocr_request *request,
                               uocr_error *error) {
    uocr_plan plan;
    uocr_status status;
    *request = (uocr_request){0};
    if (!theirs || uocr_abi_size(theirs) <= sizeof theirs->size) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, sizeof plan,
                         "There is no plan, or its size field was not set to sizeof(uocr_plan).");
    }
    uocr_abi_read(&plan, sizeof plan, theirs);
    if ((status = check_views(config, &plan, request, error)) != UOCR_OK ||
        (status = check_prompt(config, &plan, request, error)) != UOCR_OK ||
        (status = check_guard(config, &plan, request, error)) != UOCR_OK ||
        (status = check_loop(&plan, request, error)) != UOCR_OK) {
        return status;
    }
    if (plan.ring_window > config->max_positions) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, plan.ring_window, config->max_positions,
                         "ring_window is %" PRIu32 " tokens; it must be at most the model's %" PRIu32
                         " positions, 0 for its own window.",
                         plan.ring_window, config->max_positions);
    }
    uint32_t room = config->max_positions - request->prompt;
    request->max_new = plan.max_new_tokens == 0 || plan.max_new_tokens > room ? room : plan.max_new_tokens;
    request->ring = plan.ring_window > 0 ? plan.ring_window : config->ring_window;
    request->usable = plan.allow_padding_ids ? config->vocab_size : config->usable_vocab;
    request->ignore_eos = plan.ignore_eos != 0;
    return UOCR_OK;
}

uint32_t uocr_request_view_size(const uocr_request *request, uint32_t view) {
    return uocr_layout_is_crop(&request->layout, view) ? UOCR_CROP_SIZE : request->global_size;
}
