// SPDX-License-Identifier: Apache-2.0
// Collectives by NCCL. Nothing blocks: initialisation and calls are polled, and
// a thread aborts all communicators when a collective fails or is late.
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/RunningClock.h"
#include "runtime/collective/flight/FlightLog.h"
#include "runtime/collective/nccl/Culprit.h"
#include "runtime/collective/nccl/Nccl.h"
#include "runtime/collective/nccl/NcclRanks.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
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

// Whether NCCL's own collectives apply: shards of equal size, none empty.
bool areEqual(std::span<const size_t> pieces) {
  return pieces.front() > 0 && std::ranges::all_of(pieces, [&](size_t n) {
           return n == pieces.front();
         });
}

// Ranks that share an NCCL communicator; `own` is this rank's position.
struct Members {
  ncclComm_t communicator = nullptr; // null once aborted
  size_t own = 0, count = 0;
};

class NcclCommunicator final : public DeviceCommunicator {
public:
  NcclCommunicator(std::shared_ptr<const Nccl> nccl, DeviceGroup group)
      : nccl_(std::move(nccl)), ranks_(std::move(group)) {}
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
  Result<ncclUniqueId> makeId() const;
  Status join(Members &members, const ncclUniqueId &id);
  Status meetGroups(size_t size);
  std::vector<ncclComm_t> take();
  ncclResult_t settle(ncclResult_t result, ncclComm_t communicator);
  const Members &membersOf(std::span<const size_t> pieces) const {
    return pieces.size() == all_.count ? all_ : group_;
  }
  template <class Call>
  Status enqueue(std::string_view name, const Members &members, Call call);
  Status reduce(const Members &members, void *data, size_t count,
                ncclDataType_t type, ReduceOp op, void *queue);
  template <class Call>
  ncclResult_t forEachPiece(void *data, std::span<const size_t> pieces,
                            size_t size, Call call);
  std::string describe(ncclResult_t result, std::string_view action,
                       ncclComm_t communicator) const;
  Status known(std::unique_lock<std::mutex> &lock);
  std::optional<Report> ask();
  std::optional<Report> look();
  Status fail(std::unique_lock<std::mutex> &lock, Report report);
  void guard();

  const std::shared_ptr<const Nccl> nccl_;
  DeviceGroup ranks_;
  std::thread watchdog_;
  std::vector<std::thread> aborting_; // started by the watchdog

  std::mutex mutex_; // of the following
  std::condition_variable changed_;
  // All ranks; with DeviceGroup::groupSize also this rank's group, and the
  // ranks with its position in the other groups.
  Members all_, group_, places_;
  uint64_t expected_ = 0, done_ = 0;
  Clock::time_point since_;      // time of the last progress
  std::optional<Report> failed_; // to be sent by the watchdog
  Status error_;
  bool failing_ = false; // the watchdog is about to set error_
  bool stop_ = false;
};

// Most calls finish within kEager; polls then sleep, to free the core.
constexpr std::chrono::microseconds kEager{200}, kPause{50};

// NCCL's functions return at once; an operation has finished when the state is
// no longer "in progress". No other call is allowed before.
ncclResult_t NcclCommunicator::settle(ncclResult_t result,
                                      ncclComm_t communicator) {
  const Clock::time_point begin = Clock::now(), end = begin + ranks_.timeout;
  for (Clock::time_point now = begin; result == ncclInProgress && now < end;
       now = Clock::now()) {
    if (now - begin < kEager)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
    const ncclResult_t asked =
        nccl_->ncclCommGetAsyncError(communicator, &result);
    if (asked != ncclSuccess)
      result = asked;
  }
  return result;
}

// The error of a result of settle().
std::string NcclCommunicator::describe(ncclResult_t result,
                                       std::string_view action,
                                       ncclComm_t communicator) const {
  return result == ncclInProgress
             ? fmt::format("{} takes longer than {} s", action,
                           ranks_.timeout.count() / 1000.0)
             : nccl_->describe(result, action, communicator);
}

// NCCL reports a CUDA newer than the driver only by the CUDA runtime's error.
static const char *wayOut(const std::string &error) {
  return error.find("driver version is insufficient") == error.npos
             ? ""
             : "; NCCL is for a newer CUDA than the driver: update the driver, "
               "or install NCCL for the driver's CUDA";
}

Result<ncclUniqueId> NcclCommunicator::makeId() const {
  ncclUniqueId id;
  if (const ncclResult_t result = nccl_->ncclGetUniqueId(&id);
      result != ncclSuccess)
    return peerLost("{}", nccl_->describe(result, "ncclGetUniqueId", nullptr));
  return id;
}

// Takes all existing communicators; the caller must end them.
std::vector<ncclComm_t> NcclCommunicator::take() {
  std::vector<ncclComm_t> taken;
  for (Members *members : {&places_, &group_, &all_})
    if (members->communicator)
      taken.push_back(std::exchange(members->communicator, nullptr));
  return taken;
}

// Creates the members' communicator; all members call it, before watch().
Status NcclCommunicator::join(Members &members, const ncclUniqueId &id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t &communicator = members.communicator;
  const ncclResult_t begun = nccl_->ncclCommInitRankConfig(
      &communicator, static_cast<int>(members.count), id,
      static_cast<int>(members.own), &config);
  const ncclResult_t met = settle(begun, communicator);
  if (met == ncclSuccess)
    return {};
  const std::string what =
      describe(met, "the meeting of the ranks in NCCL", communicator);
  for (ncclComm_t each : take())
    nccl_->ncclCommAbort(each);
  return findCulprit(*ranks_.control,
                     {Report::Failed, 0, 0, 0, what + wayOut(what)});
}

Status NcclCommunicator::meet() {
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  if (ranks_.control->rank() == 0) {
    DLC_ASSIGN(id, makeId());
  }
  DLC_TRY(ranks_.control->broadcast(&id, sizeof id, 0));
  all_.own = static_cast<size_t>(ranks_.control->rank());
  all_.count = static_cast<size_t>(ranks_.control->size());
  DLC_TRY(join(all_, id));
  const size_t size = ranks_.groupSize;
  return size == 0 || size == all_.count ? Status() : meetGroups(size);
}

// The first rank of each group, and of the ranks with each position, creates
// the id of their communicator; one all-gather distributes all ids.
Status NcclCommunicator::meetGroups(size_t size) {
  ncclUniqueId ids[2];
  std::memset(ids, 0, sizeof ids);
  group_ = {nullptr, all_.own % size, size};
  places_ = {nullptr, all_.own / size, all_.count / size};
  if (group_.own == 0) {
    DLC_ASSIGN(ids[0], makeId());
  }
  if (places_.own == 0) {
    DLC_ASSIGN(ids[1], makeId());
  }
  DLC_ASSIGN(const auto told,
             ranks_.control->allGather(
                 {reinterpret_cast<const char *>(ids), sizeof ids}));
  const auto idOf = [&](size_t rank, size_t which) {
    ncclUniqueId id;
    std::memcpy(&id, told[rank].data() + which * sizeof id, sizeof id);
    return id;
  };
  DLC_TRY(join(group_, idOf(all_.own - group_.own, 0)));
  return join(places_, idOf(group_.own, 1));
}

NcclCommunicator::~NcclCommunicator() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable())
    watchdog_.join();
  for (std::thread &call : aborting_) // no captured step uses them now
    call.join();
  // A peer may be gone: communicators that cannot be finalized are aborted.
  for (ncclComm_t communicator : take())
    if (settle(nccl_->ncclCommFinalize(communicator), communicator) ==
        ncclSuccess)
      nccl_->ncclCommDestroy(communicator);
    else
      nccl_->ncclCommAbort(communicator);
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

// Enqueues a call of the library, and polls until NCCL has enqueued it.
template <class Call>
Status NcclCommunicator::enqueue(std::string_view name, const Members &members,
                                 Call call) {
  std::unique_lock lock(mutex_);
  DLC_TRY(known(lock));
  const ncclResult_t enqueued = settle(call(), members.communicator);
  if (enqueued == ncclSuccess)
    return {};
  return fail(lock,
              {enqueued == ncclRemoteError ? Report::Told : Report::Failed,
               expected_, done_, 0,
               describe(enqueued, name, members.communicator)});
}

// Calls `call` for each shard with its rank, as one group: NCCL's own
// collectives of shards require equal sizes.
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
  return reduce(all_, data, count, element, op, queue);
}

Status NcclCommunicator::reduce(const Members &members, void *data,
                                size_t count, ncclDataType_t type, ReduceOp op,
                                void *queue) {
  return enqueue("ncclAllReduce", members, [&] {
    return nccl_->ncclAllReduce(data, data, count, type, ncclOp(op),
                                members.communicator,
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
  const Members &members = membersOf(pieces);
  if (areEqual(pieces)) {
    DLC_TRY(enqueue("ncclReduceScatter", members, [&] {
      return nccl_->ncclReduceScatter(data, own, pieces.front(), element,
                                      ncclOp(op), members.communicator, stream);
    }));
  } else {
    DLC_TRY(enqueue("ncclReduce", members, [&] {
      return forEachPiece(
          data, pieces, sizeOf(type), [&](int rank, void *at, size_t count) {
            return nccl_->ncclReduce(at, size_t(rank) == members.own ? own : at,
                                     count, element, ncclOp(op), rank,
                                     members.communicator, stream);
          });
    }));
  }
  const size_t count = pieces[members.own];
  return &members == &all_ || count == 0
             ? Status()
             : reduce(places_, own, count, element, op, queue);
}

Status NcclCommunicator::allGather(void *data, std::span<const size_t> pieces,
                                   const void *own, void *queue) {
  auto *const stream = static_cast<cudaStream_t>(queue);
  const Members &members = membersOf(pieces);
  const size_t self = members.own;
  if (areEqual(pieces))
    return enqueue("ncclAllGather", members, [&] {
      const void *from =
          own ? own : static_cast<std::byte *>(data) + self * pieces.front();
      return nccl_->ncclAllGather(from, data, pieces.front(), ncclUint8,
                                  members.communicator, stream);
    });
  return enqueue("ncclBroadcast", members, [&] {
    return forEachPiece(data, pieces, 1, [&](int rank, void *at, size_t count) {
      return nccl_->ncclBroadcast(own && size_t(rank) == self ? own : at, at,
                                  count, ncclUint8, rank, members.communicator,
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
  // A wait may have ended because of an error.
  if (all_.communicator && !failing_)
    if (std::optional<Report> report = ask())
      return fail(lock, *std::move(report));
  return known(lock);
}

// Lets the watchdog report to the peers; returns the error that they agree on.
Status NcclCommunicator::fail(std::unique_lock<std::mutex> &lock,
                              Report report) {
  failed_ = std::move(report);
  failing_ = true;
  changed_.notify_all();
  return known(lock);
}

// The error, if any; blocks while the ranks find the culprit.
Status NcclCommunicator::known(std::unique_lock<std::mutex> &lock) {
  changed_.wait(lock, [this] { return !failing_; });
  return error_;
}

// The library's error, if any; call with the lock held.
std::optional<Report> NcclCommunicator::ask() {
  for (const Members *members : {&all_, &group_, &places_}) {
    if (!members->communicator)
      continue;
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked =
        nccl_->ncclCommGetAsyncError(members->communicator, &state);
    if (asked != ncclSuccess)
      state = asked;
    if (state == ncclSuccess || state == ncclInProgress)
      continue;
    return Report{
        state == ncclRemoteError ? Report::Told : Report::Failed, expected_,
        done_, 0,
        nccl_->describe(state, "a collective", members->communicator)};
  }
  return std::nullopt;
}

// A failure or a missed deadline, if any; call with the lock held.
std::optional<Report> NcclCommunicator::look() {
  if (failed_)
    return failed_;
  if (std::optional<Report> report = ask())
    return report;
  const Result<uint64_t> completed = ranks_.completed();
  if (!completed.ok())
    return Report{Report::Failed, expected_, done_, 0,
                  completed.status().message()};
  if (*completed > done_)
    since_ = Clock::now();
  done_ = *completed;
  if (done_ >= expected_ || Clock::now() - since_ <= ranks_.timeout)
    return std::nullopt;
  const FlightLog *const log = ranks_.control->flightLog();
  const std::string waiting =
      log ? log->describeWaiting(FlightLog::kDevice) : "";
  return Report{Report::Late, expected_, done_, ranks_.computed(),
                fmt::format("a collective was not done in {} s{}{}",
                            ranks_.timeout.count() / 1000.0,
                            waiting.empty() ? "" : ": ", waiting)};
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
      std::clamp(ranks_.timeout / 50, milliseconds(2), milliseconds(100));
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (const std::optional<Report> report = look()) {
      failing_ = true;
      const std::vector<ncclComm_t> communicators = take();
      lock.unlock();
      // Unblocks waits for the device, and notifies the peers. ncclCommAbort
      // returns when no graph contains a collective of the communicator: the
      // thread that waits for error_ destroys them, so this thread must not
      // block.
      for (ncclComm_t communicator : communicators)
        aborting_.emplace_back([nccl = nccl_, communicator] {
          nccl->ncclCommAbort(communicator);
        });
      Status culprit = findCulprit(*ranks_.control, *report);
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
  DLC_TRY(agreeOnNccl(*group.control, nccl.status(),
                      nccl.ok() ? (*nccl)->versionText() : "", group.device));
  auto communicator =
      std::make_unique<NcclCommunicator>(*std::move(nccl), std::move(group));
  DLC_TRY(communicator->meet());
  communicator->watch();
  return std::unique_ptr<DeviceCommunicator>(std::move(communicator));
}

} // namespace dlc
