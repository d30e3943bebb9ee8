// SPDX-License-Identifier: Apache-2.0
// MLIR (nodes of the program) and oneDNN (generated code) use results of
// malloc() etc. unchecked. These functions replace those of the C library, or
// of a preloaded library: a failed allocation ends the process with a message
// instead of a crash.
#include "tools/process/Process.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <cerrno>
#include <dlfcn.h>

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
}

namespace {

int plainMemalign(void **to, size_t alignment, size_t bytes) {
  *to = __libc_memalign(alignment, bytes);
  return *to ? 0 : ENOMEM;
}

// The replaced functions; the C library's own during lookup.
struct Hidden {
  void *(*malloc)(size_t) = __libc_malloc;
  void *(*realloc)(void *, size_t) = __libc_realloc;
  int (*memalign)(void **, size_t, size_t) = plainMemalign;
};

template <class F> void find(F *&function, const char *name) {
  if (void *const found = ::dlsym(RTLD_NEXT, name))
    function = reinterpret_cast<F *>(found);
}

const Hidden &hidden() {
  static constinit Hidden found;
  static constinit bool sought = false;
  if (!sought) {
    sought = true;
    find(found.malloc, "malloc");
    find(found.realloc, "realloc");
    find(found.memalign, "posix_memalign");
  }
  return found;
}

// Runs before any thread and any dlerror(), which allocates: dlsym() within it
// frees the error that is being returned.
void prepare(int, char **, char **) { hidden(); }
__attribute__((section(".preinit_array"),
               used)) void (*const first)(int, char **, char **) = prepare;

} // namespace

extern "C" void *malloc(size_t bytes) {
  void *const memory = hidden().malloc(bytes);
  if (!memory && bytes > 0 && dlc::process::endsOnFailedAllocation())
    dlc::process::endWithoutMemory(bytes);
  return memory;
}

extern "C" void *realloc(void *old, size_t bytes) {
  void *const memory = hidden().realloc(old, bytes);
  if (!memory && bytes > 0 && dlc::process::endsOnFailedAllocation())
    dlc::process::endWithoutMemory(bytes);
  return memory;
}

extern "C" int posix_memalign(void **to, size_t alignment, size_t bytes) {
  const int error = hidden().memalign(to, alignment, bytes);
  if (error == ENOMEM)
    dlc::process::endWithoutMemory(bytes);
  return error;
}

#endif
