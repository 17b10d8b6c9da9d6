// The library's side of library.h: kernels by name, function constants, threadgroups over host threads.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "machine.h"

namespace msl {
namespace {

struct kernel {
    entry_fn entry;
    std::string file;
    std::vector<short> codes;
    std::vector<unsigned> sizes;
};
struct constant_value {
    std::string file, name;
    unsigned index, *value;
};
std::map<std::string, kernel> &kernels() {
    static std::map<std::string, kernel> all;
    return all;
}
std::vector<constant_value> &constants() {
    static std::vector<constant_value> all;
    return all;
}

// Host threads that take threadgroups of one launch; the caller is the first of them.
class crew {
  public:
    ~crew() {
        {
            std::lock_guard<std::mutex> hold(lock);
            leaving = true;
        }
        begin.notify_all();
        for (auto &t : threads) t.join();
    }
    std::string run(const msl_request &r, entry_fn e, unsigned total, unsigned workers, size_t *peak) {
        request = &r, entry = e, groups = total, next = 0, error.clear();
        while (machines.size() < workers) machines.push_back(std::make_unique<machine>());
        for (auto &m : machines) m->peak = 0;
        if (workers > 1) {
            std::lock_guard<std::mutex> hold(lock);
            while (threads.size() + 1 < workers) {
                size_t number = threads.size() + 1;
                threads.emplace_back([this, number, seen = generation] { follow(number, seen); });
            }
            helpers = workers - 1;
            busy = helpers;
            generation++;
        }
        if (workers > 1) begin.notify_all();
        work(0);
        if (workers > 1) {
            std::unique_lock<std::mutex> hold(lock);
            done.wait(hold, [this] { return busy == 0; });
        }
        for (auto &m : machines) *peak = m->peak > *peak ? m->peak : *peak;
        return error;
    }

  private:
    void work(size_t number) {
        machine &m = *machines[number];
        use_machine(&m);
        for (unsigned g; (g = next.fetch_add(1)) < groups;)
            if (!m.run(*request, entry, g, request->order)) {
                std::lock_guard<std::mutex> hold(lock);
                if (error.empty()) error = m.error;
                next = groups;
            }
        use_machine(nullptr);
    }
    void follow(size_t number, uint64_t seen) {
        for (;;) {
            std::unique_lock<std::mutex> hold(lock);
            begin.wait(hold, [&] { return leaving || generation != seen; });
            if (leaving) return;
            seen = generation;
            if (number > helpers) continue;
            hold.unlock();
            work(number);
            hold.lock();
            if (--busy == 0) done.notify_all();
        }
    }
    std::mutex lock;
    std::condition_variable begin, done;
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<machine>> machines;
    const msl_request *request = nullptr;
    entry_fn entry = nullptr;
    unsigned groups = 0;
    std::atomic<unsigned> next{0};
    size_t helpers = 0, busy = 0;
    uint64_t generation = 0;
    bool leaving = false;
    std::string error;
};

std::string wrong(const msl_request &r, const kernel &k) {
    char text[200];
    uint64_t lanes = (uint64_t)r.threads[0] * r.threads[1] * r.threads[2];
    if (lanes == 0 || lanes > MSL_LANES || lanes % 32 != 0) {
        snprintf(text, sizeof text, "%llu threads a threadgroup; a multiple of 32 up to %d",
                 (unsigned long long)lanes, MSL_LANES);
        return text;
    }
    if (!r.groups[0] || !r.groups[1] || !r.groups[2]) return "an empty grid";
    for (size_t i = 0; i < k.codes.size(); i++) {
        int code = k.codes[i];
        if (code >= 200) continue;
        if (code >= 100 ? !r.threadgroup[code - 100] : !r.buffer[code].pointer) {
            snprintf(text, sizeof text, "%s(%d) is not bound", code >= 100 ? "threadgroup" : "buffer",
                     code % 100);
            return text;
        }
        if (code < 100 && k.sizes[i] > r.buffer[code].bytes) {
            snprintf(text, sizeof text, "buffer(%d) is %zu bytes, its struct %u", code, r.buffer[code].bytes,
                     k.sizes[i]);
            return text;
        }
    }
    return "";
}

std::string set_constants(const msl_request &r, const kernel &k) {
    for (auto &c : constants()) {
        if (c.file != k.file) continue;
        if (c.index >= r.constant_count) return "function constant " + c.name + " is not set";
        *c.value = r.constants[c.index];
    }
    return "";
}

} // namespace
} // namespace msl

extern "C" void msl_register_kernel(const char *name, const char *file, msl::entry_fn entry,
                                    const short *codes, const unsigned *sizes, unsigned count) {
    msl::kernels()[name] = {entry, file, {codes, codes + count}, {sizes, sizes + count}};
}
extern "C" void msl_register_constant(const char *file, unsigned index, const char *name, unsigned *value) {
    msl::constants().push_back({file, name, index, value});
}
extern "C" int msl_has_kernel(const char *name) { return msl::kernels().count(name) != 0; }

extern "C" const char *msl_launch(const msl_request *request, msl_counts *counts) {
    static msl::crew crew;
    static std::string answer;
    *counts = {};
    auto found = msl::kernels().find(request->kernel);
    if (found == msl::kernels().end()) return (answer = std::string("no kernel ") + request->kernel).c_str();
    std::string error = msl::wrong(*request, found->second);
    if (error.empty()) error = msl::set_constants(*request, found->second);
    if (error.empty()) {
        uint64_t groups = (uint64_t)request->groups[0] * request->groups[1] * request->groups[2];
        unsigned workers = msl_checks() || !request->workers ? 1 : request->workers;
        std::string reports;
        if (workers > groups) workers = (unsigned)groups;
        msl::check_begin(*request);
        error =
            crew.run(*request, found->second.entry, (unsigned)groups, workers, &counts->threadgroup_bytes);
        msl::check_end(counts, &reports);
        if (!reports.empty()) error = error.empty() ? reports : reports + "; " + error;
    }
    return error.empty() ? nullptr : (answer = std::string(request->kernel) + ": " + error).c_str();
}
