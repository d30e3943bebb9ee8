// SPDX-License-Identifier: Apache-2.0
// Each rank keeps a part of the parameters, too, and has a bucket of them whole
// only around the commands that use it.
//
//   1. What ranks update in parts (dlc-shard-updates) need not be gathered
//      behind the update: the parameter region keeps a rank's parts alone.
//   2. The parts of one bucket of gradients are a bucket of parameters: layers
//      side by side. Commands use it in scratch memory, where it is gathered
//      ahead, beside the computation before, in place of one that is not used
//      any more, or not so soon.
//   3. What is small, or used in another way, stays whole, and is gathered
//      behind its update.
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/emit/Buckets.h"
#include "compiler/lower/memory/Scratch.h"
#include "compiler/lower/memory/StateLayout.h"
#include "compiler/lower/memory/Stays.h"
#include "mlir/Pass/Pass.h"
#include <map>
#include <set>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_GATHERPARAMETERS
#include "compiler/lower/Passes.h.inc"

namespace {

std::optional<RegionRange> parameterRange(Value v) {
  return rangeInRegion(v, "param");
}

/// What a kernel updates in items, and the gather behind it tells of.
struct ParameterPart {
  RegionRange range;
  Type element;
  int64_t extent, item;
  Location loc;
};
using ParameterParts = std::map<int64_t, ParameterPart>; // by their begin

/// Those that overlap a range.
std::pair<ParameterParts::iterator, ParameterParts::iterator>
overlapping(ParameterParts &parts, const RegionRange &range) {
  auto first = parts.upper_bound(range.begin);
  if (first != parts.begin() &&
      std::prev(first)->second.range.end > range.begin)
    --first;
  return {first, parts.lower_bound(range.end)};
}

/// What travels together.
struct ParameterBucket {
  SmallVector<const ParameterPart *> parts;
  /// Where its memory begins: tensors keep their alignment.
  int64_t origin() const {
    return parts.front()->range.begin / kAlignment * kAlignment;
  }
  int64_t bytes() const { return alignUp(parts.back()->range.end - origin()); }
};

/// The gather behind an update in place.
exec::CallOp gatherBehind(Operation *op) {
  auto call = dyn_cast<exec::CallOp>(op);
  return call && call.getKind() == "all_gather" &&
                 call.getInputs().front() == call.getOutputs().front()
             ? call
             : nullptr;
}

int64_t argumentOf(exec::CallOp call, StringRef name) {
  return call.getArguments().getAs<IntegerAttr>(name).getInt();
}

//===--- which parameters are in parts ------------------------------------===//

class PartFinder {
public:
  PartFinder(ModuleOp module, int64_t least) : module(module), least(least) {}

  ParameterParts run() {
    for (auto program : module.getOps<exec::ProgramOp>())
      for (auto call : program.getBody().front().getOps<exec::CallOp>())
        if (gatherBehind(call))
          add(call);
    std::erase_if(parts, [&](const auto &entry) {
      return entry.second.range.bytes() < least;
    });
    for (auto program : module.getOps<exec::ProgramOp>())
      keepWhole(program);
    return std::move(parts);
  }

private:
  void add(exec::CallOp call) {
    Value v = call.getInputs().front();
    const RegionRange range = *parameterRange(v);
    parts.try_emplace(
        range.begin,
        ParameterPart{range, cast<MemRefType>(v.getType()).getElementType(),
                      argumentOf(call, "extent"), argumentOf(call, kShard),
                      call.getLoc()});
  }

  /// A use that is not of one part alone, that writes, that follows the update,
  /// or that the host does itself.
  void keepWhole(exec::ProgramOp program) {
    llvm::DenseSet<int64_t> updated, gathers;
    const bool isHosts = program->hasAttr("dlc.after");
    for (Operation &op : program.getBody().front()) {
      if (isa<exec::BufferOp>(op))
        continue;
      if (exec::CallOp call = gatherBehind(&op)) {
        gathers.insert(argumentOf(call, "bucket"));
        continue;
      }
      auto wait = dyn_cast<exec::WaitOp>(op);
      if (wait && gathers.contains(wait.getBucket()))
        continue;
      const bool isUpdate = op.hasAttr(kShard);
      const bool isOdd = isHosts || isa<exec::PortOp>(op);
      for (Value v : op.getOperands()) {
        auto range = parameterRange(v);
        if (!range)
          continue;
        auto [first, last] = overlapping(parts, *range);
        if (first == last)
          continue;
        const RegionRange &part = first->second.range;
        const bool isWithin =
            part.begin <= range->begin && range->end <= part.end;
        if (isUpdate ? part == *range
                     : isWithin && !isOdd && !updated.contains(part.begin) &&
                           !isOutput(&op, v)) {
          if (isUpdate && isOutput(&op, v))
            updated.insert(part.begin);
          continue;
        }
        op.emitWarning("--zero=3: the parameters of '")
            << locationLabel(first->second.loc)
            << "' stay whole on each rank, because of how '"
            << locationLabel(op.getLoc()) << "' uses them";
        parts.erase(first, last);
      }
    }
  }

  static bool isOutput(Operation *op, Value v) {
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      return llvm::is_contained(launch.getOutputs(), v);
    if (auto call = dyn_cast<exec::CallOp>(op))
      return llvm::is_contained(call.getOutputs(), v);
    if (auto copy = dyn_cast<exec::CopyOp>(op))
      return copy.getTo() == v;
    return true; // a wait or an all-reduce changes its operand
  }

  ModuleOp module;
  const int64_t least;
  ParameterParts parts;
};

/// Parts whose gradients travel together.
std::vector<ParameterBucket> bucketsOf(ModuleOp module,
                                       const ParameterParts &parts) {
  std::set<int64_t> begins;
  for (auto program : module.getOps<exec::ProgramOp>())
    for (int64_t begin : parameterBuckets(program))
      begins.insert(begin);
  std::vector<ParameterBucket> buckets;
  auto last = begins.end();
  for (const auto &[begin, part] : parts) {
    auto mine = begins.upper_bound(begin);
    if (buckets.empty() || mine != last)
      buckets.emplace_back();
    last = mine;
    buckets.back().parts.push_back(&part);
  }
  return buckets;
}

//===--- gathers ----------------------------------------------------------===//

class ProgramGatherer {
public:
  ProgramGatherer(exec::ProgramOp program, ArrayRef<ParameterBucket> buckets,
                  size_t most)
      : program(program), block(program.getBody().front()), buckets(buckets),
        most(most), nextId(firstFreeBucket(program)),
        commandsOf(buckets.size()) {}

  void run() {
    eraseGathersBehind();
    findUses();
    const std::vector<Stay> stays = planStays(uses, most);
    const std::vector<LiveRange> places = place(stays);
    SmallVector<int64_t> ids;
    for (auto [stay, place] : llvm::zip(stays, places)) {
      ids.push_back(nextId);
      start(stay, place.offset);
    }
    // What is started before a command, before what that waits for.
    for (auto [stay, place, id] : llvm::zip(stays, places, ids)) {
      wait(stay, place.offset, id);
      move(stay, place.offset);
    }
  }

private:
  /// The number of the bucket that a range is in, if it is in a part.
  std::optional<size_t> bucketOf(Value v) const {
    auto range = parameterRange(v);
    if (!range)
      return std::nullopt;
    auto at = llvm::upper_bound(buckets, range->begin,
                                [](int64_t begin, const ParameterBucket &b) {
                                  return begin < b.parts.front()->range.begin;
                                });
    if (at == buckets.begin())
      return std::nullopt;
    --at;
    const bool isInPart =
        llvm::any_of(at->parts, [&](const ParameterPart *part) {
          return part->range.begin <= range->begin &&
                 range->end <= part->range.end;
        });
    return isInPart ? std::optional(size_t(at - buckets.begin()))
                    : std::nullopt;
  }

  void eraseGathersBehind() {
    llvm::DenseSet<int64_t> gone;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto wait = dyn_cast<exec::WaitOp>(op);
      exec::CallOp call = gatherBehind(&op);
      if (call && bucketOf(call.getInputs().front()))
        gone.insert(argumentOf(call, "bucket"));
      else if (!wait || !gone.contains(wait.getBucket()))
        continue;
      op.erase();
    }
  }

  void findUses() {
    for (Operation &op : block) {
      if (isa<exec::BufferOp, exec::PortOp>(op))
        continue;
      const auto command = int64_t(commands.size());
      commands.push_back(&op);
      if (op.hasAttr(kShard))
        continue;
      std::set<size_t> mine;
      for (Value v : op.getOperands())
        if (auto bucket = bucketOf(v); bucket && mine.insert(*bucket).second) {
          uses.push_back({command, *bucket});
          commandsOf[*bucket].push_back(command);
        }
    }
  }

  /// Behind all other scratch memory.
  std::vector<LiveRange> place(ArrayRef<Stay> stays) {
    std::vector<LiveRange> ranges;
    for (const Stay &stay : stays)
      ranges.push_back({stay.begin, stay.last, buckets[stay.what].bytes()});
    const int64_t base = alignUp(program.getScratchBytes());
    std::vector<LiveRange> turns = ranges;
    const int64_t bytes = assignOffsets(ranges), places = assignPlaces(turns);
    if (places < bytes)
      ranges = std::move(turns);
    if (bytes)
      program.setScratchBytes(base + std::min(bytes, places));
    for (LiveRange &range : ranges)
      range.offset += base;
    return ranges;
  }

  Value declare(StringRef region, int64_t offset, MemRefType type,
                Location loc) {
    auto b = OpBuilder::atBlockBegin(&block);
    return exec::BufferOp::create(b, loc, type, region, offset);
  }
  static MemRefType flatType(const ParameterPart &part) {
    const int64_t size = (part.element.getIntOrFloatBitWidth() + 7) / 8;
    return MemRefType::get({part.range.bytes() / size}, part.element);
  }
  Value whole(const Stay &stay, int64_t offset, const ParameterPart &part) {
    return declare("scratch",
                   offset + part.range.begin - buckets[stay.what].origin(),
                   flatType(part), part.loc);
  }

  void start(const Stay &stay, int64_t offset) {
    OpBuilder b(commands[size_t(stay.begin)]);
    for (const ParameterPart *part : buckets[stay.what].parts) {
      NamedAttrList arguments;
      arguments.set("bucket", b.getI64IntegerAttr(nextId++));
      arguments.set("extent", b.getI64IntegerAttr(part->extent));
      arguments.set(kShard, b.getI64IntegerAttr(part->item));
      exec::CallOp::create(
          b, part->loc, "all_gather",
          declare("param", part->range.begin, flatType(*part), part->loc),
          whole(stay, offset, *part), arguments.getDictionary(b.getContext()));
    }
  }

  void wait(const Stay &stay, int64_t offset, int64_t id) {
    Operation *first = commands[size_t(stay.first)];
    OpBuilder b(first);
    for (const ParameterPart *part : buckets[stay.what].parts)
      exec::WaitOp::create(b, first->getLoc(), whole(stay, offset, *part),
                           id++);
  }

  /// The operands of the commands of a stay.
  void move(const Stay &stay, int64_t offset) {
    const int64_t distance = offset - buckets[stay.what].origin();
    llvm::DenseMap<Value, Value> moved;
    for (auto use = llvm::lower_bound(commandsOf[stay.what], stay.first);
         use != commandsOf[stay.what].end() && *use <= stay.last; ++use) {
      for (OpOperand &operand : commands[size_t(*use)]->getOpOperands()) {
        if (bucketOf(operand.get()) != stay.what)
          continue;
        Value &there = moved[operand.get()];
        if (!there)
          there = declare("scratch",
                          distance + parameterRange(operand.get())->begin,
                          cast<MemRefType>(operand.get().getType()),
                          operand.get().getLoc());
        operand.set(there);
      }
    }
  }

  exec::ProgramOp program;
  Block &block;
  ArrayRef<ParameterBucket> buckets;
  const size_t most;
  int64_t nextId;
  SmallVector<Operation *> commands;
  std::vector<TimedUse> uses;
  std::vector<std::vector<int64_t>> commandsOf; // of each bucket
};

struct GatherParameters : impl::GatherParametersBase<GatherParameters> {
  using GatherParametersBase::GatherParametersBase;

  void runOnOperation() final {
    const ParameterParts parts = PartFinder(getOperation(), least).run();
    const auto buckets = bucketsOf(getOperation(), parts);
    int64_t scratch = 0;
    for (auto program : getOperation().getOps<exec::ProgramOp>()) {
      ProgramGatherer(program, buckets, size_t(ahead) + 1).run();
      scratch = std::max<int64_t>(scratch, program.getScratchBytes());
    }
    for (auto region : getOperation().getOps<exec::RegionOp>())
      if (region.getKind() == "scratch")
        region.setBytes(std::max<int64_t>(region.getBytes(), scratch));
  }
};

} // namespace

} // namespace dlc
