// SPDX-License-Identifier: Apache-2.0
// Every call of the driver: recorded, made to fail where the environment says
// so, and complained about where it is wrong.
#pragma once

#include <cuda.h>

#include <fmt/format.h>

#include <mutex>
#include <string>

namespace dlc::standin {

// Guards all state of the stand-in. Recursive: calls call calls.
std::recursive_mutex &world();

// One call: the constructor takes the lock of the world, writes the trace line
// and counts calls of this name. Faults: DLC_STANDIN_FAIL is a list like
// "cuMemAlloc:3=2,cuLaunchKernel:5=700": the third cuMemAlloc returns 2.
class Call {
public:
  template <class... Args>
  Call(const char *name, fmt::format_string<Args...> format, Args &&...args)
      : Call(std::string(name),
             fmt::format(format, std::forward<Args>(args)...)) {}

  // CUDA_SUCCESS, or what was injected, or the sticky error of the context.
  CUresult error() const { return error_; }
  std::unique_lock<std::recursive_mutex> &lock() { return lock_; }

private:
  Call(const std::string &name, const std::string &arguments);

  std::unique_lock<std::recursive_mutex> lock_;
  CUresult error_ = CUDA_SUCCESS;
};

// The call is wrong: counted, printed and traced. Returns `error`.
CUresult violation(CUresult error, const std::string &what);

// The same for work that runs: "work:add:2=700".
CUresult injectedInto(const std::string &work);

// An error of work that ran: every later call returns it.
void setSticky(CUresult error);
CUresult stickyError();

void traceLine(const std::string &line);

// "s2" for the second stream that was asked about, and so on by letter.
std::string nameOf(char letter, const void *handle);

int environment(const char *name, int absent);
// DLC_STANDIN_RECORD_ONLY=1: kernels and libraries are recorded and checked,
// but do not compute; memory starts as zeros. Copies copy.
bool recordOnly();
bool listed(const char *variable, const std::string &name);

} // namespace dlc::standin
