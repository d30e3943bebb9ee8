// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/State.h"

#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/process/Granted.h"
#include "runtime/plan/Averages.h"
#include "runtime/plan/StateNames.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/StateFiles.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>

namespace dlc {
namespace {

constexpr char kRank[] = "rng.rank";
constexpr uint64_t kMessageBytes = 16 << 20;

// Exponents must not be all ones. On integers, so that the loop is vectorised.
template <class Bits>
bool allFinite(const std::byte *data, uint64_t bytes, Bits exponent) {
  const auto *bits = reinterpret_cast<const Bits *>(data);
  bool bad = false;
  for (uint64_t i = 0; i < bytes / sizeof(Bits); ++i)
    bad |= (bits[i] & exponent) == exponent;
  return !bad;
}

bool allFinite(const std::byte *data, uint64_t bytes, DType type) {
  switch (type) {
  case DType::F32:
    return allFinite(data, bytes, uint32_t(0x7f800000));
  case DType::F64:
    return allFinite(data, bytes, uint64_t(0x7ff0000000000000));
  case DType::BF16:
    return allFinite(data, bytes, uint16_t(0x7f80));
  case DType::F16:
    return allFinite(data, bytes, uint16_t(0x7c00));
  default:
    return true;
  }
}

Status notFinite(const std::string &name) {
  return diverged("'{}' is no longer finite", name);
}

// False if it must be finite but is not. Checked while the copy is in the
// cache, since a step waits for this.
bool copyTensor(const NamedTensor &tensor, std::byte *to, bool mustBeFinite) {
  constexpr uint64_t kPiece = 256 << 10;
  for (uint64_t at = 0; at < tensor.bytes; at += kPiece) {
    const uint64_t size = std::min(kPiece, tensor.bytes - at);
    if (mustBeFinite && !allFinite(tensor.data + at, size, tensor.dtype))
      return false;
    std::memcpy(to + at, tensor.data + at, size);
  }
  return true;
}

} // namespace

static Result<bool> isAsIn(const NamedTensor &tensor, Executor &executor) {
  std::vector<std::byte> copy;
  DLC_ASSIGN(const TensorView view,
             executor.fetchState(std::string(tensor.name), copy));
  return view.bytes == tensor.bytes &&
         std::memcmp(view.data, tensor.data, view.bytes) == 0;
}

Result<std::set<std::string>>
frozenStates(Executor &executor, const std::string &path, bool isLoaded) {
  DLC_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
  std::set<std::string> frozen;
  for (const plan::State &state : executor.plan().states()) {
    const NamedTensor *tensor = file.find(state.name());
    if (state.role() != "const" || !tensor)
      continue;
    DLC_ASSIGN(const bool same,
               isLoaded ? Result<bool>(true) : isAsIn(*tensor, executor));
    if (same)
      frozen.insert(state.name());
  }
  DLC_TRY(mappedFilesStatus());
  return frozen;
}

static uint64_t bytesOf(const plan::State &state) {
  return plan::bytesOf(state.type()).value_or(0);
}

// States that the next step does not read, or that the artifact has.
static bool isLeftOut(const plan::State &state, int64_t position,
                      const Share &share) {
  return (state.role() == "accumulator" &&
          (position == 0 || plan::isCache(state.name()))) ||
         share.frozen.count(state.name()) > 0;
}

static bool isAlike(const plan::State &state) {
  constexpr std::string_view kRoles[] = {"param",  "buffer", "const",
                                         "moment", "ema",    "factor"};
  return std::ranges::count(kRoles, state.role()) > 0;
}

// The bytes of each state that a rank writes, in the plan's order. Replicated
// states are split as one array, in pieces of whole elements.
static Result<std::vector<StateParts::Range>> shareOf(Executor &executor,
                                                      const Share &share) {
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  uint64_t all = 0, before = 0;
  const auto isCut = [&](const plan::State &state) {
    return isAlike(state) && !parts->isPart(state) &&
           !share.frozen.count(state.name());
  };
  for (const plan::State &state : executor.plan().states())
    all += isCut(state) ? bytesOf(state) : 0;
  const auto ranks = uint64_t(share.ranks);
  const auto cut = [&](int rank) { // avoids overflow
    return all / ranks * uint64_t(rank) + all % ranks * uint64_t(rank) / ranks;
  };
  std::vector<StateParts::Range> ranges;
  for (const plan::State &state : executor.plan().states()) {
    const uint64_t bytes = bytesOf(state);
    const uint64_t size = sizeOf(*plan::dtypeOf(state.type().dtype()));
    const auto within = [&](uint64_t place) {
      return (std::clamp(place, before, before + bytes) - before + size - 1) /
             size * size;
    };
    if (StateParts::isOwn(state)) {
      ranges.push_back({0, bytes});
    } else if (parts->isPart(state)) {
      ranges.push_back(parts->rangeOf(state));
    } else if (share.frozen.count(state.name())) {
      ranges.push_back({0, 0});
    } else if (isCut(state)) {
      ranges.push_back({within(cut(share.rank)), within(cut(share.rank + 1))});
      before += bytes;
    } else {
      ranges.push_back({0, share.rank == 0 ? bytes : 0});
    }
  }
  return ranges;
}

namespace {

struct Written {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::deque<std::vector<std::byte>> copies; // if the host has no access
};

} // namespace

// The part in the form that loadState() reads.
static Result<Written> partOf(Executor &executor, const Share &share) {
  Written part;
  if (share.rank == 0)
    plan::setFrozen(part.metadata, share.frozen);
  DLC_ASSIGN(const int64_t position, windowPosition(executor));
  DLC_ASSIGN(const auto ranges, shareOf(executor, share));
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto &state = executor.plan().states(int(i));
    const auto [begin, end] = ranges[i];
    const bool isEmpty = bytesOf(state) == 0 ? share.rank > 0 : begin == end;
    if (isLeftOut(state, position, share) || isEmpty)
      continue;
    DLC_ASSIGN(const TensorView view,
               parts->fetch(state, ranges[i], part.copies.emplace_back()));
    const DType type = *plan::dtypeOf(state.type().dtype());
    NamedTensor tensor{state.name(), type, plan::shapeOf(state.type()),
                       view.data, view.bytes};
    if (StateParts::isOwn(state)) {
      const auto count = bytesOf(state) / sizeOf(type),
                 rank = uint64_t(share.rank);
      tensor.name =
          plan::sliceName(state.name(), rank * count, (rank + 1) * count);
      part.metadata[tensor.name] =
          plan::extentsText(StateParts::shapeOfRanks(state, share.ranks));
      tensor.shape = {int64_t(count)};
    } else if (end - begin < bytesOf(state)) {
      tensor.name = plan::sliceName(state.name(), begin / sizeOf(type),
                                    end / sizeOf(type));
      part.metadata[tensor.name] = plan::extentsText(tensor.shape);
      tensor.shape = {int64_t((end - begin) / sizeOf(type))};
    }
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

// Views of live memory, or of copies.
static Result<Written> tensorsOf(Executor &executor, const Share &share) {
  if (share.ranks > 1)
    return partOf(executor, share);
  Written all;
  plan::setFrozen(all.metadata, share.frozen);
  DLC_ASSIGN(const int64_t position, windowPosition(executor));
  for (const plan::State &state : executor.plan().states()) {
    if (isLeftOut(state, position, share))
      continue;
    if (StateParts::isOwn(state)) {
      DLC_ASSIGN(StateParts *const parts, executor.parts());
      DLC_ASSIGN(const TensorView view,
                 parts->ofRanks(state, all.copies.emplace_back()));
      all.tensors.push_back({state.name(), *plan::dtypeOf(state.type().dtype()),
                             StateParts::shapeOfRanks(state, parts->ranks()),
                             view.data, view.bytes});
      continue;
    }
    DLC_ASSIGN(TensorView view,
               executor.fetchState(state.name(), all.copies.emplace_back()));
    all.tensors.push_back({state.name(), *plan::dtypeOf(state.type().dtype()),
                           plan::shapeOf(state.type()), view.data, view.bytes});
  }
  return all;
}

// Bypasses caches: the file is not read soon, and steps need memory and CPU.
static Result<FileDigest>
writeState(const std::string &path, const std::vector<NamedTensor> &tensors,
           const std::map<std::string, std::string> &metadata) {
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
  file.writer().bypassCache();
  Sha256 hash;
  DLC_TRY(writeSafetensors(file.writer(), tensors, metadata, &hash));
  const uint64_t size = file.writer().written();
  DLC_TRY(file.commit());
  return FileDigest{size, hash.digest()};
}

Result<FileDigest> saveState(Executor &executor, const std::string &path,
                             const Share &share) {
  DLC_ASSIGN(const Written written, tensorsOf(executor, share));
  return writeState(path, written.tensors, written.metadata);
}

Result<FileDigest> StateCopy::save(const std::string &path) const {
  return writeState(path, tensors_, metadata_);
}

// Also touches the pages, whose first use is slow, so that no step has to wait.
Status StateCopy::reserve(Executor &executor) {
  uint64_t bytes = 0;
  if (share_.ranks > 1) {
    DLC_ASSIGN(const auto ranges, shareOf(executor, share_));
    for (const auto &[begin, end] : ranges)
      bytes += end - begin;
    return reserve(bytes);
  }
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  for (const plan::State &state : executor.plan().states())
    if (!share_.frozen.count(state.name()))
      bytes += bytesOf(state) *
               uint64_t(StateParts::isOwn(state) ? parts->ranks() : 1);
  return reserve(bytes);
}

Status StateCopy::reserve(uint64_t bytes) {
  if (bytes <= bytes_)
    return {};
  memory_.reset();
  bytes_ = 0;
  DLC_TRY(checkMemory(bytes, "a copy of the state"));
  memory_.reset(new (std::nothrow) std::byte[bytes]);
  if (!memory_)
    return limitExceeded("no memory for {} bytes: a copy of the state", bytes);
  std::memset(memory_.get(), 0, bytes);
  bytes_ = bytes;
  return {};
}

Status StateCopy::take(Executor &executor) {
  DLC_ASSIGN(Written live, tensorsOf(executor, share_));
  tensors_ = std::move(live.tensors);
  metadata_ = std::move(live.metadata);
  uint64_t bytes = 0;
  for (const NamedTensor &tensor : tensors_)
    bytes += tensor.bytes;
  DLC_TRY(reserve(bytes));
  std::set<std::string_view> parameters;
  for (const plan::State &state : executor.plan().states())
    if (state.role() == "param")
      parameters.insert(state.name());
  std::byte *to = memory_.get();
  for (NamedTensor &tensor : tensors_) {
    const std::string_view name = // without the part number
        metadata_.contains(tensor.name)
            ? std::string_view(tensor.name).substr(0, tensor.name.rfind('['))
            : tensor.name;
    if (!copyTensor(tensor, to, parameters.contains(name)))
      return notFinite(std::string(name));
    tensor.data = to;
    to += tensor.bytes;
  }
  return {};
}

Result<int64_t> windowPosition(Executor &executor) {
  int64_t position = 0;
  if (executor.plan().accumulate() > 1)
    DLC_TRY(
        executor.readState("accumulate.position", &position, sizeof position));
  return position;
}

// Broadcasts several states at once: a message costs more than its bytes.
Status broadcastStates(Executor &executor, Communicator &communicator,
                       std::span<const plan::State *const> states) {
  std::vector<std::byte> bytes;
  for (size_t first = 0, last = 0; first < states.size(); first = last) {
    uint64_t size = 0;
    while (last < states.size() && (last == first || size < kMessageBytes))
      size += plan::bytesOf(states[last++]->type()).value_or(0);
    bytes.resize(size);
    const auto forEach = [&](auto &&act) -> Status {
      std::byte *at = bytes.data();
      for (size_t i = first; i < last; ++i) {
        const uint64_t own = plan::bytesOf(states[i]->type()).value_or(0);
        DLC_TRY(act(states[i]->name(), at, own));
        at += own;
      }
      return {};
    };
    if (communicator.rank() == 0)
      DLC_TRY(forEach([&](const std::string &name, std::byte *to, uint64_t n) {
        return executor.readState(name, to, n);
      }));
    DLC_TRY(communicator.broadcast(bytes.data(), bytes.size(), 0));
    if (communicator.rank() != 0)
      DLC_TRY(
          forEach([&](const std::string &name, std::byte *from, uint64_t n) {
            return executor.writeState(name, from, n);
          }));
  }
  return {};
}

Status broadcastState(Executor &executor, Communicator &communicator) {
  std::vector<const plan::State *> all;
  for (const plan::State &state : executor.plan().states())
    if (!StateParts::isOwn(state))
      all.push_back(&state);
  DLC_TRY(broadcastStates(executor, communicator, all));
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  for (const plan::State &state : executor.plan().states())
    if (StateParts::isOwn(state))
      DLC_TRY(parts->shareOfRanks(state, communicator));
  return setRank(executor, communicator.rank());
}

Status setRank(Executor &executor, int64_t rank) {
  if (!executor.hasState(kRank))
    return {};
  return executor.writeState(kRank, &rank, sizeof rank);
}

Result<StateBytes> useAverages(Executor &executor, int set) {
  const int sets = plan::countAverages(executor.plan());
  if (sets == 0)
    return failed("the model has no averages: compile it with --ema");
  if (set < 1 || set > sets)
    return failed("there is no set of averages {}, expected 1 to {}", set,
                  sets);
  std::map<std::string, DType> types;
  for (const plan::State &state : executor.plan().states())
    types[state.name()] = *plan::dtypeOf(state.type().dtype());
  StateBytes replaced;
  for (const plan::State &state : executor.plan().states()) {
    if (!plan::isAverage(state, set))
      continue;
    const DType from = types[state.name()], to = types[state.of()];
    std::vector<std::byte> copies[2];
    DLC_ASSIGN(TensorView average,
               executor.fetchState(state.name(), copies[0]));
    DLC_ASSIGN(TensorView current, executor.fetchState(state.of(), copies[1]));
    replaced[state.of()].assign(current.data, current.data + current.bytes);
    if (from == to) {
      std::memcpy(current.data, average.data, current.bytes);
    } else {
      auto rounded =
          castFloats(average.data, average.bytes / sizeOf(from), from, to);
      std::memcpy(current.data, rounded.data(), current.bytes);
    }
    if (!copies[1].empty())
      DLC_TRY(executor.writeState(state.of(), current.data, current.bytes));
  }
  return replaced;
}

Status restoreStates(Executor &executor, const StateBytes &states) {
  for (const auto &[name, bytes] : states)
    DLC_TRY(executor.writeState(name, bytes.data(), bytes.size()));
  return {};
}

Status checkFinite(Executor &executor, const Share &share) {
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  std::vector<StateParts::Range> ranges;
  if (share.ranks > 1) {
    DLC_ASSIGN(ranges, shareOf(executor, share));
  }
  for (int i = 0; i < executor.plan().states_size(); ++i) {
    const plan::State &state = executor.plan().states(i);
    if (state.role() != "param")
      continue;
    std::vector<std::byte> copy;
    DLC_ASSIGN(const TensorView view,
               ranges.empty() ? executor.fetchState(state.name(), copy)
                              : parts->fetch(state, ranges[i], copy));
    if (!allFinite(view.data, view.bytes, *plan::dtypeOf(state.type().dtype())))
      return notFinite(state.name());
  }
  return {};
}

} // namespace dlc
