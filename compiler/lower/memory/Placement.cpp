// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Placement.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/host/HostMemory.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/Overwrites.h"
#include "compiler/lower/memory/Scratch.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

constexpr int64_t kEnd = INT64_MAX;

/// Whether `op` may write result `r` over the state tensor that it reads.
bool Placement::mayAlias(Operation *op, OpResult r, StringRef state) const {
  auto reads = [&](Value operand) {
    auto read = storageOf(operand).getDefiningOp<ir::ReadOp>();
    return read && read.getState() == state;
  };
  if (auto library = dyn_cast<ir::LibraryInterface>(op))
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
      return !reads(use.get()) ||
             library.mayOverwrite(r.getResultNumber(), use.getOperandNumber());
    });
  auto fused = dyn_cast<ir::FusedOp>(op);
  return fused && llvm::all_of(fused->getOpOperands(), [&](OpOperand &use) {
           return !reads(use.get()) || mayOverwrite(fused, r, use);
         });
}

Placement::Placement(func::FuncOp f, StateLayout &layout)
    : block(f.front()), layout(layout) {
  findParts();
  findCopies();
  analyse();
  placeGradients();
  planSlots();
  placeWrites();
  joinCasts();
  placeHost();
  placeScratch();
}

bool Placement::isCommand(Operation *op) const {
  return isa<ir::FusedOp, ir::LibraryInterface, ir::OffloadOp, ir::FetchOp>(
             op) ||
         exchangeOf(op) || copies.contains(op);
}

bool Placement::hasPosition(Operation *op) const {
  return isCommand(op) || isInPlace(op) || isa<ir::WaitCopyOp>(op);
}

bool Placement::isView(Operation *op) const {
  return ((ir::isOperandsMemory(op) || isa<ir::AllReduceOp>(op)) &&
          !copies.contains(op)) ||
         (isa<ir::AllGatherOp>(op) && !exchangeOf(op)) ||
         (isa<ir::SliceOp>(op) && isInPlace(op)) || isa<ir::WaitCopyOp>(op);
}

bool Placement::isInPlace(Operation *op) { return op->hasAttr(kInPlace); }

/// Offset in bytes of a slice of whole rows.
static int64_t bytesBefore(ir::SliceOp slice) {
  auto t = tensorType(slice.getX());
  return byteSize(t) / t.getDimSize(0) * slice.getStarts()[0];
}

Placement::Range Placement::rangeOf(Value v) const {
  int64_t offset = 0;
  while (true) {
    auto part = parts.find(v);
    Operation *op = v.getDefiningOp();
    if (part != parts.end()) {
      offset += part->second.offset;
      v = part->second.storage;
    } else if (op && isView(op)) {
      if (auto slice = dyn_cast<ir::SliceOp>(op))
        offset += bytesBefore(slice);
      v = op->getOperand(0);
    } else {
      return {v, offset};
    }
  }
}

/// Commands compute operands of a concat in place in its result.
void Placement::findParts() {
  for (auto concat : block.getOps<ir::ConcatOp>()) {
    int64_t offset = 0;
    for (Value v : concat.getXs()) {
      Value whole = ir::viewedBy(v);
      if (isInPlace(concat) && whole.getDefiningOp() &&
          isCommand(whole.getDefiningOp()))
        parts.try_emplace(whole, Range{concat.getY(), offset});
      offset += byteSize(tensorType(v));
    }
  }
  for (auto fused : block.getOps<ir::FusedOp>())
    if (auto [result, operand] = overwritten(fused); result)
      parts.try_emplace(result, Range{operand, 0});
    else
      for (auto [result, operand] : dyingOperands(fused))
        if (!parts.contains(result))
          parts.try_emplace(result, Range{operand, 0});
}

SmallVector<Operation *> Placement::usersThroughViews(Value v) const {
  SmallVector<Operation *> users;
  SmallVector<Value> work{v};
  while (!work.empty())
    for (Operation *u : work.pop_back_val().getUsers()) {
      if (isView(u)) {
        work.push_back(u->getResult(0));
        continue;
      }
      users.push_back(u);
      for (Value r : u->getResults())
        if (auto part = parts.find(r);
            part != parts.end() &&
            ir::viewedBy(part->second.storage) == ir::viewedBy(v))
          work.push_back(r);
    }
  return users;
}

/// A reduction runs in place unless its operand is not the result of a command,
/// is already reduced, or has uses after the reduction may have started; and
/// with a slot, unless the operand is a part of another value.
void Placement::findCopies() {
  llvm::DenseSet<Value> reduced;
  for (Operation &op : block) {
    // With one rank nothing is reduced.
    if (!isa<ir::AllReduceOp, ir::ReduceScatterOp>(op) || !bucketOf(&op))
      continue;
    Value storage = storageOf(op.getOperand(0));
    Operation *made = storage.getDefiningOp();
    auto readLater = [&](Operation *user) {
      return user != &op && op.isBeforeInBlock(user);
    };
    copies.insert(&op); // before its own users are examined
    bool inPlace = made && isCommand(made) && reduced.insert(storage).second &&
                   (isa<ir::AllReduceOp>(op) ||
                    byteSize(tensorType(storage)) ==
                        byteSize(tensorType(op.getOperand(0)))) &&
                   llvm::none_of(usersThroughViews(storage), readLater);
    if (inPlace)
      copies.erase(&op);
  }
}

void Placement::analyse() {
  int64_t i = 0;
  for (Operation &op : block)
    if (hasPosition(&op))
      position[&op] = i++;
  for (Operation &op : block) {
    for (Value v : op.getOperands()) {
      int64_t &last = lastUse.try_emplace(storageOf(v), -1).first->second;
      if (hasPosition(&op))
        last = std::max(last, position[&op]);
      else if (isa<func::ReturnOp, ir::WriteOp>(op))
        last = kEnd;
    }
  }
  for (auto read : block.getOps<ir::ReadOp>()) {
    int64_t &last = lastRead.try_emplace(read.getState(), -1).first->second;
    for (Operation *user : usersThroughViews(read.getValue()))
      last = std::max(last, position.contains(user) ? position[user] : kEnd);
  }
  for (auto write : block.getOps<ir::WriteOp>())
    writes[write.getState()] = write;
}

bool Placement::canPlace(Value storage) const {
  return storage.getDefiningOp() && isCommand(storage.getDefiningOp()) &&
         !places.contains(storage) && !inSlots.contains(storage);
}
/// A parameter's gradient has its parameter's offset, after other values that
/// are reduced with gradients, such as the loss. Gradients of a narrower type
/// than their parameter have an area with proportionally smaller offsets.
void Placement::placeGradients() {
  struct Gradient {
    Value storage;
    int64_t offset;
  };
  SmallVector<Gradient> full, narrow;
  llvm::DenseSet<Value> taken;
  for (Operation &op : block) {
    auto reduce = dyn_cast<ir::AllReduceOp>(op);
    FlatSymbolRefAttr of = reduce ? reduce.getOfAttr()
                           : isa<ir::ReduceScatterOp>(op)
                               ? ir::splitOf(op.getResult(0))
                               : nullptr;
    Value storage = of ? storageOf(op.getResult(0)) : Value();
    if (!of || !canPlace(storage) || !taken.insert(storage).second)
      continue;
    const int64_t offset = placeOfState(of.getValue()).offset,
                  own = elementBytes(ir::elementType(storage)),
                  theirs = layout.elementBytes.lookup(of.getValue());
    own < theirs ? narrow.push_back({storage, offset / theirs * own})
                 : full.push_back({storage, offset});
  }
  int64_t end = 0;
  for (auto reduce : block.getOps<ir::AllReduceOp>()) {
    Value storage = storageOf(reduce.getY());
    if (canPlace(storage) && taken.insert(storage).second) {
      places[storage] = {"gradient", end};
      end += alignUp(byteSize(tensorType(storage)));
    }
  }
  auto place = [&](ArrayRef<Gradient> gradients) {
    const int64_t base = end;
    for (auto [storage, offset] : gradients) {
      places[storage] = {"gradient", base + offset};
      end =
          std::max(end, base + offset + alignUp(byteSize(tensorType(storage))));
    }
  };
  place(full);
  if (!full.empty() && !narrow.empty())
    end += kAlignment; // so that no range spans both
  place(narrow);
  gradientEnd = end;
}

void Placement::planSlots() {
  SmallVector<SlotMember> members;
  SmallVector<Operation *> commands;
  llvm::DenseMap<int64_t, int64_t> starts; // of buckets, when complete
  for (Operation &op : block) {
    if (position.contains(&op))
      commands.push_back(&op);
    if (auto bucket = bucketOf(&op))
      starts[*bucket] = int64_t(commands.size()) - 1;
    if (auto exchange = exchangeOf(&op)) {
      members.push_back({*exchange, placeOf(exchange->kept)});
      if (!copies.contains(&op))
        inSlots.insert(storageOf(exchange->whole));
    }
  }
  slots = dlc::slotsOf(std::move(members));
  for (auto [i, slot] : llvm::enumerate(slots))
    for (const PartExchange &each : slot.members) {
      slotOf[each.op] = i;
      Value whole = storageOf(each.whole);
      const int64_t at = position[each.op];
      slot.begin = std::min(slot.begin, copies.contains(each.op)
                                            ? at
                                            : position[whole.getDefiningOp()]);
      if (isa<ir::AllGatherOp>(each.op))
        if (auto last = lastUse.find(whole); last != lastUse.end())
          slot.end = std::max(slot.end, last->second);
      slot.end = std::max(slot.end, at);
    }
  timeScatters(commands, starts);
}

/// A scattered tensor is live until it has arrived: before its first reader, or
/// before the second bucket after it begins.
void Placement::timeScatters(ArrayRef<Operation *> commands,
                             const llvm::DenseMap<int64_t, int64_t> &starts) {
  struct Bucket {
    int64_t number, begin, start = 0, read = kEnd;
    SmallVector<Slot *> slots = {};
  };
  llvm::MapVector<int64_t, Bucket> found;
  for (Slot &slot : slots)
    for (const PartExchange &each : slot.members)
      if (isa<ir::ReduceScatterOp>(each.op)) {
        Bucket &bucket =
            found.try_emplace(each.bucket, Bucket{each.bucket, slot.begin})
                .first->second;
        bucket.begin = std::min(bucket.begin, slot.begin);
        bucket.start = starts.lookup(each.bucket);
        bucket.slots.push_back(&slot);
        for (Operation *user : usersThroughViews(each.kept))
          if (auto at = position.find(user); at != position.end())
            bucket.read = std::min(bucket.read, at->second);
      }
  SmallVector<Bucket> buckets(llvm::make_second_range(found));
  llvm::sort(buckets, [](auto &a, auto &b) { return a.begin < b.begin; });
  for (auto [i, bucket] : llvm::enumerate(buckets)) {
    int64_t end = std::max(bucket.start, bucket.read - 1);
    const auto later = std::upper_bound(
        buckets.begin() + std::min(i + 2, buckets.size()), buckets.end(),
        bucket.start,
        [](int64_t start, const Bucket &each) { return start < each.begin; });
    if (later != buckets.end()) {
      arrived[commands[later->begin]].push_back(bucket.number);
      end = std::min(end, later->begin - 1);
    }
    for (Slot *slot : bucket.slots)
      slot->end = end;
  }
}

ArrayRef<Slot> Placement::slotsOf(int64_t bucket) const {
  const auto numberOf = [](const Slot &s) { return s.members.front().bucket; };
  const auto begin = llvm::partition_point(
                 slots, [&](const Slot &s) { return numberOf(s) < bucket; }),
             end = std::partition_point(begin, slots.end(), [&](const Slot &s) {
               return numberOf(s) == bucket;
             });
  return {begin, end};
}

Place Placement::placeInSlot(Operation *exchange) const {
  const Slot &slot = slots[slotOf.lookup(exchange)];
  return {"scratch", slot.scratch + placeOf(exchangeOf(exchange)->kept).offset -
                         slot.kept.offset};
}

void Placement::placeWrites() {
  for (auto write : block.getOps<ir::WriteOp>()) {
    Value storage = storageOf(write.getValue());
    if (!canPlace(storage) ||
        byteSize(tensorType(storage)) != byteSize(tensorType(write.getValue())))
      continue;
    Operation *op = storage.getDefiningOp();
    auto it = lastRead.find(write.getState());
    int64_t read = it == lastRead.end() ? -1 : it->second;
    if (read < position[op] ||
        (read == position[op] &&
         mayAlias(op, cast<OpResult>(storage), write.getState())))
      places[storage] = layout.places[write.getState()];
  }
}

std::optional<JoinedCast> Placement::castOfState(ir::FusedOp fused) const {
  Value halves = fused->getResult(0);
  if (!isCastOfState(fused) || storageOf(halves) != halves ||
      places.contains(halves))
    return std::nullopt;
  return JoinedCast{fused, halves, placeOfState(castState(fused))};
}

/// Applies to 16-bit tensors that only the cast reads.
std::optional<JoinedCast> Placement::castOfGradient(ir::FusedOp fused) const {
  Value gradient = fused->getResult(0), operand = fused.getInputs().front(),
        halves = storageOf(operand);
  auto place = places.find(gradient);
  if (!isCastOfGradient(fused) || place == places.end() ||
      place->second.region != "gradient" || !canPlace(halves) ||
      byteSize(tensorType(halves)) != byteSize(tensorType(operand)) ||
      !llvm::all_equal(usersThroughViews(halves)))
    return std::nullopt;
  int64_t bucket = -1;
  for (Operation *user : gradient.getUsers())
    if (auto reduce = dyn_cast<ir::AllReduceOp>(user))
      bucket = reduce.getBucket().value_or(-1);
  return JoinedCast{fused, halves, place->second, bucket};
}

void Placement::joinCasts() {
  SmallVector<JoinedCast> states, gradients;
  for (auto fused : block.getOps<ir::FusedOp>()) {
    if (!fused->hasAttr(kJoined))
      continue;
    if (auto state = castOfState(fused))
      states.push_back(*state);
    else if (auto gradient = castOfGradient(fused))
      gradients.push_back(*gradient);
  }
  stateCasts = castRanges(std::move(states), kGapOfStates);
  for (CastRange &range : stateCasts)
    for (const JoinedCast &c : range.casts)
      if (auto last = lastUse.find(c.halves); last != lastUse.end())
        range.end = std::max(range.end, last->second);
  for (CastRange &range : castRanges(std::move(gradients), kGapOfGradients)) {
    range.begin = kEnd;
    for (const JoinedCast &c : range.casts) {
      range.begin = std::min(range.begin, position[c.halves.getDefiningOp()]);
      range.end = std::max(range.end, position[c.cast]);
    }
    // If one is read before the last is available, all have separate launches.
    bool isLate = llvm::all_of(range.casts, [&](const JoinedCast &c) {
      return llvm::all_of(usersThroughViews(ir::FusedOp(c.cast)->getResult(0)),
                          [&](Operation *user) {
                            return !position.contains(user) ||
                                   position[user] > range.end;
                          });
    });
    if (!isLate)
      continue;
    for (const JoinedCast &c : range.casts)
      if (position[c.cast] == range.end)
        lastCasts[c.cast] = gradientCasts.size();
    gradientCasts.push_back(range);
  }
  for (auto *ranges : {&stateCasts, &gradientCasts})
    for (const CastRange &range : *ranges)
      for (const JoinedCast &c : range.casts)
        joined.insert(c.cast);
}

/// A tensor is on the host until it has been fetched.
void Placement::placeHost() {
  SmallVector<Value> values;
  std::vector<LiveRange> ranges;
  for (auto offload : block.getOps<ir::OffloadOp>()) {
    values.push_back(offload.getY());
    ranges.push_back({position[offload], lastUse[offload.getY()],
                      byteSize(tensorType(offload.getY()))});
  }
  hostEnd = assignOffsets(ranges);
  for (auto [v, r] : llvm::zip(values, ranges))
    places[v] = {"host", r.offset};
}

void Placement::placeScratch() {
  SmallVector<Value> values;
  std::vector<LiveRange> ranges;
  auto add = [&](Value v, int64_t begin) {
    auto last = lastUse.find(v);
    int64_t end = last == lastUse.end() ? begin : std::max(begin, last->second);
    values.push_back(v);
    ranges.push_back({begin, end, byteSize(tensorType(v))});
  };
  for (BlockArgument arg : block.getArguments()) {
    add(arg, -1);
  }
  llvm::DenseSet<Value> seen = inSlots;
  SmallVector<CastRange *> casts;
  for (auto *joint : {&stateCasts, &gradientCasts})
    for (CastRange &range : *joint) {
      casts.push_back(&range);
      for (const JoinedCast &c : range.casts)
        seen.insert(c.halves);
    }
  for (Operation &op : block) {
    if (isCommand(&op) || (isa<ir::ConcatOp>(op) && isInPlace(&op)))
      for (Value r : op.getResults()) {
        Value storage = storageOf(r);
        if (!places.contains(storage) && seen.insert(storage).second)
          add(storage, position[&op]);
      }
    if (auto read = dyn_cast<ir::ReadOp>(op); read && needsSnapshot(read))
      add(read.getValue(), -1);
  }
  for (const CastRange *range : casts)
    ranges.push_back({range->begin, range->end, range->bytes()});
  for (const Slot &slot : slots)
    ranges.push_back({slot.begin, slot.end, slot.room()});
  scratchEnd = assignOffsets(ranges, slots.size());
  for (auto [v, r] : llvm::zip(values, ranges))
    places[v] = {"scratch", r.offset};
  for (auto [slot, r] :
       llvm::zip(slots, ArrayRef(ranges).take_back(slots.size()))) {
    slot.scratch = r.offset + slot.head();
    for (const PartExchange &each : slot.members)
      if (!copies.contains(each.op))
        places[storageOf(each.whole)] = placeInSlot(each.op);
  }
  for (auto [range, r] : llvm::zip(
           casts,
           ArrayRef(ranges).drop_back(slots.size()).take_back(casts.size()))) {
    range->scratch = r.offset;
    for (const JoinedCast &c : range->casts)
      places[c.halves] = range->placeOfHalves(c);
  }
}
bool Placement::needsSnapshot(ir::ReadOp read) const {
  if (!writes.contains(read.getState()))
    return false;
  return llvm::any_of(usersThroughViews(read.getValue()), [&](Operation *u) {
    auto write = dyn_cast<ir::WriteOp>(u);
    return isa<func::ReturnOp>(u) ||
           (write && write.getState() != read.getState());
  });
}
Place Placement::placeOf(Value v) const {
  auto [storage, offset] = rangeOf(v);
  auto it = places.find(storage);
  Place place =
      it != places.end()
          ? it->second
          : placeOfState(storage.getDefiningOp<ir::ReadOp>().getState());
  place.offset += offset;
  return place;
}

Place Placement::placeOfState(StringRef state) const {
  return layout.places.lookup(state);
}

} // namespace dlc
