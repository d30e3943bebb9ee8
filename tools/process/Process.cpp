// SPDX-License-Identifier: Apache-2.0
#include "tools/process/Process.h"

#include "runtime/base/files/Leftovers.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/FatalAllocations.h"
#include "runtime/base/process/Log.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <unistd.h>

namespace dlc::process {
namespace {

std::atomic<bool> endsOnFailure = false;
std::atomic<pid_t> ending = 0;      // the thread that ends the process
std::atomic<bool> said = false;     // whether the reason was printed
thread_local size_t lastFailed = 0; // the size that could not be allocated

// Exceptions without a handler: in a foreign thread, a destructor, before main.
[[noreturn]] void onTerminate() {
  if (!std::current_exception()) {
    if (lastFailed == 0)
      endNow(Code::Failed, "the program cannot go on");
    endWithoutMemory(lastFailed);
  }
  const Status status = caughtException("the program cannot go on");
  // Gloo's thread catches nothing, such as a connection that was reset.
  if (status.message().find("gloo/transport/") != std::string::npos)
    endNow(Code::PeerLost,
           "a connection between ranks failed; " + status.message());
  endNow(status.code(), status.message());
}

} // namespace

void endNow(Code code, std::string_view message) noexcept {
  pid_t other = 0;
  if (!ending.compare_exchange_strong(other, ::gettid())) {
    if (other == ::gettid()) { // out of memory even for the message
      constexpr std::string_view kShort = "error: out of memory\n";
      if (!said)
        (void)!::write(STDERR_FILENO, kShort.data(), kShort.size());
      ::_exit(int(code));
    }
    for (;;) // the first thread prints the reason
      ::pause();
  }
  endsOnFailure = false;
  logError(message);
  said = true;
  removeLeftovers();
  ::_exit(int(code));
}

void endWithoutMemory(size_t bytes) noexcept {
  char text[64] = "";
  fmt::format_to_n(text, sizeof text - 1,
                   "out of memory: {} bytes were asked for", bytes);
  endNow(Code::Limit, text);
}

void endOnFailedAllocation() { endsOnFailure = true; }
bool endsOnFailedAllocation() {
  return endsOnFailure || FatalAllocations::here();
}

int runMain(const char *program, const std::function<int()> &body) {
  std::set_terminate(onTerminate);
  std::signal(SIGCHLD, SIG_DFL); // ignored, a child's end would be unknown
  Status status;
  try {
    return body();
  } catch (...) {
    status = caughtException(program);
  }
  logError(status.message());
  return int(status.code());
}

} // namespace dlc::process

// Sanitizers define operator new, and require that nothing runs before them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace dlc::process {
namespace {

// Runs before constructors of libraries, which allocate, too.
void prepare(int, char **, char **) { std::set_terminate(onTerminate); }
__attribute__((section(".preinit_array"),
               used)) void (*const first)(int, char **, char **) = prepare;

void *checked(void *memory, size_t bytes) {
  if (memory)
    return memory;
  lastFailed = bytes;
  if (!endsOnFailedAllocation())
    throw OutOfMemory(bytes);
  endWithoutMemory(bytes);
}

void *allocate(size_t bytes) { return std::malloc(bytes ? bytes : 1); }

// aligned_alloc requires multiples of the alignment.
void *allocate(size_t bytes, std::align_val_t alignment) {
  const size_t unit = size_t(alignment);
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  return rounded < bytes ? nullptr
                         : std::aligned_alloc(unit, rounded ? rounded : unit);
}

} // namespace
} // namespace dlc::process

using dlc::process::allocate, dlc::process::checked;

// The other forms of the C++ library call these.
void *operator new(size_t bytes) { return checked(allocate(bytes), bytes); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return checked(allocate(bytes, alignment), bytes);
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void *operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t &) noexcept {
  return allocate(bytes, alignment);
}
void *operator new[](size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t &) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}

#endif
