// SPDX-License-Identifier: Apache-2.0
// Each rank keeps, of a bucket's mean, the part that its updates read: where
// ranks share out the kernels that read a bucket (dlc-shard-updates), its
// all-reduce becomes a reduce-scatter.
//
//   1. Until their bucket is under way gradients are whole, in one of few slots
//      of scratch memory; a slot is free for another bucket once the scatter
//      from it has ended.
//   2. Behind that the gradient region holds the mean, of which the runtime
//      keeps a rank's parts alone.
//   3. What sums up all gradients (norm, finiteness) sums parts, and then
//   ranks.
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/emit/Buckets.h"
#include "compiler/lower/emit/PartSums.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Pass/Pass.h"
#include <map>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_SCATTERGRADIENTS
#include "compiler/lower/Passes.h.inc"

namespace {

std::optional<RegionRange> gradientRange(Value v) {
  return rangeInRegion(v, "gradient");
}

/// What sums up gradients, by its call: the calls for the sum, an integer of so
/// many words, and for what is made of it.
struct Summary {
  StringRef call, sum, result;
  int64_t words;
};
constexpr Summary kSummaries[] = {
    {"all_finite", "count_nonfinite", "none_counted", ir::kWordsOfCount},
    {"global_norm", "square_sums", "norm_of_squares", ir::kWordsOfSquares},
};

class Scatterer {
public:
  Scatterer(exec::ProgramOp program, SymbolTable &symbols, PartSums &sums,
            int64_t level)
      : program(program), block(program.getBody().front()), symbols(symbols),
        sums(sums), level(level), nextId(firstFreeBucket(program)),
        end(alignUp(program.getScratchBytes())) {}

  LogicalResult run() {
    findBuckets();
    if (buckets.empty())
      return success();
    if (failed(findParts()))
      return failure();
    placeSlots();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(rewrite(&op)))
        return failure();
    program.setScratchBytes(end);
    return success();
  }

private:
  struct Part {
    RegionRange range;
    int64_t extent, item; // of the kernel that reads it
    int64_t id = 0;
  };
  struct Bucket {
    exec::AllReduceOp reduce;
    RegionRange range; // without what else travels with it
    SmallVector<Part> parts = {};
    int64_t first = INT64_MAX, start = 0; // commands: writes it, is its reduce
    size_t slot = 0;
    Bucket *before = nullptr; // in the slot
    bool hasRoom = false, started = false, waited = false;
    Location loc;
    Value head = nullptr; // what else travels with it
  };
  struct Slot {
    int64_t bytes = 0, offset = 0;
    Bucket *last = nullptr;
  };

  Bucket *bucketAt(const RegionRange &range) {
    auto at = buckets.upper_bound(range.begin);
    if (at == buckets.begin())
      return nullptr;
    Bucket &bucket = std::prev(at)->second;
    return range.begin < bucket.range.end ? &bucket : nullptr;
  }

  void findBuckets() {
    auto head = program->getAttrOfType<IntegerAttr>(kGradientHead);
    int64_t position = 0;
    for (auto reduce : block.getOps<exec::AllReduceOp>()) {
      auto range = gradientRange(reduce.getBuffer());
      if (!head || !range || range->end <= head.getInt() ||
          reduce.getOp() != "mean")
        continue;
      range->begin = std::max(range->begin, head.getInt());
      auto at = buckets.try_emplace(
          range->begin,
          Bucket{.reduce = reduce, .range = *range, .loc = reduce.getLoc()});
      byId[reduce.getBucket()] = &at.first->second;
    }
    for (Operation &op : block) {
      ++position;
      if (isa<exec::BufferOp, exec::PortOp>(op))
        continue;
      for (Value v : op.getOperands())
        if (auto range = gradientRange(v))
          if (Bucket *bucket = bucketAt(*range))
            bucket->first = std::min(bucket->first, position);
      if (auto reduce = dyn_cast<exec::AllReduceOp>(op))
        if (auto bucket = byId.find(reduce.getBucket()); bucket != byId.end())
          bucket->second->start = position;
    }
  }

  /// The kernels that ranks share out read all of each bucket.
  LogicalResult findParts() {
    for (auto launch : block.getOps<exec::LaunchOp>()) {
      auto item = launch->getAttrOfType<IntegerAttr>(kShard);
      if (!item)
        continue;
      const int64_t extent = symbols.lookup<exec::KernelOp>(launch.getKernel())
                                 .getScheduleAttr()
                                 .getValue()
                                 .extent();
      for (Value v : launch.getInputs())
        if (auto range = gradientRange(v))
          if (Bucket *bucket = bucketAt(*range);
              bucket && llvm::none_of(bucket->parts, [&](const Part &part) {
                return part.range == *range;
              }))
            bucket->parts.push_back({*range, extent, item.getInt()});
    }
    for (auto &[begin, bucket] : buckets) {
      llvm::sort(bucket.parts, [](const Part &a, const Part &b) {
        return a.range.begin < b.range.begin;
      });
      int64_t at = begin;
      for (Part &part : bucket.parts) {
        if (part.range.begin < at || part.range.begin >= at + kAlignment)
          break;
        at = part.range.end;
        part.id = nextId++;
      }
      if (at != bucket.range.end)
        return refuse(bucket.reduce, "something else than element by element "
                                     "updates reads");
    }
    return success();
  }

  LogicalResult refuse(Operation *op, StringRef what) {
    return op->emitError("--zero=")
           << level << ": " << what << " the gradients of '"
           << locationLabel(op->getLoc())
           << "', of which each rank has a part; use --zero=1";
  }

  /// Two slots, so that one is filled while the other one's bucket travels;
  /// more if gradients do not come bucket by bucket.
  void placeSlots() {
    SmallVector<Bucket *> order;
    for (auto &[begin, bucket] : buckets)
      order.push_back(&bucket);
    llvm::sort(order, [](Bucket *a, Bucket *b) { return a->first < b->first; });
    for (Bucket *bucket : order) {
      Slot *free = nullptr;
      for (Slot &slot : slots)
        if (slot.last->start < bucket->first &&
            (!free || slot.last->start < free->last->start))
          free = &slot;
      if (!free || slots.size() < 2)
        free = &slots.emplace_back();
      bucket->slot = free - slots.begin();
      bucket->before = std::exchange(free->last, bucket);
      free->bytes =
          std::max(free->bytes, bucket->range.end - originOf(*bucket));
    }
    for (Slot &slot : slots)
      slot.offset = take(slot.bytes);
  }
  /// What lies at the slot's begin: tensors keep their alignment.
  static int64_t originOf(const Bucket &bucket) {
    return bucket.range.begin / kAlignment * kAlignment;
  }
  int64_t take(int64_t bytes) {
    return std::exchange(end, end + alignUp(bytes));
  }

  Value declare(StringRef region, int64_t offset, MemRefType type,
                Location loc) {
    auto b = OpBuilder::atBlockBegin(&block);
    return exec::BufferOp::create(b, loc, type, region, offset);
  }
  Value flat(StringRef region, int64_t offset, int64_t bytes, Value like) {
    const Type element = cast<MemRefType>(like.getType()).getElementType();
    const int64_t size = (element.getIntOrFloatBitWidth() + 7) / 8;
    return declare(region, offset, MemRefType::get({bytes / size}, element),
                   like.getLoc());
  }
  int64_t placeOf(const Bucket &bucket, int64_t offset) const {
    return slots[bucket.slot].offset + offset - originOf(bucket);
  }

  void wait(Bucket &bucket, Operation *before) {
    if (!bucket.started || std::exchange(bucket.waited, true))
      return;
    OpBuilder b(before);
    for (const Part &part : bucket.parts)
      exec::WaitOp::create(b, bucket.loc, partBuffers[part.id], part.id);
  }

  LogicalResult rewrite(Operation *op) {
    if (isa<exec::BufferOp, exec::PortOp>(op))
      return success();
    if (auto reduce = dyn_cast<exec::AllReduceOp>(op)) {
      if (auto bucket = byId.find(reduce.getBucket()); bucket != byId.end())
        start(*bucket->second, reduce);
      return success();
    }
    if (auto arrival = dyn_cast<exec::WaitOp>(op)) {
      if (auto bucket = byId.find(arrival.getBucket()); bucket != byId.end())
        finish(*bucket->second, arrival);
      return success();
    }
    bool reads = false;
    for (OpOperand &operand : op->getOpOperands()) {
      auto range = gradientRange(operand.get());
      Bucket *bucket = range ? bucketAt(*range) : nullptr;
      if (bucket && !bucket->started)
        moveToSlot(*bucket, operand, range->begin);
      reads |= bucket && bucket->started;
    }
    return reads ? rewriteReader(op) : success();
  }

  void moveToSlot(Bucket &bucket, OpOperand &operand, int64_t offset) {
    if (!std::exchange(bucket.hasRoom, true) && bucket.before)
      wait(*bucket.before, operand.getOwner());
    Value &there = moved[operand.get()];
    if (!there)
      there = declare("scratch", placeOf(bucket, offset),
                      cast<MemRefType>(operand.get().getType()),
                      operand.get().getLoc());
    operand.set(there);
  }

  void start(Bucket &bucket, exec::AllReduceOp reduce) {
    OpBuilder b(reduce);
    Value all = reduce.getBuffer();
    bucket.started = true;
    if (auto range = gradientRange(all); range->begin < bucket.range.begin) {
      bucket.head = flat("gradient", range->begin,
                         bucket.range.begin - range->begin, all);
      exec::AllReduceOp::create(b, reduce.getLoc(), bucket.head,
                                reduce.getBucket(), "mean");
    }
    for (const Part &part : bucket.parts) {
      const int64_t bytes = part.range.end - part.range.begin;
      Value from =
          flat("scratch", placeOf(bucket, part.range.begin), bytes, all);
      Value to = flat("gradient", part.range.begin, bytes, all);
      NamedAttrList arguments;
      arguments.set("bucket", b.getI64IntegerAttr(part.id));
      arguments.set("extent", b.getI64IntegerAttr(part.extent));
      arguments.set("op", b.getStringAttr("mean"));
      arguments.set(kShard, b.getI64IntegerAttr(part.item));
      exec::CallOp::create(b, reduce.getLoc(), "reduce_scatter", from, to,
                           arguments.getDictionary(b.getContext()));
      partBuffers[part.id] = to;
    }
    reduce.erase();
  }

  void finish(Bucket &bucket, exec::WaitOp arrival) {
    wait(bucket, arrival);
    if (bucket.head) {
      OpBuilder b(arrival);
      exec::WaitOp::create(b, arrival.getLoc(), bucket.head,
                           arrival.getBucket());
    }
    arrival.erase();
  }

  LogicalResult rewriteReader(Operation *op) {
    auto isPart = [&](Value v) {
      auto range = gradientRange(v);
      Bucket *bucket = range ? bucketAt(*range) : nullptr;
      return !bucket || llvm::any_of(bucket->parts, [&](const Part &part) {
        return part.range == *range;
      });
    };
    if (op->hasAttr(kShard) && llvm::all_of(op->getOperands(), isPart))
      return success();
    if (auto call = dyn_cast<exec::CallOp>(op))
      for (const Summary &summary : kSummaries)
        if (call.getKind() == summary.call &&
            llvm::all_of(call.getInputs(), [&](Value v) {
              auto range = gradientRange(v);
              return range && bucketAt(*range);
            })) {
          sumUp(call, summary);
          return success();
        }
    return refuse(op, "what reads");
  }

  void sumUp(exec::CallOp call, const Summary &summary) {
    if (call.getArguments().contains(kOfParts))
      return sums.replace(call, nextId++, [&](MemRefType type) {
        return declare("scratch", take(byteSize(type)), type, call.getLoc());
      });
    OpBuilder b(call);
    const Location loc = call.getLoc();
    auto type = MemRefType::get({summary.words}, b.getI64Type());
    Value sum = declare("scratch", take(byteSize(type)), type, loc);
    NamedAttrList arguments(call.getArguments());
    arguments.set("parts", b.getI64IntegerAttr(1));
    exec::CallOp::create(b, loc, summary.sum, call.getInputs(), sum,
                         arguments.getDictionary(b.getContext()),
                         call.getFlops());
    const int64_t id = nextId++;
    exec::AllReduceOp::create(b, loc, sum, id, "sum");
    exec::WaitOp::create(b, loc, sum, id);
    exec::CallOp::create(b, loc, summary.result, sum, call.getOutputs(),
                         b.getDictionaryAttr({}));
    call.erase();
  }

  exec::ProgramOp program;
  Block &block;
  SymbolTable &symbols;
  PartSums &sums;
  const int64_t level;
  std::map<int64_t, Bucket> buckets; // by their begin
  std::map<int64_t, Bucket *> byId;
  std::map<int64_t, Value> partBuffers;
  SmallVector<Slot> slots;
  llvm::DenseMap<Value, Value> moved;
  int64_t nextId, end;
};

struct ScatterGradients : impl::ScatterGradientsBase<ScatterGradients> {
  using ScatterGradientsBase::ScatterGradientsBase;

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    PartSums sums(symbols);
    int64_t scratch = 0;
    for (auto program : getOperation().getOps<exec::ProgramOp>()) {
      if (failed(Scatterer(program, symbols, sums, level).run()))
        return signalPassFailure();
      program->removeAttr(kGradientHead);
      program->removeAttr(kNarrowGradients);
      scratch = std::max<int64_t>(scratch, program.getScratchBytes());
    }
    for (auto region : getOperation().getOps<exec::RegionOp>())
      if (region.getKind() == "scratch")
        region.setBytes(std::max<int64_t>(region.getBytes(), scratch));
    if (failed(scheduleKernels(getOperation()))) // those that are new
      signalPassFailure();
  }
};

} // namespace

} // namespace dlc
