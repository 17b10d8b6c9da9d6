/* One generated token and one view of the full model's shapes, encoded and not run: a device that only
 * counts.
 *
 * Weights have no payload, so nothing but counts can be asked of this device: dispatches, command buffers,
 * and the bytes that the back end says it reads. The floor of the bytes is each active weight once, computed
 * here from the shapes. */
#include "check.h"

#include <stdlib.h>

#include "clip.h"
#include "decoder.h"
#include "fuse.h"
#include "sam.h"
#include "gpu/gpu.h"

enum { PROMPT = 1113, STEP = 40, RING = 128 };

struct gpu_memory {
    int nothing;
};

typedef struct counting_device {
    gpu_device base;
    size_t encoded, submitted, waited, alive;
    size_t fails_at; /* this dispatch is refused, 0: none is */
    uint32_t most_threadgroup, most_threads;
} counting_device;

static gpu_memory *create(gpu_device *d, uint32_t category, size_t bytes) {
    (void)category, (void)bytes;
    ((counting_device *)(void *)d)->alive++;
    return calloc(1, sizeof(gpu_memory));
}
static void release(gpu_device *d, gpu_memory *memory) {
    ((counting_device *)(void *)d)->alive--;
    free(memory);
}
static uocr_status move(gpu_device *d, gpu_memory *m, size_t offset, const void *source, size_t bytes) {
    (void)d, (void)m, (void)offset, (void)source, (void)bytes;
    return UOCR_OK;
}
static uocr_status fetch(gpu_device *d, gpu_memory *m, size_t offset, void *target, size_t bytes) {
    (void)d, (void)m, (void)offset;
    memset(target, 0, bytes);
    return UOCR_OK;
}
static uocr_status encode(gpu_device *d, const gpu_dispatch *dispatch) {
    counting_device *c = (counting_device *)(void *)d;
    uint32_t threadgroup = 0;
    for (size_t i = 0; i < GPU_MOST_THREADGROUP; i++) threadgroup += dispatch->threadgroup[i];
    if (++c->encoded == c->fails_at) return UOCR_BACKEND;
    if (threadgroup > c->most_threadgroup) c->most_threadgroup = threadgroup;
    if (dispatch->threads > c->most_threads) c->most_threads = dispatch->threads;
    return UOCR_OK;
}
static uocr_status submit(gpu_device *d, uint64_t *number) {
    size_t newest = ++((counting_device *)(void *)d)->submitted;
    if (number) *number = newest;
    return UOCR_OK;
}
static uocr_status fetch_after(gpu_device *d, gpu_memory *m, size_t offset, void *target, size_t bytes,
                               uint64_t number) {
    (void)number;
    return fetch(d, m, offset, target, bytes);
}
static uocr_status wait_all(gpu_device *d) { return ((counting_device *)(void *)d)->waited++, UOCR_OK; }
static const char *failure(gpu_device *d) { return (void)d, ""; }
static void destroy(gpu_device *d) { (void)d; }

/* What the engine would link against; nothing here opens a device or looks at values. */
uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    (void)base, (void)bytes, (void)out;
    return uocr_fail(error, UOCR_BACKEND, 0, 0, "no device");
}
uocr_status uocr_tap_store(uocr_tap *tap, uocr_backend *backend, const uocr_tap_value *value) {
    (void)tap, (void)backend, (void)value;
    return UOCR_BACKEND;
}

static uint64_t floor_bytes; /* of what one token must read */

static uocr_weight matrix(uocr_dtype dtype, size_t rows, size_t cols, size_t matrices, double share) {
    static const uint8_t somewhere[1];
    double bytes = dtype == UOCR_F32   ? 4
                   : dtype == UOCR_F16 ? 2
                   : dtype == UOCR_Q8  ? 1 + 2.0 / 64
                                       : 0.5 + 2.0 / 64;
    floor_bytes += (uint64_t)(share * bytes * (double)(rows * cols * matrices));
    return (uocr_weight){dtype, somewhere, dtype >= UOCR_Q8 ? somewhere : NULL, rows, cols, matrices};
}

static uocr_config full(void) {
    return (uocr_config){.vocab_size = 129280,
                         .usable_vocab = 128827,
                         .hidden = 1280,
                         .layers = 12,
                         .heads = 10,
                         .head_dim = 128,
                         .intermediate = 6848,
                         .moe_intermediate = 896,
                         .experts = 64,
                         .top_k = 6,
                         .shared_experts = 2,
                         .first_dense = 1,
                         .max_positions = 32768,
                         .ring_window = RING,
                         .routed_scale = 1,
                         .rope_theta = 10000,
                         .rms_eps = 1e-6f,
                         .sam_width = 768,
                         .sam_blocks = 12,
                         .sam_heads = 12,
                         .sam_mlp = 3072,
                         .sam_window = 14,
                         .sam_patch = 16,
                         .sam_grid = 64,
                         .sam_neck = 256,
                         .sam_net2 = 512,
                         .sam_net3 = 1024,
                         .clip_width = 1024,
                         .clip_layers = 24,
                         .clip_heads = 16,
                         .clip_mlp = 4096,
                         .clip_positions = 257,
                         .projector_in = 2048};
}

/* The q4 profile: attention q8, everything else q4, norms and router 16 bit. */
static void bind(const uocr_config *c, uocr_weights *w) {
    size_t h = c->hidden, e = c->moe_intermediate, s = (size_t)c->shared_experts * e;
    double active = (double)c->top_k / c->experts;
    w->embed = matrix(UOCR_Q4, c->vocab_size, h, 1, 1.0 / c->vocab_size);
    w->head = matrix(UOCR_Q4, c->vocab_size, h, 1, 1);
    w->final_norm.weight = matrix(UOCR_F16, 1, h, 1, 1);
    for (size_t l = 0; l < c->layers; l++) {
        uocr_decoder_layer *layer = &w->layer[l];
        layer->input_norm.weight = matrix(UOCR_F16, 1, h, 1, 1);
        layer->post_norm.weight = matrix(UOCR_F16, 1, h, 1, 1);
        layer->q = matrix(UOCR_Q8, h, h, 1, 1);
        layer->k = matrix(UOCR_Q8, h, h, 1, 1);
        layer->v = matrix(UOCR_Q8, h, h, 1, 1);
        layer->o = matrix(UOCR_Q8, h, h, 1, 1);
        layer->moe = l >= c->first_dense;
        size_t inner = layer->moe ? s : c->intermediate;
        layer->gate = matrix(UOCR_Q4, inner, h, 1, 1);
        layer->up = matrix(UOCR_Q4, inner, h, 1, 1);
        layer->down = matrix(UOCR_Q4, h, inner, 1, 1);
        if (!layer->moe) continue;
        layer->router = matrix(UOCR_F16, c->experts, h, 1, 1);
        layer->expert_gate = matrix(UOCR_Q4, e, h, c->experts, active);
        layer->expert_up = matrix(UOCR_Q4, e, h, c->experts, active);
        layer->expert_down = matrix(UOCR_Q4, h, e, c->experts, active);
    }
}

static uocr_dense dense(size_t rows, size_t cols) {
    return (uocr_dense){matrix(UOCR_Q4, rows, cols, 1, 0), matrix(UOCR_F16, 1, rows, 1, 0)};
}
static uocr_norm norm(size_t cols) {
    return (uocr_norm){matrix(UOCR_F16, 1, cols, 1, 0), matrix(UOCR_F16, 1, cols, 1, 0)};
}

static void bind_vision(const uocr_config *c, uocr_weights *w) {
    size_t sam = c->sam_width, clip = c->clip_width;
    w->patch_embed = dense(sam, 3 * c->sam_patch * c->sam_patch);
    w->sam_pos = matrix(UOCR_F16, c->sam_grid * c->sam_grid, sam, 1, 0);
    for (size_t b = 0; b < c->sam_blocks; b++)
        w->sam[b] = (uocr_sam_block){.norm1 = norm(sam),
                                     .norm2 = norm(sam),
                                     .qkv = dense(3 * sam, sam),
                                     .proj = dense(sam, sam),
                                     .lin1 = dense(c->sam_mlp, sam),
                                     .lin2 = dense(sam, c->sam_mlp),
                                     .global = b % 3 == 2};
    w->neck0 = matrix(UOCR_F16, c->sam_neck, sam, 1, 0);
    w->neck2 = matrix(UOCR_F16, c->sam_neck, 9 * c->sam_neck, 1, 0);
    w->neck1 = w->neck3 = norm(c->sam_neck);
    w->net_2 = matrix(UOCR_F16, c->sam_net2, 9 * c->sam_neck, 1, 0);
    w->net_3 = matrix(UOCR_F16, c->sam_net3, 9 * c->sam_net2, 1, 0);
    w->clip_class = matrix(UOCR_F16, 1, clip, 1, 0);
    w->clip_pos = matrix(UOCR_F16, c->clip_positions, clip, 1, 0);
    w->clip_pre = norm(clip);
    for (size_t l = 0; l < c->clip_layers; l++)
        w->clip[l] = (uocr_clip_layer){norm(clip),
                                       norm(clip),
                                       dense(3 * clip, clip),
                                       dense(clip, clip),
                                       dense(c->clip_mlp, clip),
                                       dense(clip, c->clip_mlp)};
    w->projector = dense(c->hidden, c->projector_in);
    w->newline = w->separator = matrix(UOCR_F16, 1, c->hidden, 1, 0);
}

/* One view of 1024 pixels from its bytes to its visual rows. */
static uocr_status view(const uocr_model *model) {
    enum { SIZE = 1024, SIDE = 16, ROWS = SIDE * (SIDE + 1) + 1 };
    const uocr_config *config = model->config;
    uocr_backend *backend = model->backend;
    uocr_layout layout = {.pages = 1, .global_side = SIDE};
    uocr_arena arena = {.category = UOCR_MEMORY_VISION_WORKSPACE};
    uocr_sam sam;
    uocr_clip clip;
    uocr_fuse fuse;
    uocr_sight sight;
    uocr_tensor rgb = {0}, rows = {0};
    for (int made = 0; made < 2; made++) { /* measured, then bound */
        rgb = uocr_arena_tensor(&arena, UOCR_U8, SIZE * SIZE, 3);
        rows = uocr_arena_tensor(&arena, UOCR_F32, ROWS, config->hidden);
        uocr_sam_layout_tables(model, SIZE, &arena, &sam);
        uocr_clip_layout_tables(model, SIDE, &arena, &clip);
        uocr_fuse_layout(model, SIDE, &arena, &fuse);
        uocr_sam_layout(model, &arena, &sam);
        uocr_clip_layout(model, &arena, &clip);
        if (!made) UOCR_TRY(uocr_arena_create(&arena, backend));
    }
    UOCR_TRY(uocr_fuse_marks(model, &layout, rows));
    for (size_t p = 0; p < uocr_sam_pieces(config); p++)
        UOCR_TRY(uocr_sam_piece(model, &sam, p, 0, rgb, fuse.features));
    for (size_t p = 0; p < uocr_clip_pieces(config); p++)
        UOCR_TRY(uocr_clip_piece(model, &clip, p, 0, fuse.features));
    UOCR_TRY(uocr_fuse_view(model, &fuse, &layout, 0, clip.x, rows, &sight));
    UOCR_TRY(backend->finish(backend));
    uocr_arena_destroy(&arena, backend);
    return UOCR_OK;
}

/* One token through every layer to its choice. */
static uocr_status token(const uocr_model *model, const uocr_decoder *decoder, const uocr_span *span) {
    uocr_backend *backend = model->backend;
    uocr_tensor none = {0};
    uocr_choice choice;
    int32_t newest = 7;
    UOCR_TRY(uocr_decoder_embed(model, decoder, &newest, 0, 1, 1, none));
    for (size_t l = 0; l < model->config->layers; l++) UOCR_TRY(uocr_decoder_pass(model, decoder, l, span));
    UOCR_TRY(uocr_decoder_norm(model, decoder, 0, 1));
    UOCR_TRY(uocr_decoder_head(model, decoder, 0, decoder->logits));
    UOCR_TRY(backend->choose(backend, decoder->logits, model->config->usable_vocab, NULL, 0, -1, &choice));
    return backend->finish(backend);
}

/* The same, fed back and chosen by the device, behind the repeat guard. */
static uocr_status token_ahead(const uocr_model *model, const uocr_decoder *decoder, const uocr_span *span,
                               uocr_ahead *ahead) {
    const uocr_ahead_operators *operators = model->backend->ahead;
    UOCR_TRY(operators->embed(ahead, &model->weights->embed, uocr_tensor_rows(decoder->x, 0, 1)));
    for (size_t l = 0; l < model->config->layers; l++) UOCR_TRY(uocr_decoder_pass(model, decoder, l, span));
    UOCR_TRY(uocr_decoder_norm(model, decoder, 0, 1));
    UOCR_TRY(uocr_decoder_head(model, decoder, 0, decoder->logits));
    return operators->choose(ahead, decoder->logits);
}

int main(void) {
    static uocr_weights weights;
    static uocr_profile profile;
    uocr_config config = full();
    uocr_memory memory = {.budget = (uint64_t)64 << 30};
    uocr_error error = {.size = sizeof error};
    counting_device device = {.base = {.name = "counting",
                                       .destroy = destroy,
                                       .create = create,
                                       .release = release,
                                       .write = move,
                                       .read = fetch,
                                       .encode = encode,
                                       .submit = submit,
                                       .wait = wait_all,
                                       .read_after = fetch_after,
                                       .failure = failure}};
    uocr_backend *backend;
    bind(&config, &weights);
    CHECK_EQUAL(uocr_backend_gpu_create(&config, &device.base, UOCR_PRECISION_FAST, &memory, &profile,
                                        &backend, &error),
                UOCR_OK);
    uocr_model model = {backend, &config, &weights, NULL};
    uocr_decoder decoder;
    CHECK_EQUAL(uocr_decoder_create(&model, PROMPT, RING, &decoder), UOCR_OK);
    uocr_span span = uocr_decoder_step_span(&decoder, STEP);
    gpu_counts before = uocr_backend_gpu_counts(backend);
    CHECK_EQUAL(token(&model, &decoder, &span), UOCR_OK);
    gpu_counts counts = uocr_backend_gpu_counts(backend);
    uint64_t dispatches = counts.dispatches - before.dispatches, read = counts.read - before.read;
    uint64_t cache = (uint64_t)config.layers * config.heads * span.used * config.head_dim * (2 + 4);
    CHECK(dispatches <= 90);
    CHECK_EQUAL(dispatches, 87);
    CHECK_EQUAL(device.encoded, dispatches);
    CHECK_EQUAL(counts.encoders - before.encoders, 2);
    CHECK((double)read - (double)cache < 1.01 * (double)floor_bytes);
    CHECK((double)read - (double)cache > 0.99 * (double)floor_bytes);
    CHECK(device.most_threadgroup <= 32768 && device.most_threads <= 1024);
    printf("a token: %llu dispatches, %llu command buffers, %.1f MB of weights and small change read (floor "
           "%.1f), "
           "%.1f MB of cache\n",
           (unsigned long long)dispatches, (unsigned long long)(counts.encoders - before.encoders),
           (double)(read - cache) / 1e6, (double)floor_bytes / 1e6, (double)cache / 1e6);

    static const int32_t prompt[] = {0, 1, 2};
    uocr_ahead_rules rules = {.usable = config.usable_vocab, .guard_size = 35, .guard_cycle = 35, .guard_window = 1024, .never = -1};
    CHECK(backend->ahead->takes(&rules));
    uocr_ahead *ahead;
    CHECK_EQUAL(backend->ahead->create(backend, &rules, prompt, 3, &ahead), UOCR_OK);
    CHECK_EQUAL(backend->ahead->choose(ahead, decoder.logits), UOCR_OK);
    size_t submitted = device.submitted;
    before = uocr_backend_gpu_counts(backend);
    CHECK_EQUAL(token_ahead(&model, &decoder, &span, ahead), UOCR_OK);
    counts = uocr_backend_gpu_counts(backend);
    CHECK_EQUAL(counts.dispatches - before.dispatches, 89); /* bans and history besides */
    CHECK_EQUAL(counts.encoders - before.encoders, 2);
    CHECK_EQUAL(device.submitted - submitted, 2);
    printf("a token ahead: %llu dispatches, %llu command buffers\n",
           (unsigned long long)(counts.dispatches - before.dispatches),
           (unsigned long long)(counts.encoders - before.encoders));
    backend->ahead->destroy(ahead);

    bind_vision(&config, &weights);
    before = uocr_backend_gpu_counts(backend);
    CHECK_EQUAL(view(&model), UOCR_OK);
    counts = uocr_backend_gpu_counts(backend);
    CHECK_EQUAL(counts.dispatches - before.dispatches, 346);
    CHECK(device.most_threadgroup <= 32768);
    printf("a view: %llu dispatches, %llu command buffers, %.1f GB read, %.1f GB written\n",
           (unsigned long long)(counts.dispatches - before.dispatches),
           (unsigned long long)(counts.encoders - before.encoders), (double)(counts.read - before.read) / 1e9,
           (double)(counts.written - before.written) / 1e9);

    /* A device that refuses any one dispatch: the token fails, and the next one does not. */
    for (size_t i = 1; i <= dispatches; i++) {
        device.encoded = 0;
        device.fails_at = i;
        CHECK_EQUAL(token(&model, &decoder, &span), UOCR_BACKEND);
        device.fails_at = 0;
        backend->finish(backend);
        CHECK_EQUAL(token(&model, &decoder, &span), UOCR_OK);
    }
    uocr_decoder_destroy(&model, &decoder);
    backend->destroy(backend);
    CHECK_EQUAL(device.alive, 0);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++) CHECK_EQUAL(memory.current[c], 0);

    /* Shapes that the kernels do not take, and no device at all. */
    config.experts = 300;
    CHECK_EQUAL(uocr_backend_gpu_create(&config, &device.base, UOCR_PRECISION_FAST, &memory, &profile,
                                        &backend, &error),
                UOCR_BACKEND);
    CHECK_CONTAINS(error.message,
                   "the number of experts may be at most 256 and a multiple of 1; this model's is 300");
    return check_result();
}
