// Seconds llama.cpp needs to encode a view: started once, then one view a line.
//
//   peer_views DECODER.gguf VISION.gguf THREADS
//
// Reads "view_1024" or "view_640" lines from standard input and answers each with a line of JSON:
// {"seconds": 27.1, "units": 1}. The tall picture below is two crops of 640 pixels and the global view of 1024;
// one line encodes one crop or the global view. Written against llama.h and mtmd.h of llama.cpp b11434.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "llama.h"
#include "mtmd.h"

namespace {

constexpr uint32_t CROP = 640;
constexpr size_t GLOBAL_TOKENS = 16 * 17 + 1; // 16 rows of 16 and a newline, and a separator
constexpr size_t CROP_TOKENS = 10 * 11;

void only_errors(ggml_log_level level, const char *text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "peer_views: %s\n", what);
    std::exit(1);
}

const mtmd_input_chunk *chunk_of(const mtmd_input_chunks *chunks, size_t tokens) {
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks); i++) {
        const mtmd_input_chunk *chunk = mtmd_input_chunks_get(chunks, i);
        if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_IMAGE &&
            mtmd_input_chunk_get_n_tokens(chunk) == tokens)
            return chunk;
    }
    return nullptr;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 4) fail("give DECODER.gguf VISION.gguf THREADS");
    llama_log_set(only_errors, nullptr);
    mtmd_log_set(only_errors, nullptr);
    llama_backend_init();

    llama_model_params model_params = llama_model_default_params();
    model_params.use_extra_bufts = false; // the decoder is not run here: its weights are not repacked
    llama_model *model = llama_model_load_from_file(arguments[1], model_params);
    if (!model) fail("the decoder cannot be loaded");
    mtmd_context_params params = mtmd_context_params_default();
    params.use_gpu = false;
    params.n_threads = std::atoi(arguments[3]);
    params.warmup = false; // the caller runs every view once before it counts
    params.print_timings = false;
    mtmd_context *context = mtmd_init_from_file(arguments[2], model, params);
    if (!context) fail("the vision part cannot be loaded");

    std::vector<unsigned char> pixels(size_t(CROP) * 2 * CROP * 3, 255);
    for (size_t y = 0; y < 2 * CROP; y += 5)
        for (size_t i = 0; i < CROP * 3; i++) pixels[y * CROP * 3 + i] = 0;
    mtmd_bitmap *picture = mtmd_bitmap_init(CROP, 2 * CROP, pixels.data());
    const std::string marker = mtmd_default_marker();
    const mtmd_input_text text = {marker.c_str(), marker.size(), false, false};
    mtmd_input_chunks *chunks = mtmd_input_chunks_init();
    if (mtmd_tokenize(context, chunks, &text, const_cast<const mtmd_bitmap **>(&picture), 1) != 0)
        fail("the picture cannot be cut into views");
    const mtmd_input_chunk *global = chunk_of(chunks, GLOBAL_TOKENS), *crop = chunk_of(chunks, CROP_TOKENS);
    if (!global || !crop) fail("the picture is cut into other views than one global view and crops of 640 pixels");

    std::printf("{\"ready\": \"%s\"}\n", llama_print_system_info());
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        if (line != "view_1024" && line != "view_640") fail("lines are view_1024 or view_640");
        const auto begun = std::chrono::steady_clock::now();
        if (mtmd_encode_chunk(context, line == "view_640" ? crop : global) != 0) fail("a view cannot be encoded");
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
        std::printf("{\"seconds\": %.6f, \"units\": 1}\n", seconds.count());
        std::fflush(stdout);
    }
    mtmd_input_chunks_free(chunks);
    mtmd_bitmap_free(picture);
    mtmd_free(context);
    llama_model_free(model);
    return 0;
}
