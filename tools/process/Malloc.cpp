// Libraries that write to what malloc() and its like return without a look:
// MLIR (nodes of the program), oneDNN (code that it generates). Where nothing
// can be returned the process ends with a message instead of a crash. These
// hide the C library's functions, or those of a library that was preloaded.
#include "tools/process/Process.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <atomic>
#include <cerrno>
#include <dlfcn.h>

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
}

namespace {

// The function that ours hides; `plain` while it is looked for.
template <class F>
F *hidden(std::atomic<F *> &known, const char *name, F *plain) {
  if (F *const found = known)
    return found;
  known = plain;
  if (void *const found = ::dlsym(RTLD_NEXT, name))
    known = reinterpret_cast<F *>(found);
  return known;
}

[[noreturn]] void end(size_t bytes) {
  char text[64] = "";
  fmt::format_to_n(text, sizeof text - 1,
                   "out of memory: {} bytes were asked for", bytes);
  dlc::process::endNow(dlc::Code::Limit, text);
}

int plainMemalign(void **to, size_t alignment, size_t bytes) {
  *to = __libc_memalign(alignment, bytes);
  return *to ? 0 : ENOMEM;
}

} // namespace

extern "C" void *malloc(size_t bytes) {
  static std::atomic<void *(*)(size_t)> known;
  void *const memory = hidden(known, "malloc", __libc_malloc)(bytes);
  if (!memory && bytes > 0 && dlc::process::endsOnFailedAllocation())
    end(bytes);
  return memory;
}

extern "C" void *realloc(void *old, size_t bytes) {
  static std::atomic<void *(*)(void *, size_t)> known;
  void *const memory = hidden(known, "realloc", __libc_realloc)(old, bytes);
  if (!memory && bytes > 0 && dlc::process::endsOnFailedAllocation())
    end(bytes);
  return memory;
}

extern "C" int posix_memalign(void **to, size_t alignment, size_t bytes) {
  static std::atomic<int (*)(void **, size_t, size_t)> known;
  const int error =
      hidden(known, "posix_memalign", plainMemalign)(to, alignment, bytes);
  if (error == ENOMEM)
    end(bytes);
  return error;
}

#endif
