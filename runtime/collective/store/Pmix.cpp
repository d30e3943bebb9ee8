// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Pmix.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/SharedLibrary.h"

#include <future>
#include <thread>

namespace dlc {
namespace {

// Types and constants of the PMIx standard.
struct Process {
  char space[256];
  uint32_t rank;
};
struct Value {
  uint16_t type;
  union {
    const char *text;
    uint64_t room[8]; // at least as large as in any version
  };
};
constexpr uint16_t kText = 3;
constexpr uint8_t kGlobal = 3;
constexpr size_t kLongestKey = 512; // calls copy this many bytes

struct Calls {
  int (*init)(Process *self, const void *info, size_t count);
  int (*put)(uint8_t scope, const char *key, Value *value);
  int (*commit)();
  int (*fence)(const Process *ranks, size_t, const void *info, size_t count);
  int (*get)(const Process *of, const char *key, const void *info, size_t count,
             Value **value);
  int (*finalize)(const void *info, size_t count);
};

Result<Calls> openCalls() {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libpmix.so.2"},
                                 "by which ranks on several hosts can meet"));
  Calls calls{};
  const auto bind = [&](auto &function, const char *name) {
    return library.bind(function, name, "unknown", "3");
  };
  DLC_TRY(bind(calls.init, "PMIx_Init"));
  DLC_TRY(bind(calls.put, "PMIx_Put"));
  DLC_TRY(bind(calls.commit, "PMIx_Commit"));
  DLC_TRY(bind(calls.fence, "PMIx_Fence"));
  DLC_TRY(bind(calls.get, "PMIx_Get"));
  DLC_TRY(bind(calls.finalize, "PMIx_Finalize"));
  return calls;
}

Status check(int code, const char *call) {
  return code == 0 ? Status() : peerLost("{} gives error {}", call, code);
}

Result<std::string> share(int rank, const std::string &text) {
  DLC_ASSIGN(const Calls calls, openCalls());
  char key[kLongestKey] = "dlc";
  Process process{};
  DLC_TRY(check(calls.init(&process, nullptr, 0), "PMIx_Init"));
  if (rank == 0) {
    Value value{kText, {text.c_str()}};
    DLC_TRY(check(calls.put(kGlobal, key, &value), "PMIx_Put"));
    DLC_TRY(check(calls.commit(), "PMIx_Commit"));
  }
  DLC_TRY(check(calls.fence(nullptr, 0, nullptr, 0), "PMIx_Fence"));
  process.rank = 0;
  Value *found = nullptr;
  DLC_TRY(check(calls.get(&process, key, nullptr, 0, &found), "PMIx_Get"));
  if (!found || found->type != kText || !found->text)
    return peerLost("PMIx_Get gives no text");
  const std::string shared = found->text;
  // After this the launcher does not treat an exit without a call as failure.
  DLC_TRY(check(calls.finalize(nullptr, 0), "PMIx_Finalize"));
  return shared;
}

} // namespace

Status findPmix() { return openCalls().status(); }

// The calls have no deadline: a thread that still waits ends with the process.
Result<std::string> shareByPmix(int rank, const std::string &text,
                                Socket::Clock::time_point deadline) {
  std::packaged_task<Result<std::string>()> task(
      [=] { return guarded("PMIx", [&] { return share(rank, text); }); });
  auto shared = task.get_future();
  std::thread(std::move(task)).detach();
  if (shared.wait_until(deadline) == std::future_status::ready)
    return shared.get();
  return peerLost("not all ranks have come to PMIx_Fence");
}

} // namespace dlc
