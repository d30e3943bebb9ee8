// SPDX-License-Identifier: Apache-2.0
// NCCL's interface: what runtime/collective/nccl/Nccl.h calls, and no more. A
// collective, or a group of them, is work on a stream of the stand-in driver
// and really moves and adds.
//
// Communicators are non-blocking: a call returns "in progress", and what it
// begins is done by a thread of its own. Until then only
// ncclCommGetAsyncError, ncclGetLastError and ncclCommAbort may be called.
//
// DLC_STANDIN_NCCL_FAULT=<rank>:<n>:<what>: the n-th collective of that rank
// fails when it is called ("call"), is never enqueued ("stall"), fails when it
// runs ("run") or never ends ("hang"). DLC_STANDIN_NCCL_VERSION is what
// ncclGetVersion says.
#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Reduce.h"
#include "test/pretend/libraries/Standin.h"
#include "test/pretend/libraries/nccl/Segment.h"

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace dlc;
using namespace dlc::standin;
using std::chrono::microseconds, std::chrono::milliseconds;

// What a communicator is to its calls and its work, which may outlive it.
struct CommunicatorState {
  std::shared_ptr<Segment> segment;
  int rank;
  int collectives = 0;
  std::atomic<ncclResult_t> result = ncclInProgress; // of the call before
  std::atomic<ncclResult_t> failure = ncclSuccess;   // of work; it stays
  std::atomic<int> graphs = 0; // collectives that a graph has
  bool isMet = false, isFinal = false;
};

struct ncclComm {
  std::shared_ptr<CommunicatorState> state;
};

namespace {

using State = CommunicatorState;

std::mutex textMutex;
std::string lastError;

void say(const std::string &text) {
  std::lock_guard lock(textMutex);
  lastError = text;
}

// "call", "run", "hang" or nothing for this reduction.
std::string fault(int rank, int number) {
  const char *text = std::getenv("DLC_STANDIN_NCCL_FAULT");
  const std::string start = fmt::format("{}:{}:", rank, number);
  return text && std::strncmp(text, start.c_str(), start.size()) == 0
             ? text + start.size()
             : "";
}

DType typeOf(ncclDataType_t type) {
  switch (type) {
  case ncclFloat64:
    return DType::F64;
  case ncclFloat16:
    return DType::F16;
  case ncclBfloat16:
    return DType::BF16;
  case ncclInt64:
    return DType::I64;
  case ncclInt32:
    return DType::I32;
  case ncclUint8:
    return DType::U8;
  default:
    return DType::F32;
  }
}

// A sum at one rank or all, or bytes of one rank at all.
struct Step {
  const std::byte *from;
  std::byte *to;
  size_t count;
  DType type;
  bool sums, mean;
  int root; // below 0: all
};

// What one call, or all of a group, has enqueued.
struct Collective {
  std::shared_ptr<State> state;
  std::string name;
  int number;
  std::vector<Step> steps;
  std::vector<Access> accesses;
  cudaStream_t stream;
  bool isCaptured;

  ~Collective() { state->graphs -= isCaptured; }
};

// All ranks add the slots in the same order: the same bits everywhere.
bool exchange(const Step &step, const State &state) {
  Segment &segment = *state.segment;
  const size_t size = sizeOf(step.type), most = kSlot / size;
  const bool gets = step.root < 0 || !step.sums || step.root == state.rank,
             gives = step.sums || step.root == state.rank;
  for (size_t at = 0; at < step.count; at += most) {
    const size_t count = std::min(most, step.count - at);
    std::byte *own = segment.slot(state.rank);
    if (gives)
      std::memcpy(own, step.from + at * size, count * size);
    if (!segment.meet())
      return false;
    std::vector<const std::byte *> sources;
    for (int rank = 0; rank < segment.ranks(); ++rank)
      sources.push_back(segment.slot(rank));
    if (gets && step.sums)
      reduceInOrder(step.to + at * size, sources, count, step.type,
                    step.mean ? ReduceOp::Mean : ReduceOp::Sum);
    else if (gets)
      std::memcpy(step.to + at * size, segment.slot(step.root), count * size);
    if (!segment.meet())
      return false;
  }
  return true;
}

CUresult run(void *data) {
  const Collective &c = *static_cast<Collective *>(data);
  const std::string what = fault(c.state->rank, c.number);
  if (what == "run") {
    c.state->failure = ncclUnhandledCudaError;
    return CUDA_SUCCESS;
  }
  while (what == "hang" && !c.state->segment->aborted())
    std::this_thread::sleep_for(milliseconds(1));
  for (const Step &step : c.steps)
    if (!exchange(step, *c.state))
      break; // an abort ends it, as it ends NCCL's kernels
  return CUDA_SUCCESS;
}

// On a thread of NCCL's.
ncclResult_t enqueue(Collective *collective) {
  const Work work{collective->name.c_str(),
                  run,
                  collective,
                  [](void *data) { delete static_cast<Collective *>(data); },
                  collective->accesses.data(),
                  static_cast<int>(collective->accesses.size())};
  return standin::standin()->enqueue(
             reinterpret_cast<CUstream>(collective->stream), work) ==
                 CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

thread_local int depth = 0;                // of groups
thread_local ncclComm_t grouped = nullptr; // whose calls this group has
thread_local std::unique_ptr<Collective> group;

// The call may be made now.
bool isAllowed(ncclComm_t communicator, const char *call) {
  const State &state = *communicator->state;
  if (state.result != ncclInProgress && !state.isFinal)
    return true;
  standin::standin()->complain(fmt::format("{} while {}", call,
                                           state.isFinal
                                               ? "the communicator is finalized"
                                               : "another call is in progress")
                                   .c_str());
  return false;
}

// As NCCL does, which lets go of a communicator when no graph can use it.
void waitForGraphs(const State &state) {
  while (state.graphs > 0) {
    standin::standin()->wantAll();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// Begins what was called.
ncclResult_t begin(std::unique_ptr<Collective> collective) {
  const std::shared_ptr<State> state = collective->state;
  if (const ncclResult_t failure = state->failure; failure != ncclSuccess)
    return failure;
  const Interface &driver = *standin::standin();
  collective->number = ++state->collectives;
  const std::string what = fault(state->rank, collective->number);
  if (what == "call")
    return state->result = ncclUnhandledCudaError;
  state->result = ncclInProgress;
  if (what == "stall")
    return ncclInProgress;
  collective->isCaptured =
      driver.isCaptured(reinterpret_cast<CUstream>(collective->stream));
  state->graphs += collective->isCaptured;
  std::thread([state, made = collective.release(),
               order = driver.shareOrder()] {
    standin::standin()->adoptOrder(order);
    std::this_thread::sleep_for(microseconds(50)); // the caller is back before
    state->result = enqueue(made);
  }).detach();
  return ncclInProgress;
}

// A call of these steps, which touches these.
ncclResult_t call(const char *name, ncclComm_t communicator,
                  cudaStream_t stream, std::vector<Step> steps,
                  std::vector<Access> accesses) {
  if (!isAllowed(communicator, name))
    return ncclInvalidUsage;
  if (grouped && grouped != communicator)
    return ncclInvalidUsage;
  std::unique_ptr<Collective> own;
  std::unique_ptr<Collective> &collective = depth ? group : own;
  if (!collective)
    collective = std::make_unique<Collective>(
        communicator->state,
        fmt::format("{} {} x {}", name, steps.front().count,
                    nameOf(steps.front().type)),
        0, std::vector<Step>(), std::vector<Access>(), stream, false);
  collective->steps.insert(collective->steps.end(), steps.begin(), steps.end());
  collective->accesses.insert(collective->accesses.end(), accesses.begin(),
                              accesses.end());
  if (depth) {
    grouped = communicator;
    return ncclSuccess;
  }
  return begin(std::move(own));
}

// What is done in place has each rank's part where it is in the whole.
void checkInPlace(const char *name, const std::byte *whole, size_t bytes,
                  const std::byte *part, size_t partBytes, int rank) {
  const bool overlaps = part < whole + bytes && whole < part + partBytes;
  if (overlaps && part != whole + static_cast<size_t>(rank) * partBytes)
    standin::standin()->complain(
        fmt::format("{} in place, but not of the rank's own part", name)
            .c_str());
}

bool isReduction(ncclRedOp_t op) { return op == ncclSum || op == ncclAvg; }

// The version of CUDA that it was made for.
int ownCuda() {
  const char *own = std::getenv("DLC_STANDIN_NCCL_CUDA");
  return own ? std::atoi(own) : 13000;
}

// Once all ranks are there.
ncclResult_t met(State &state) {
  Segment &segment = *state.segment;
  if (segment.joined() < segment.ranks())
    return ncclInProgress;
  state.isMet = true;
  for (int rank = 0; rank < segment.ranks(); ++rank)
    for (int other = 0; other < rank; ++other)
      if (segment.device(rank) == segment.device(other)) {
        say(fmt::format("Duplicate GPU detected : rank {} and rank {} both on "
                        "CUDA device {}",
                        other, rank, segment.device(rank)));
        return ncclInvalidUsage;
      }
  return ncclSuccess;
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  const char *own = std::getenv("DLC_STANDIN_NCCL_VERSION");
  *version = own ? std::atoi(own) : 22809;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError          ? "remote error"
         : result == ncclUnhandledCudaError ? "unhandled cuda error"
         : result == ncclInvalidArgument    ? "invalid argument"
         : result == ncclInvalidUsage       ? "invalid usage"
                                            : "an error of the stand-in NCCL";
}

const char *ncclGetLastError(ncclComm_t) {
  thread_local std::string text;
  std::lock_guard lock(textMutex);
  text = lastError;
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::snprintf(id->internal, sizeof id->internal, "dlc-standin-%d-%08x",
                ::getpid(), std::random_device()());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  const auto *driver = standin::standin();
  if (!config || config->blocking != 0 || ranks > kMostRanks || rank >= ranks)
    return ncclInvalidArgument;
  if (!driver || driver->currentDevice() < 0)
    return ncclUnhandledCudaError;
  if (ownCuda() / 1000 > driver->driverVersion() / 1000) {
    say("Cuda failure 35 'CUDA driver version is insufficient for CUDA runtime "
        "version'");
    return ncclUnhandledCudaError;
  }
  Segment *segment = Segment::open(id, ranks);
  if (!segment)
    return ncclSystemError;
  auto state = std::make_shared<State>();
  state->segment.reset(segment, [](Segment *s) { s->close(); });
  state->rank = rank;
  segment->join(rank, driver->currentDevice());
  *communicator = new ncclComm{std::move(state)};
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *result) {
  State &state = *communicator->state;
  if (!state.isMet)
    state.result = met(state);
  else if (state.isFinal && state.graphs == 0)
    state.result = ncclSuccess;
  if (state.result == ncclSuccess && state.segment->aborted())
    state.result = ncclRemoteError;
  const ncclResult_t failure = state.failure;
  *result = failure == ncclSuccess ? state.result.load() : failure;
  return ncclSuccess;
}

// Done when the ranks are and no graph has a reduction.
ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  if (!isAllowed(communicator, "ncclCommFinalize"))
    return ncclInvalidUsage;
  communicator->state->isFinal = true;
  return communicator->state->result = ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const State &state = *communicator->state;
  if (!state.isFinal || state.result == ncclInProgress)
    standin::standin()->complain("ncclCommDestroy before ncclCommFinalize");
  waitForGraphs(state);
  delete communicator;
  return ncclSuccess;
}

// Ends what runs at once; returns when nothing can use it again.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->state->segment->abort();
  waitForGraphs(*communicator->state);
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (from != to || !isReduction(op))
    return ncclInvalidArgument;
  auto *data = static_cast<std::byte *>(to);
  return call("ncclAllReduce", communicator, stream,
              {{data, data, count, typeOf(type), true, op == ncclAvg, -1}},
              {{data, count * sizeOf(typeOf(type)), true}});
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  if (!isReduction(op))
    return ncclInvalidArgument;
  const size_t bytes = count * sizeOf(typeOf(type));
  std::vector<Access> accesses = {{from, bytes, false}};
  if (communicator->state->rank == root)
    accesses.push_back({to, bytes, true});
  return call(
      "ncclReduce", communicator, stream,
      {{static_cast<const std::byte *>(from), static_cast<std::byte *>(to),
        count, typeOf(type), true, op == ncclAvg, root}},
      accesses);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
                           ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  const size_t bytes = count * sizeOf(typeOf(type));
  std::vector<Access> accesses = {{to, bytes, true}};
  if (communicator->state->rank == root)
    accesses.push_back({from, bytes, false});
  return call(
      "ncclBroadcast", communicator, stream,
      {{static_cast<const std::byte *>(from), static_cast<std::byte *>(to),
        count, typeOf(type), false, false, root}},
      accesses);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t communicator, cudaStream_t stream) {
  if (!isReduction(op))
    return ncclInvalidArgument;
  const State &state = *communicator->state;
  const auto *whole = static_cast<const std::byte *>(from);
  auto *part = static_cast<std::byte *>(to);
  const size_t bytes = count * sizeOf(typeOf(type));
  const auto ranks = static_cast<size_t>(state.segment->ranks());
  checkInPlace("ncclReduceScatter", whole, bytes * ranks, part, bytes,
               state.rank);
  std::vector<Step> steps;
  for (size_t rank = 0; rank < ranks; ++rank)
    steps.push_back({whole + rank * bytes, part, count, typeOf(type), true,
                     op == ncclAvg, static_cast<int>(rank)});
  return call("ncclReduceScatter", communicator, stream, steps,
              {{from, bytes * ranks, false}, {to, bytes, true}});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  const State &state = *communicator->state;
  const auto *part = static_cast<const std::byte *>(from);
  auto *whole = static_cast<std::byte *>(to);
  const size_t bytes = count * sizeOf(typeOf(type));
  const auto ranks = static_cast<size_t>(state.segment->ranks());
  checkInPlace("ncclAllGather", whole, bytes * ranks, part, bytes, state.rank);
  std::vector<Step> steps;
  for (size_t rank = 0; rank < ranks; ++rank)
    steps.push_back({part, whole + rank * bytes, count, typeOf(type), false,
                     false, static_cast<int>(rank)});
  return call("ncclAllGather", communicator, stream, steps,
              {{from, bytes, false}, {to, bytes * ranks, true}});
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0) {
    standin::standin()->complain("ncclGroupEnd without ncclGroupStart");
    return ncclInvalidUsage;
  }
  if (--depth > 0 || !group)
    return ncclSuccess;
  grouped = nullptr;
  return begin(std::move(group));
}

} // extern "C"
