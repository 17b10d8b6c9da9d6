/* The step machine: VISION -> PREFILL -> DECODE -> DONE. */
#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "abi.h"
#include "admit.h"
#include "status.h"

static const char *const phase_names[] = {"vision", "prefill", "decode"};

/* ---- begin and end ---- */

size_t uocr_run_bytes(const uocr_request *request) {
    return sizeof(uocr_run) + ((size_t)request->prompt + request->allow_count) * sizeof(int32_t);
}

static void own_ids(uocr_run *run) {
    uocr_request *request = &run->request;
    int32_t *ids = (int32_t *)(run + 1), *allow = ids + request->prompt;
    memcpy(ids, request->prompt_ids, request->prompt * sizeof *ids);
    if (request->allow_count > 0) {
        memcpy(allow, request->allow, request->allow_count * sizeof *allow);
    }
    request->prompt_ids = ids;
    request->allow = allow;
}

static uocr_run *make_run(uocr_engine *engine, const uocr_request *request) {
    size_t bytes = uocr_run_bytes(request);
    uocr_run *run = uocr_memory_alloc(&engine->memory, UOCR_MEMORY_TRANSIENT, bytes);
    if (!run) {
        return NULL;
    }
    run->engine = engine;
    run->model = uocr_engine_model(engine);
    run->request = *request;
    run->bytes = bytes;
    run->forced = -1;
    run->repeated_phase = UOCR_PHASE_DONE;
    run->features.category = UOCR_MEMORY_VISION_FEATURES;
    own_ids(run);
    if (uocr_sampler_create(&engine->memory, &run->request, &run->sampler) != UOCR_OK) {
        uocr_memory_free(&engine->memory, UOCR_MEMORY_TRANSIENT, run, bytes);
        return NULL;
    }
    engine->backend->watch_cancel(engine->backend, &run->cancel);
    return run;
}

uocr_status uocr_run_begin(uocr_engine *engine, const uocr_plan *plan, uocr_run **out, uocr_error *error) {
    uocr_request request;
    if (!engine || !out) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0,
                         "uocr_run_begin needs an engine and a place for the run.");
    }
    *out = NULL;
    UOCR_TRY(uocr_request_check(&engine->file.config, plan, &request, error));
    if (atomic_exchange(&engine->busy, true)) {
        return uocr_fail(error, UOCR_BUSY, 0, 0,
                         "Another run is open on this engine; end it first or open a second engine.");
    }
    uocr_status status = uocr_admit(engine, &request, error);
    if (status == UOCR_OK) {
        uocr_memory_reset_peaks(&engine->memory);
        *out = make_run(engine, &request);
        if (!*out) {
            status = uocr_fail(error, UOCR_OUT_OF_MEMORY, 0, engine->memory.budget,
                               "The system refused memory for a run.");
        }
    }
    if (status != UOCR_OK) {
        atomic_store(&engine->busy, false);
    }
    return status;
}

/* Gives back everything a finished run no longer needs; what was captured stays until the end. */
static void release(uocr_run *run) {
    uocr_backend *backend = run->engine->backend;
    uocr_run_stop_ahead(run);
    backend->bind_workspace(backend, NULL, 0);
    if (run->seeing) {
        uocr_vision_destroy(&run->model, &run->engine->memory, &run->vision);
    }
    if (run->decoding) {
        uocr_decoder_destroy(&run->model, &run->decoder);
    }
    run->seeing = run->decoding = false;
    uocr_arena_destroy(&run->features, backend);
    uocr_arena_destroy(&run->head, backend);
    backend->finish(backend); /* an error of work that nobody wants any more is no error of the next run */
}

void uocr_run_end(uocr_run *run) {
    if (!run) {
        return;
    }
    uocr_engine *engine = run->engine;
    engine->backend->watch_cancel(engine->backend, NULL);
    release(run);
    uocr_tap_destroy(run->model.tap);
    uocr_sampler_destroy(&engine->memory, &run->request, &run->sampler);
    engine->profile.phase = NULL;
    uocr_memory_free(&engine->memory, UOCR_MEMORY_TRANSIENT, run, run->bytes);
    atomic_store(&engine->busy, false);
}

void uocr_run_cancel(uocr_run *run) {
    if (run) {
        atomic_store(&run->cancel, true);
    }
}

/* ---- vision ---- */

uocr_status uocr_run_make_rows(uocr_run *run) {
    size_t hidden = run->model.config->hidden;
    run->features.used = 0;
    uocr_arena_tensor(&run->features, UOCR_F32, run->request.visual_rows, hidden);
    UOCR_TRY(uocr_arena_create(&run->features, run->model.backend));
    run->rows = uocr_arena_tensor(&run->features, UOCR_F32, run->request.visual_rows, hidden);
    return UOCR_OK;
}

static uocr_status enter_vision(uocr_run *run) {
    run->seeing = true;
    UOCR_TRY(uocr_run_make_rows(run));
    return uocr_vision_create(&run->model, &run->engine->memory, &run->request, &run->vision);
}

static uocr_status tap_visual_rows(uocr_run *run) {
    return run->rows.rows == 0 ? UOCR_OK
                               : uocr_tap_rows(run->model.tap, run->model.backend, "rows", UOCR_TAP_PLAIN, 0,
                                               run->rows, 0, run->rows.rows);
}

static uocr_status leave_vision(uocr_run *run) {
    uocr_vision_destroy(&run->model, &run->engine->memory, &run->vision);
    run->seeing = false;
    run->phase = UOCR_PHASE_PREFILL;
    return tap_visual_rows(run);
}

static uocr_status step_vision(uocr_run *run, uocr_event *event, uocr_error *error) {
    size_t pieces = uocr_vision_pieces(run->model.config);
    uocr_sight sight;
    if (!run->seeing) {
        UOCR_TRY(enter_vision(run));
    }
    uocr_vision *vision = &run->vision;
    event->view = vision->view;
    event->total = (uint32_t)(pieces * run->request.views);
    if (!vision->fed) {
        event->kind = UOCR_EVENT_NEED_VIEW;
        event->done = (uint32_t)(pieces * vision->view);
        return UOCR_OK;
    }
    event->kind = UOCR_EVENT_PROGRESS;
    UOCR_TRY(uocr_vision_step(&run->model, &run->request, vision, run->rows, &sight));
    event->done = (uint32_t)(pieces * vision->view + vision->piece);
    if (sight == UOCR_SIGHT_EMPTY) {
        return uocr_fail(error, UOCR_MODEL_FILE, event->view, 0,
                         "View %" PRIu32 " of %" PRIu32 " gave visual rows of zeros: the picture would not reach the "
                         "decoder; the model file may be damaged: verify it.",
                         event->view + 1, run->request.views);
    }
    if (sight == UOCR_SIGHT_NOT_FINITE) {
        return uocr_fail(error, UOCR_NON_FINITE, event->view, 0,
                         "View %" PRIu32 " of %" PRIu32 " gave visual rows that are not finite (Inf or NaN); "
                         "the model file may be damaged: verify it.",
                         event->view + 1, run->request.views);
    }
    return vision->view == run->request.views ? leave_vision(run) : UOCR_OK;
}

uocr_status uocr_run_feed_view(uocr_run *run, uint32_t view, const uint8_t *rgb, uint32_t width,
                               uint32_t height, size_t stride, uocr_error *error) {
    if (!run || !rgb) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0,
                         "uocr_run_feed_view needs a run and the view's bytes.");
    }
    if (run->phase != UOCR_PHASE_VISION || !run->seeing || run->vision.fed) {
        return uocr_fail(error, UOCR_STATE, view, 0, "View %" PRIu32 " was fed while the run asked for none.",
                         view);
    }
    if (view != run->vision.view) {
        return uocr_fail(error, UOCR_STATE, view, run->vision.view,
                         "View %" PRIu32 " was fed while the run asked for view %" PRIu32 ".", view,
                         run->vision.view);
    }
    uint32_t size = uocr_request_view_size(&run->request, view);
    if (width != size || height != size) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, width != size ? width : height, size,
                         "View %" PRIu32 " is %" PRIu32 " x %" PRIu32 " pixels; the plan says %" PRIu32
                         " x %" PRIu32 ".",
                         view, width, height, size, size);
    }
    size_t row = (size_t)3 * size;
    if (stride != 0 && stride < row) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, stride, row,
                         "The rows of view %" PRIu32 " are %zu bytes apart; %" PRIu32 " RGB pixels need %zu.",
                         view, stride, size, row);
    }
    uocr_status status =
        uocr_vision_feed(&run->model, &run->request, &run->vision, rgb, stride == 0 ? row : stride);
    return status == UOCR_OK
               ? UOCR_OK
               : uocr_fail(error, status, view, 0, "View %" PRIu32 " could not be copied.", view);
}

/* ---- prefill ---- */

/* Final norm and logits of prompt rows, for inspection only: generation needs those of the last row. */
static uocr_status inspect_head(uocr_run *run, size_t rows) {
    uocr_tap *tap = run->model.tap;
    uocr_backend *backend = run->model.backend;
    const uocr_decoder *decoder = &run->decoder;
    UOCR_TRY(uocr_decoder_norm(&run->model, decoder, 0, rows));
    UOCR_TRY(uocr_tap_rows(tap, backend, "final_norm", UOCR_TAP_PLAIN, 0,
                           uocr_tensor_rows(decoder->h, 0, rows), run->prefilled, run->request.prompt));
    for (size_t first = 0; run->all_logits && first < rows; first += UOCR_HEAD_ROWS) {
        run->head.used = 0;
        uocr_tensor logits = uocr_arena_tensor(&run->head, UOCR_F32, uocr_min(UOCR_HEAD_ROWS, rows - first),
                                               run->model.config->vocab_size);
        UOCR_TRY(uocr_decoder_head(&run->model, decoder, first, logits));
        UOCR_TRY(uocr_tap_rows(tap, backend, "logits", UOCR_TAP_PLAIN, 0, logits, run->prefilled + first,
                               run->request.prompt));
    }
    return backend->finish(backend);
}

static uocr_status embed_chunk(uocr_run *run, size_t rows) {
    const uocr_request *request = &run->request;
    UOCR_TRY(uocr_decoder_embed(&run->model, &run->decoder, request->prompt_ids, run->prefilled, rows,
                                request->first_visual, run->rows));
    return uocr_tap_rows(run->model.tap, run->model.backend, "embeds", UOCR_TAP_PLAIN, 0,
                         uocr_tensor_rows(run->decoder.x, 0, rows), run->prefilled, request->prompt);
}

/* One layer of one chunk of prompt rows. */
static uocr_status step_prefill(uocr_run *run, uocr_event *event, uocr_error *error) {
    const uocr_request *request = &run->request;
    size_t layers = run->model.config->layers, layer = run->layer;
    bool finite;
    if (!run->decoding) {
        run->decoding = true;
        UOCR_TRY(uocr_decoder_create(&run->model, request->prompt, request->ring, &run->decoder));
    }
    size_t rows = uocr_min(uocr_prefill_rows(request->prompt), request->prompt - run->prefilled);
    uocr_span span = {.rows = rows, .position = run->prefilled, .slot = run->prefilled};
    if (layer == 0) {
        UOCR_TRY(embed_chunk(run, rows));
    }
    UOCR_TRY(uocr_decoder_pass(&run->model, &run->decoder, layer, &span));
    UOCR_TRY(run->model.backend->all_finite(run->model.backend, uocr_tensor_rows(run->decoder.x, 0, rows),
                                            &finite));
    if (!finite) {
        return uocr_fail(
            error, UOCR_NON_FINITE, layer, 0,
            "Decoder layer %zu gave values that are not finite (Inf or NaN) for prompt tokens %zu to %zu; "
            "the model file may be damaged: verify it.",
            layer, run->prefilled, run->prefilled + rows - 1);
    }
    run->layer++;
    event->kind = UOCR_EVENT_PROGRESS;
    event->done = (uint32_t)(run->prefilled + rows * run->layer / layers);
    event->total = request->prompt;
    if (run->layer < layers) {
        return UOCR_OK;
    }
    if (run->model.tap) {
        UOCR_TRY(inspect_head(run, rows));
    }
    run->layer = 0;
    run->prefilled += rows;
    if (run->prefilled == request->prompt) {
        uocr_arena_destroy(&run->features, run->model.backend);
        run->phase = UOCR_PHASE_DECODE;
    }
    return UOCR_OK;
}

/* ---- step ---- */

static void finish(uocr_run *run, uint32_t reason) {
    run->finish = reason;
    run->phase = UOCR_PHASE_DONE;
    release(run);
}

/* An operator that fails says no more than its status: this says it in words. Sentences already written stay.
 */
static uocr_status explain(const uocr_run *run, uocr_status status, uint32_t phase, uocr_error *error) {
    if (status == UOCR_OUT_OF_MEMORY) {
        return uocr_fail(error, status, 0, run->engine->memory.budget,
                         "The system refused memory for %s that the budget of %" PRIu64
                         " bytes allows; close other "
                         "programs, or use smaller views.",
                         phase_names[phase], run->engine->memory.budget);
    }
    if (status == UOCR_NON_FINITE || status == UOCR_MODEL_FILE) { /* never an operator's: already said */
        return status;
    }
    uocr_backend *backend = run->model.backend;
    const char *why = backend->failure ? backend->failure(backend) : "";
    return uocr_fail(error, status, 0, 0, "The %s back end failed during %s%s%s.", backend->name,
                     phase_names[phase], *why ? ": " : "", why);
}

/* Work that failed on a device may be half done. What a phase can do again from values that are still there is a view,
 * a chunk of the prompt or a token; once, since what fails twice is no accident. */
static bool begin_again(uocr_run *run, uint32_t phase, uint32_t view) {
    uocr_backend *backend = run->model.backend;
    uint32_t number = phase == UOCR_PHASE_VISION    ? view
                      : phase == UOCR_PHASE_PREFILL ? (uint32_t)run->prefilled
                                                    : run->generated;
    bool can = !backend->failure || atomic_load(&run->cancel) ? false
               : phase == UOCR_PHASE_VISION                    ? run->seeing && run->vision.rgb.buffer
               : phase == UOCR_PHASE_PREFILL                   ? run->decoding
                                                               : uocr_run_decode_again(run);
    backend->finish(backend); /* what else was underway is of no use */
    if (!can || run->phase != phase || (run->repeated_phase == phase && run->repeated == number)) {
        return false;
    }
    run->repeated_phase = phase;
    run->repeated = number;
    if (phase == UOCR_PHASE_VISION) {
        run->vision.view = view;
        run->vision.piece = 0;
        run->vision.fed = true;
        run->vision.fitted = 0;
    }
    run->layer = 0;
    return true;
}

static uocr_status step_phase(uocr_run *run, uint32_t phase, uocr_event *event, uocr_error *error) {
    uocr_status status = phase == UOCR_PHASE_VISION    ? step_vision(run, event, error)
                         : phase == UOCR_PHASE_PREFILL ? step_prefill(run, event, error)
                                                       : uocr_run_decode(run, event, error);
    if (status == UOCR_OK && !run->ahead) { /* what runs ahead of the host is waited for step by step */
        status = run->model.backend->finish(run->model.backend);
    }
    return status;
}

static uocr_status advance(uocr_run *run, uocr_event *event, uocr_error *error) {
    if (run->phase == UOCR_PHASE_VISION && !run->started && (run->request.views == 0 || run->rows_given)) {
        run->phase = UOCR_PHASE_PREFILL;
        UOCR_TRY(tap_visual_rows(run));
    }
    run->started = true;
    uint32_t phase = run->phase, view = run->vision.view;
    double start = uocr_now();
    event->phase = phase;
    run->engine->profile.phase = phase_names[phase];
    uocr_status status = step_phase(run, phase, event, error);
    if (status == UOCR_BACKEND && begin_again(run, phase, view)) {
        status = step_phase(run, phase, event, error);
    }
    run->seconds[phase] += uocr_now() - start;
    return status == UOCR_OK || status == UOCR_CANCELLED ? status : explain(run, status, phase, error);
}

uocr_status uocr_run_step(uocr_run *run, uocr_event *out, uocr_error *error) {
    uocr_event event = {.token = -1};
    uocr_status status = UOCR_OK;
    if (!run || !out || uocr_abi_size(out) <= sizeof out->size) {
        return uocr_fail(
            error, UOCR_INVALID_ARGUMENT, 0, sizeof *out,
            "uocr_run_step needs a run and an event whose size field is set to sizeof(uocr_event).");
    }
    if (run->failed) {
        return uocr_fail(error, UOCR_STATE, 0, 0,
                         "This run has ended with an error; end it and begin another.");
    }
    if (run->phase != UOCR_PHASE_DONE) {
        if (run->finish != UOCR_FINISH_NONE) { /* the newest token was the last */
            finish(run, run->finish);
        } else if (atomic_load(&run->cancel)) {
            status = UOCR_CANCELLED;
        } else {
            status = advance(run, &event, error);
        }
    }
    if (status != UOCR_OK) {
        run->failed = status != UOCR_CANCELLED;
        finish(run, run->failed ? UOCR_FINISH_ERROR : UOCR_FINISH_CANCELLED);
    }
    if (run->phase == UOCR_PHASE_DONE) {
        event = (uocr_event){.kind = UOCR_EVENT_DONE,
                             .phase = UOCR_PHASE_DONE,
                             .finish = run->finish,
                             .token = -1,
                             .done = run->generated,
                             .total = run->request.max_new};
    }
    event.vision_s = run->seconds[UOCR_PHASE_VISION];
    event.prefill_s = run->seconds[UOCR_PHASE_PREFILL];
    event.decode_s = run->seconds[UOCR_PHASE_DECODE];
    uocr_abi_write(out, &event, sizeof event);
    return run->failed ? status : UOCR_OK;
}
