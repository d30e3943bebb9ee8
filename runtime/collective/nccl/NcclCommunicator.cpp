// SPDX-License-Identifier: Apache-2.0
// Collectives by NCCL. Nothing blocks: initialisation and calls are polled, and
// a thread has everything aborted when a reduction fails or is late.
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/RunningClock.h"
#include "runtime/collective/nccl/Culprit.h"
#include "runtime/collective/nccl/Nccl.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace dlc {
namespace {

using Clock = RunningClock;
using std::chrono::milliseconds;

Result<ncclDataType_t> ncclType(DType type) {
  switch (type) {
  case DType::F32:
    return ncclFloat32;
  case DType::F64:
    return ncclFloat64;
  case DType::F16:
    return ncclFloat16;
  case DType::BF16:
    return ncclBfloat16;
  case DType::I64:
    return ncclInt64;
  case DType::I32:
    return ncclInt32;
  default:
    return failed("cannot reduce {}", nameOf(type));
  }
}

// As NCCL's own collectives of pieces want them; none is empty.
bool areEqual(std::span<const size_t> pieces) {
  return pieces.front() > 0 && std::ranges::all_of(pieces, [&](size_t n) {
           return n == pieces.front();
         });
}

class NcclCommunicator final : public DeviceCommunicator {
public:
  NcclCommunicator(std::shared_ptr<const Nccl> nccl, DeviceGroup group)
      : nccl_(std::move(nccl)), group_(std::move(group)) {}
  ~NcclCommunicator() override;

  Status meet();
  void watch();

  Status allReduce(void *data, size_t count, DType type, ReduceOp op,
                   void *queue) override;
  Status reduceScatter(void *data, std::span<const size_t> pieces, void *own,
                       DType type, ReduceOp op, void *queue) override;
  Status allGather(void *data, std::span<const size_t> pieces, const void *own,
                   void *queue) override;
  void expect(uint64_t stamp) override;
  Status status() override;

private:
  ncclResult_t settle(ncclResult_t result);
  template <class Call> Status enqueue(std::string_view name, Call call);
  template <class Call>
  ncclResult_t forEachPiece(void *data, std::span<const size_t> pieces,
                            size_t size, Call call);
  std::string describe(ncclResult_t result, std::string_view action) const;
  Status known(std::unique_lock<std::mutex> &lock);
  std::optional<Report> ask();
  std::optional<Report> look();
  Status fail(std::unique_lock<std::mutex> &lock, Report report);
  void guard();

  const std::shared_ptr<const Nccl> nccl_;
  DeviceGroup group_;
  std::thread watchdog_, aborting_;

  std::mutex mutex_; // of what follows
  std::condition_variable changed_;
  ncclComm_t communicator_ = nullptr; // null once aborted
  uint64_t expected_ = 0, done_ = 0;
  Clock::time_point since_;      // of the last progress
  std::optional<Report> failed_; // what this thread should tell the peers
  Status error_;
  bool failing_ = false; // error_ is about to be known
  bool stop_ = false;
};

// Every rank learns whether all can take part, each on a device of its own.
Status agree(Communicator &control, const Status &own,
             const std::string &version, const std::string &device) {
  DLC_ASSIGN(const auto versions,
             control.allGather(own.ok() ? "=" + version : own.message()));
  DLC_ASSIGN(const auto devices, control.allGather(device));
  std::map<std::string, size_t> taken;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (const auto [other, isNew] = taken.try_emplace(devices[rank], rank);
        !isNew && !devices[rank].empty())
      return usageError("ranks {} and {} are on the same GPU, {}: NCCL reduces "
                        "between GPUs; start at most one rank for each GPU, or "
                        "see CUDA_VISIBLE_DEVICES",
                        other->second, rank, devices[rank]);
  for (size_t rank = 0; rank < versions.size(); ++rank)
    if (versions[rank] != versions[0] || !versions[rank].starts_with('='))
      return incompatible("rank {}: {}", rank,
                          versions[rank].starts_with('=')
                              ? fmt::format("NCCL {}, expected {} as on rank 0",
                                            versions[rank].substr(1),
                                            versions[0].substr(1))
                              : versions[rank]);
  return own;
}

// A call is mostly done within the first; then the core is for others.
constexpr std::chrono::microseconds kEager{200}, kPause{50};

// NCCL's functions return at once; what they began is done when the state is no
// longer "in progress". Nothing else may be asked of it before.
ncclResult_t NcclCommunicator::settle(ncclResult_t result) {
  const Clock::time_point begin = Clock::now(), end = begin + group_.timeout;
  for (Clock::time_point now = begin; result == ncclInProgress && now < end;
       now = Clock::now()) {
    if (now - begin < kEager)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
    const ncclResult_t asked =
        nccl_->ncclCommGetAsyncError(communicator_, &result);
    if (asked != ncclSuccess)
      result = asked;
  }
  return result;
}

// The error of a call that was settled.
std::string NcclCommunicator::describe(ncclResult_t result,
                                       std::string_view action) const {
  return result == ncclInProgress
             ? fmt::format("{} takes longer than {} s", action,
                           group_.timeout.count() / 1000.0)
             : nccl_->describe(result, action, communicator_);
}

// NCCL tells its version of CUDA by the runtime's error alone.
static const char *wayOut(const std::string &error) {
  return error.find("driver version is insufficient") == error.npos
             ? ""
             : "; NCCL is for a newer CUDA than the driver: update the driver, "
               "or install NCCL for the driver's CUDA";
}

Status NcclCommunicator::meet() {
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  if (group_.control->rank() == 0)
    if (const ncclResult_t result = nccl_->ncclGetUniqueId(&id);
        result != ncclSuccess)
      return peerLost("{}",
                      nccl_->describe(result, "ncclGetUniqueId", nullptr));
  DLC_TRY(group_.control->broadcast(&id, sizeof id, 0));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t met = settle(
      nccl_->ncclCommInitRankConfig(&communicator_, group_.control->size(), id,
                                    group_.control->rank(), &config));
  if (met == ncclSuccess)
    return {};
  const std::string what = describe(met, "the meeting of the ranks in NCCL");
  if (communicator_)
    nccl_->ncclCommAbort(std::exchange(communicator_, nullptr));
  return findCulprit(*group_.control,
                     {Report::Failed, 0, 0, 0, what + wayOut(what)});
}

NcclCommunicator::~NcclCommunicator() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable())
    watchdog_.join();
  if (aborting_.joinable()) // no recorded step keeps it any more
    aborting_.join();
  if (!communicator_)
    return;
  // A peer may be gone: what cannot be ended is aborted.
  if (settle(nccl_->ncclCommFinalize(communicator_)) == ncclSuccess)
    nccl_->ncclCommDestroy(communicator_);
  else
    nccl_->ncclCommAbort(communicator_);
}

static ncclRedOp_t ncclOp(ReduceOp op) {
  return op == ReduceOp::Mean  ? ncclAvg
         : op == ReduceOp::Max ? ncclMax
                               : ncclSum;
}

static Status checkMean(DType type, ReduceOp op) {
  return op == ReduceOp::Mean && !isFloat(type)
             ? failed("cannot reduce to the mean of {}", nameOf(type))
             : Status();
}

// Makes a call of the library, which begins it, and waits until it has.
template <class Call>
Status NcclCommunicator::enqueue(std::string_view name, Call call) {
  std::unique_lock lock(mutex_);
  DLC_TRY(known(lock));
  const ncclResult_t enqueued = settle(call());
  if (enqueued == ncclSuccess)
    return {};
  return fail(lock,
              {enqueued == ncclRemoteError ? Report::Told : Report::Failed,
               expected_, done_, 0, describe(enqueued, name)});
}

// One call a piece, by its rank, as one: NCCL's own collectives of pieces want
// all of one size.
template <class Call>
ncclResult_t NcclCommunicator::forEachPiece(void *data,
                                            std::span<const size_t> pieces,
                                            size_t size, Call call) {
  ncclResult_t result = nccl_->ncclGroupStart();
  auto *at = static_cast<std::byte *>(data);
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    if (result == ncclSuccess && pieces[rank] > 0)
      if (result = call(static_cast<int>(rank), at, pieces[rank]);
          result == ncclInProgress)
        result = ncclSuccess;
    at += pieces[rank] * size;
  }
  const ncclResult_t ended = nccl_->ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

Status NcclCommunicator::allReduce(void *data, size_t count, DType type,
                                   ReduceOp op, void *queue) {
  DLC_TRY(checkMean(type, op));
  DLC_ASSIGN(const ncclDataType_t element, ncclType(type));
  return enqueue("ncclAllReduce", [&] {
    return nccl_->ncclAllReduce(data, data, count, element, ncclOp(op),
                                communicator_,
                                static_cast<cudaStream_t>(queue));
  });
}

Status NcclCommunicator::reduceScatter(void *data,
                                       std::span<const size_t> pieces,
                                       void *own, DType type, ReduceOp op,
                                       void *queue) {
  DLC_TRY(checkMean(type, op));
  DLC_ASSIGN(const ncclDataType_t element, ncclType(type));
  auto *const stream = static_cast<cudaStream_t>(queue);
  if (areEqual(pieces))
    return enqueue("ncclReduceScatter", [&] {
      return nccl_->ncclReduceScatter(data, own, pieces.front(), element,
                                      ncclOp(op), communicator_, stream);
    });
  const int self = group_.control->rank();
  return enqueue("ncclReduce", [&] {
    return forEachPiece(
        data, pieces, sizeOf(type), [&](int rank, void *at, size_t count) {
          return nccl_->ncclReduce(at, rank == self ? own : at, count, element,
                                   ncclOp(op), rank, communicator_, stream);
        });
  });
}

Status NcclCommunicator::allGather(void *data, std::span<const size_t> pieces,
                                   const void *own, void *queue) {
  auto *const stream = static_cast<cudaStream_t>(queue);
  const auto self = static_cast<size_t>(group_.control->rank());
  if (areEqual(pieces))
    return enqueue("ncclAllGather", [&] {
      const void *from =
          own ? own : static_cast<std::byte *>(data) + self * pieces.front();
      return nccl_->ncclAllGather(from, data, pieces.front(), ncclUint8,
                                  communicator_, stream);
    });
  return enqueue("ncclBroadcast", [&] {
    return forEachPiece(data, pieces, 1, [&](int rank, void *at, size_t count) {
      return nccl_->ncclBroadcast(own && size_t(rank) == self ? own : at, at,
                                  count, ncclUint8, rank, communicator_,
                                  stream);
    });
  });
}

void NcclCommunicator::expect(uint64_t stamp) {
  std::lock_guard lock(mutex_);
  if (done_ >= expected_)
    since_ = Clock::now();
  expected_ = stamp;
}

Status NcclCommunicator::status() {
  std::unique_lock lock(mutex_);
  // What was waited for may have ended because of an error.
  if (communicator_ && !failing_)
    if (std::optional<Report> report = ask())
      return fail(lock, *std::move(report));
  return known(lock);
}

// Lets the watchdog tell the peers; the error that they agree on.
Status NcclCommunicator::fail(std::unique_lock<std::mutex> &lock,
                              Report report) {
  failed_ = std::move(report);
  failing_ = true;
  changed_.notify_all();
  return known(lock);
}

// The error, waiting for it while the ranks find out whose it is.
Status NcclCommunicator::known(std::unique_lock<std::mutex> &lock) {
  changed_.wait(lock, [this] { return !failing_; });
  return error_;
}

// The library's error, if there is one; with the lock held.
std::optional<Report> NcclCommunicator::ask() {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked =
      nccl_->ncclCommGetAsyncError(communicator_, &state);
  if (asked != ncclSuccess)
    state = asked;
  if (state == ncclSuccess || state == ncclInProgress)
    return std::nullopt;
  return Report{state == ncclRemoteError ? Report::Told : Report::Failed,
                expected_, done_, 0,
                nccl_->describe(state, "a collective", communicator_)};
}

// What is wrong now, if anything; with the lock held.
std::optional<Report> NcclCommunicator::look() {
  if (failed_)
    return failed_;
  if (std::optional<Report> report = ask())
    return report;
  const Result<uint64_t> completed = group_.completed();
  if (!completed.ok())
    return Report{Report::Failed, expected_, done_, 0,
                  completed.status().message()};
  if (*completed > done_)
    since_ = Clock::now();
  done_ = *completed;
  if (done_ < expected_ && Clock::now() - since_ > group_.timeout)
    return Report{Report::Late, expected_, done_, group_.computed(),
                  fmt::format("a collective was not done in {} s",
                              group_.timeout.count() / 1000.0)};
  return std::nullopt;
}

void NcclCommunicator::watch() {
  watchdog_ = std::thread([this] {
    const Status status = guarded("the watch over the ranks", [this] {
      guard();
      return Status();
    });
    if (status.ok())
      return;
    std::lock_guard lock(mutex_);
    error_ = status;
    failing_ = false;
    changed_.notify_all();
  });
}

void NcclCommunicator::guard() {
  const milliseconds pause =
      std::clamp(group_.timeout / 50, milliseconds(2), milliseconds(100));
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (const std::optional<Report> report = look()) {
      failing_ = true;
      ncclComm_t communicator = std::exchange(communicator_, nullptr);
      lock.unlock();
      // What waits for the device goes on, and the peers learn it. The call
      // returns when no graph has a reduction of it any more: these are
      // destroyed by the thread that waits for what follows.
      aborting_ = std::thread(
          [nccl = nccl_, communicator] { nccl->ncclCommAbort(communicator); });
      Status culprit = findCulprit(*group_.control, *report);
      lock.lock();
      error_ = std::move(culprit);
      failing_ = false;
      changed_.notify_all();
      return;
    }
    changed_.wait_for(lock, pause, [this] { return stop_ || failing_; });
  }
}

} // namespace

Result<std::unique_ptr<DeviceCommunicator>>
makeNcclCommunicator(DeviceGroup group) {
  auto nccl = Nccl::open();
  DLC_TRY(agree(*group.control, nccl.status(),
                nccl.ok() ? (*nccl)->versionText() : "", group.device));
  auto communicator =
      std::make_unique<NcclCommunicator>(*std::move(nccl), std::move(group));
  DLC_TRY(communicator->meet());
  communicator->watch();
  return std::unique_ptr<DeviceCommunicator>(std::move(communicator));
}

} // namespace dlc
