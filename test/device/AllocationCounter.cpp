// SPDX-License-Identifier: Apache-2.0
#include "AllocationCounter.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <dnnl.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

[[maybe_unused]] std::atomic<bool> counting = false;
std::atomic<long> ours = 0;
std::atomic<size_t> largestOfLibrary = 0;
const void *library = nullptr; // where oneDNN is loaded

const void *libraryOf(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

[[maybe_unused]] void note(const void *caller, size_t bytes) {
  if (!counting)
    return;
  if (libraryOf(caller) != library) {
    ++ours;
    return;
  }
  size_t largest = largestOfLibrary;
  while (bytes > largest &&
         !largestOfLibrary.compare_exchange_weak(largest, bytes)) {
  }
}

} // namespace

// Sanitizers have an allocator of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DLC_CALLER __builtin_return_address(0)

extern "C" void *malloc(size_t bytes) {
  note(DLC_CALLER, bytes);
  return __libc_malloc(bytes);
}
extern "C" void *calloc(size_t count, size_t bytes) {
  note(DLC_CALLER, count * bytes);
  return __libc_calloc(count, bytes);
}
extern "C" void *realloc(void *old, size_t bytes) {
  note(DLC_CALLER, bytes);
  return __libc_realloc(old, bytes);
}
extern "C" void *aligned_alloc(size_t alignment, size_t bytes) {
  note(DLC_CALLER, bytes);
  return __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void **to, size_t alignment, size_t bytes) {
  note(DLC_CALLER, bytes);
  *to = __libc_memalign(alignment, bytes);
  return *to ? 0 : ENOMEM;
}
// So that the caller of new, and not libstdc++, is the caller.
void *operator new(size_t bytes) {
  note(DLC_CALLER, bytes);
  if (void *memory = __libc_malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t bytes) {
  note(DLC_CALLER, bytes);
  if (void *memory = __libc_malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

#endif

namespace dlc::test {

AllocationCounter::AllocationCounter() {
  library = libraryOf(dlsym(RTLD_DEFAULT, "dnnl_primitive_execute"));
  ::ours = 0;
  ::largestOfLibrary = 0;
  counting = true;
}
AllocationCounter::~AllocationCounter() { counting = false; }
bool AllocationCounter::available() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}
long AllocationCounter::ours() const { return ::ours; }
size_t AllocationCounter::largestOfLibrary() const {
  return ::largestOfLibrary;
}

} // namespace dlc::test
