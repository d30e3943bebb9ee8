// NCCL's interface: what runtime/collective/nccl/Nccl.h calls, and no more. A
// reduction is work on a stream of the stand-in driver and really reduces.
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
#include <random>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace dlc;
using namespace dlc::standin;

struct ncclComm {
  std::shared_ptr<Segment> segment;
  int rank;
  int reductions = 0;
  std::atomic<ncclResult_t> error = ncclSuccess;
  std::set<const void *> registered;
};

namespace {

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
  ncclComm *communicator;
  std::shared_ptr<Segment> segment;
  int rank, number;
  std::byte *data;
  size_t count;
  DType type;
  bool mean;
};

// All ranks add the slots in the same order: the same bits everywhere.
bool reduce(const Reduction &r) {
  const size_t size = sizeOf(r.type), most = kSlot / size;
  for (size_t at = 0; at < r.count; at += most) {
    const size_t count = std::min(most, r.count - at);
    std::byte *own = r.segment->slot(r.rank), *data = r.data + at * size;
    std::memcpy(own, data, count * size);
    if (r.mean)
      scale(own, count, r.type, 1.0 / r.segment->ranks());
    if (!r.segment->meet())
      return false;
    std::vector<const std::byte *> sources;
    for (int rank = 0; rank < r.segment->ranks(); ++rank)
      sources.push_back(r.segment->slot(rank));
    reduceInOrder(data, sources, count, r.type, ReduceOp::Sum);
    if (!r.segment->meet())
      return false;
  }
  return true;
}

CUresult run(void *data) {
  const Reduction &r = *static_cast<Reduction *>(data);
  const std::string what = fault(r.rank, r.number);
  if (what == "run") {
    r.communicator->error = ncclUnhandledCudaError;
    return CUDA_SUCCESS;
  }
  while (what == "hang" && !r.segment->aborted())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  reduce(r); // an abort ends it, as it ends NCCL's kernels
  return CUDA_SUCCESS;
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
                                            : "an error of the stand-in NCCL";
}

const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::snprintf(id->internal, sizeof id->internal, "dlc-standin-%d-%08x",
                ::getpid(), std::random_device()());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (!config || config->blocking != 0 || ranks > kMostRanks || rank >= ranks)
    return ncclInvalidArgument;
  Segment *segment = Segment::open(id, ranks);
  if (!segment)
    return ncclSystemError;
  auto *made = new ncclComm;
  made->segment.reset(segment, [](Segment *s) { s->close(); });
  made->rank = rank;
  made->error = ncclInProgress;
  segment->join();
  *communicator = made;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *result) {
  Segment &segment = *communicator->segment;
  if (communicator->error == ncclInProgress && communicator->reductions == 0 &&
      segment.joined() == segment.ranks())
    communicator->error = ncclSuccess;
  if (communicator->error == ncclSuccess && segment.aborted())
    communicator->error = ncclRemoteError;
  *result = communicator->error;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}

// Kept: work that was enqueued may know it.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->segment->abort();
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t communicator, void *data, size_t,
                              void **handle) {
  communicator->registered.insert(data);
  *handle = data;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void *handle) {
  return communicator->registered.erase(handle) ? ncclSuccess
                                                : ncclInvalidArgument;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (from != to || (op != ncclSum && op != ncclAvg))
    return ncclInvalidArgument;
  const int number = ++communicator->reductions;
  if (fault(communicator->rank, number) == "call") {
    communicator->error = ncclUnhandledCudaError;
    return ncclUnhandledCudaError;
  }
  if (fault(communicator->rank, number) == "stall")
    return communicator->error = ncclInProgress;
  const DType element = typeOf(type);
  auto *reduction = new Reduction{communicator,
                                  communicator->segment,
                                  communicator->rank,
                                  number,
                                  static_cast<std::byte *>(to),
                                  count,
                                  element,
                                  op == ncclAvg};
  const Access access{to, count * sizeOf(element), true};
  const std::string name =
      fmt::format("ncclAllReduce {} x {}", count, nameOf(element));
  const Work work{
      name.c_str(), run,
      reduction,    [](void *data) { delete static_cast<Reduction *>(data); },
      &access,      1};
  const auto *driver = standin::standin();
  return driver && driver->enqueue(reinterpret_cast<CUstream>(stream), work) ==
                       CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

} // extern "C"
