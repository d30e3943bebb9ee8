// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, makes one of its allocations fail, or that one and
// all after it: malloc and its family, and so operator new. Says how many there
// were.
//   DLC_FAIL_AT=N       the N-th allocation of the process fails, from 1
//   DLC_FAIL_LASTING=1  and every one after it
//   DLC_FAIL_RANK=R     only where RANK is R
//   DLC_FAIL_WITHIN=F   counts only those of function F and of what it calls
//   DLC_FAIL_SAID=FILE  where a process adds a line "process allocations
//                       failed" at its end, and where one fails, its callers
// Uses nothing that allocates.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

std::atomic<long> allocations = 0;
std::atomic<bool> failed = false;
thread_local bool speaking = false; // backtrace() may allocate

// What the environment asks for; read when there is one.
struct Order {
  long at = 0;
  bool lasting = false;
  bool within = false;
};

// Where a function's code lies; nowhere until it is found.
struct Function {
  uintptr_t begin = 0;
  size_t size = 0;
};
constinit Function within;

Order readOrder() {
  Order order;
  const char *rank = std::getenv("DLC_FAIL_RANK");
  const char *own = std::getenv("RANK");
  if (rank && std::strcmp(rank, own ? own : "") != 0)
    return order;
  if (const char *at = std::getenv("DLC_FAIL_AT"))
    order.at = std::strtol(at, nullptr, 10);
  order.lasting = std::getenv("DLC_FAIL_LASTING") != nullptr;
  order.within = std::getenv("DLC_FAIL_WITHIN") != nullptr;
  return order;
}

int openReport() {
  const char *path = std::getenv("DLC_FAIL_SAID");
  return path ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
              : -1;
}

void sayCallers() {
  speaking = true;
  if (std::getenv("DLC_FAIL_CALLERS")) {
    const int file = openReport();
    void *frames[64];
    const int count = ::backtrace(frames, 64);
    ::backtrace_symbols_fd(frames, count, file);
    ::close(file);
  }
  speaking = false;
}

bool calledWithin(const Function &function) {
  if (function.size == 0)
    return false;
  void *frames[24];
  speaking = true;
  const int count = ::backtrace(frames, 24);
  speaking = false;
  for (int i = 0; i < count; ++i)
    if (reinterpret_cast<uintptr_t>(frames[i]) - function.begin < function.size)
      return true;
  return false;
}

bool fails() {
  if (!environ || speaking)
    return false;
  static const Order order = readOrder();
  if (order.within && !calledWithin(within))
    return false;
  const long number = ++allocations;
  if (order.at == 0 || number < order.at ||
      (number > order.at && !order.lasting))
    return false;
  if (!failed.exchange(true))
    sayCallers();
  errno = ENOMEM;
  return true;
}

__attribute__((constructor)) void findFunction() {
  const char *name = std::getenv("DLC_FAIL_WITHIN");
  if (!name)
    return;
  Dl_info place;
  ElfW(Sym) *symbol = nullptr;
  speaking = true;
  void *const found = ::dlsym(RTLD_DEFAULT, name);
  if (!found ||
      !::dladdr1(found, &place, reinterpret_cast<void **>(&symbol),
                 RTLD_DL_SYMENT) ||
      !symbol)
    std::abort();
  speaking = false;
  within = {reinterpret_cast<uintptr_t>(found), symbol->st_size};
}

__attribute__((destructor)) void report() {
  const int file = openReport();
  if (file < 0)
    return;
  const char *rank = std::getenv("RANK");
  char text[96];
  const int size =
      std::snprintf(text, sizeof text, "%s %ld %d\n", rank ? rank : "-",
                    allocations.load(), failed.load() ? 1 : 0);
  [[maybe_unused]] ssize_t written =
      ::write(file, text, static_cast<size_t>(size));
  ::close(file);
}

} // namespace

extern "C" {
void *malloc(size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) {
  return fails() ? nullptr : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  return fails() ? nullptr : __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **to, size_t alignment, size_t bytes) {
  if (fails())
    return ENOMEM;
  *to = __libc_memalign(alignment, bytes);
  return *to ? 0 : ENOMEM;
}
}
