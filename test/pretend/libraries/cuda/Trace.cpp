// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cuda/Trace.h"
#include "test/pretend/libraries/Standin.h"
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>

namespace dlc::standin {
namespace {

struct State {
  std::map<std::string, int> calls;
  std::map<std::pair<char, const void *>, int> names;
  std::map<char, int> named;
  std::string trace, lastViolation, lastTrace;
  int violations = 0;
  CUresult sticky = CUDA_SUCCESS;
};

State &state() {
  static State *state = new State; // outlives all threads
  return *state;
}

// The error that DLC_STANDIN_FAIL has for call `number` of `name`.
CUresult injected(const std::string &name, int number) {
  const char *list = std::getenv("DLC_STANDIN_FAIL");
  const std::string wanted = fmt::format("{}:{}=", name, number);
  const char *found = list ? std::strstr(list, wanted.c_str()) : nullptr;
  if (!found || (found != list && found[-1] != ','))
    return CUDA_SUCCESS;
  return static_cast<CUresult>(std::atoi(found + wanted.size()));
}

} // namespace

std::recursive_mutex &world() {
  static auto *mutex = new std::recursive_mutex;
  return *mutex;
}

Call::Call(const std::string &name, const std::string &arguments)
    : lock_(world()) {
  error_ = injected(name, ++state().calls[name]);
  if (error_ == CUDA_SUCCESS)
    error_ = state().sticky;
  traceLine(fmt::format(
      "{}{}{}{}{}", capturing() ? "  " : "", name, arguments.empty() ? "" : " ",
      arguments,
      error_ == CUDA_SUCCESS ? "" : fmt::format(" -> error {}", int(error_))));
}

CUresult injectedInto(const std::string &work) {
  std::lock_guard lock(world());
  const std::string name = "work:" + work;
  return injected(name, ++state().calls[name]);
}

void traceLine(const std::string &line) {
  const char *variable = std::getenv("DLC_STANDIN_TRACE");
  if (!variable)
    return;
  std::lock_guard lock(world());
  state().trace += line + "\n";
  std::string path = variable;
  if (const size_t at = path.find("%p"); at != path.npos)
    path.replace(at, 2, std::to_string(::getpid()));
  if (!path.empty() && path != "memory")
    if (FILE *file = std::fopen(path.c_str(), "a")) {
      std::fputs((line + "\n").c_str(), file);
      std::fclose(file);
    }
}

CUresult violation(CUresult error, const std::string &what) {
  std::lock_guard lock(world());
  ++state().violations;
  state().lastViolation = what;
  std::fprintf(stderr, "stand-in driver: %s\n", what.c_str());
  traceLine("VIOLATION " + what);
  return error;
}

void setSticky(CUresult error) {
  std::lock_guard lock(world());
  if (state().sticky == CUDA_SUCCESS)
    state().sticky = error;
}

CUresult stickyError() {
  std::lock_guard lock(world());
  return state().sticky;
}

std::string nameOf(char letter, const void *handle) {
  if (!handle)
    return fmt::format("{}0", letter);
  std::lock_guard lock(world());
  int &number = state().names[{letter, handle}];
  if (number == 0)
    number = ++state().named[letter];
  return fmt::format("{}{}", letter, number);
}

bool recordOnly() {
  static const bool only = environment("DLC_STANDIN_RECORD_ONLY", 0) != 0;
  return only;
}

int environment(const char *name, int absent) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : absent;
}

bool listed(const char *variable, const std::string &name) {
  const char *list = std::getenv(variable);
  return list && fmt::format(",{},", list).find(fmt::format(",{},", name)) !=
                     std::string::npos;
}

namespace {

void note(const char *line) { traceLine(line); }
void complain(const char *what) { (void)violation(CUDA_ERROR_UNKNOWN, what); }
int countViolations() { return state().violations; }
const char *lastViolation() { return state().lastViolation.c_str(); }

const char *trace() {
  std::lock_guard lock(world());
  state().lastTrace = state().trace;
  return state().lastTrace.c_str();
}

void clearTrace() {
  std::lock_guard lock(world());
  state().trace.clear();
}

} // namespace
} // namespace dlc::standin

using namespace dlc::standin;

extern "C" const Interface dlcStandin;
const Interface dlcStandin = {
    enqueueWork, registerKernel, countViolations, lastViolation, trace,
    clearTrace,  note,           complain,        currentDevice, isCaptured,
    shareOrder,  adoptOrder,     wantAll,         driverVersion};
