// NCCL's interface: what runtime/collective/nccl/Nccl.h calls, and no more. A
// reduction is work on a stream of the stand-in driver and really reduces.
//
// Communicators are non-blocking: a call returns "in progress", and what it
// begins is done by a thread of its own. Until then only
// ncclCommGetAsyncError, ncclGetLastError and ncclCommAbort may be called.
//
// DLC_STANDIN_NCCL_FAULT=<rank>:<n>:<what>: the n-th reduction of that rank
// fails when it is called ("call"), is never enqueued ("stall"), fails when it
// runs ("run") or never ends ("hang"). DLC_STANDIN_NCCL_VERSION is what
// ncclGetVersion says.
#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Reduce.h"
#include "test/standin/Standin.h"
#include "test/standin/nccl/Segment.h"

#include <fmt/format.h>
#include <nccl.h>

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
  int reductions = 0;
  std::atomic<ncclResult_t> result = ncclInProgress; // of the call before
  std::atomic<ncclResult_t> failure = ncclSuccess;   // of work; it stays
  std::atomic<int> graphs = 0; // reductions that a graph has
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
  default:
    return DType::F32;
  }
}

struct Reduction {
  std::shared_ptr<State> state;
  int number;
  std::byte *data;
  size_t count;
  DType type;
  bool mean, isCaptured;

  ~Reduction() { state->graphs -= isCaptured; }
};

// All ranks add the slots in the same order: the same bits everywhere.
bool reduce(const Reduction &r) {
  Segment &segment = *r.state->segment;
  const size_t size = sizeOf(r.type), most = kSlot / size;
  for (size_t at = 0; at < r.count; at += most) {
    const size_t count = std::min(most, r.count - at);
    std::byte *own = segment.slot(r.state->rank), *data = r.data + at * size;
    std::memcpy(own, data, count * size);
    if (r.mean)
      scale(own, count, r.type, 1.0 / segment.ranks());
    if (!segment.meet())
      return false;
    std::vector<const std::byte *> sources;
    for (int rank = 0; rank < segment.ranks(); ++rank)
      sources.push_back(segment.slot(rank));
    reduceInOrder(data, sources, count, r.type, ReduceOp::Sum);
    if (!segment.meet())
      return false;
  }
  return true;
}

CUresult run(void *data) {
  const Reduction &r = *static_cast<Reduction *>(data);
  const std::string what = fault(r.state->rank, r.number);
  if (what == "run") {
    r.state->failure = ncclUnhandledCudaError;
    return CUDA_SUCCESS;
  }
  while (what == "hang" && !r.state->segment->aborted())
    std::this_thread::sleep_for(milliseconds(1));
  reduce(r); // an abort ends it, as it ends NCCL's kernels
  return CUDA_SUCCESS;
}

// On the thread of the call.
ncclResult_t enqueue(Reduction *reduction, cudaStream_t stream) {
  const Interface &driver = *standin::standin();
  const Access access{reduction->data,
                      reduction->count * sizeOf(reduction->type), true};
  const std::string name = fmt::format(
      "ncclAllReduce {} x {}", reduction->count, nameOf(reduction->type));
  const Work work{
      name.c_str(), run,
      reduction,    [](void *data) { delete static_cast<Reduction *>(data); },
      &access,      1};
  return driver.enqueue(reinterpret_cast<CUstream>(stream), work) ==
                 CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

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
  if (from != to || (op != ncclSum && op != ncclAvg))
    return ncclInvalidArgument;
  if (!isAllowed(communicator, "ncclAllReduce"))
    return ncclInvalidUsage;
  const std::shared_ptr<State> state = communicator->state;
  if (const ncclResult_t failure = state->failure; failure != ncclSuccess)
    return failure;
  const Interface &driver = *standin::standin();
  const int number = ++state->reductions;
  const std::string what = fault(state->rank, number);
  if (what == "call")
    return state->result = ncclUnhandledCudaError;
  state->result = ncclInProgress;
  if (what == "stall")
    return ncclInProgress;
  const bool isCaptured = driver.isCaptured(reinterpret_cast<CUstream>(stream));
  state->graphs += isCaptured;
  auto *reduction =
      new Reduction{state,     number,       static_cast<std::byte *>(to),
                    count,     typeOf(type), op == ncclAvg,
                    isCaptured};
  std::thread([=, order = driver.shareOrder()] {
    standin::standin()->adoptOrder(order);
    std::this_thread::sleep_for(microseconds(50)); // the caller is back before
    state->result = enqueue(reduction, stream);
  }).detach();
  return ncclInProgress;
}

} // extern "C"
