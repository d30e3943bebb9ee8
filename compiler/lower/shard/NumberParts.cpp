// SPDX-License-Identifier: Apache-2.0
// Numbers the items of kernels that update states split over ranks: the number
// of elements of an item is known once launches are merged and kernels are
// scheduled.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Pass/Pass.h"
#include <map>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_NUMBERPARTS
#include "compiler/lower/Passes.h.inc"

namespace {

exec::BufferOp declarationOf(Value v) {
  return v.getDefiningOp<exec::BufferOp>();
}
int64_t bytesOf(Value v) { return byteSize(cast<MemRefType>(v.getType())); }

/// A range of a region that one kernel updates or reads in items.
struct Part {
  int64_t begin, bytes, extent, elements; // of an item
  int64_t item;                           // bytes
  bool isKept = false;                    // only parts are stored
};

/// By region and begin.
class Parts {
public:
  /// Numbers a launch whose items are split over ranks. An update precedes the
  /// readers of its result.
  void number(exec::LaunchOp launch, exec::KernelOp kernel) {
    const exec::Schedule &schedule = kernel.getScheduleAttr().getValue();
    const int64_t elements =
        schedule.block ? schedule.block : schedule.inner[0].size;
    const Part part{0, 0, schedule.extent(), elements, 0};
    launches[launch] = part;
    kernel.setParted(true);
    launch->setAttr(kItem, Builder(launch).getI64IntegerAttr(elements));
    for (Value v : launch->getOperands()) {
      exec::BufferOp buffer = declarationOf(v);
      const int64_t begin = buffer.getOffset();
      if (buffer.getRegion() != "scratch" &&
          cast<MemRefType>(v.getType()).getRank())
        parts.try_emplace(
            {buffer.getRegion().str(), begin},
            Part{begin, bytesOf(v), part.extent, elements,
                 elements *
                     elementBytes(
                         cast<MemRefType>(v.getType()).getElementType())});
    }
  }

  const Part &of(exec::LaunchOp launch) const {
    return launches.find(launch)->second;
  }
  /// Records that each rank only stores its part of the range.
  void keep(StringRef region, int64_t offset) {
    auto at = parts.upper_bound({region.str(), offset});
    if (at == parts.begin() || (--at)->first.first != region)
      return;
    Part &part = at->second;
    part.isKept |= offset < part.begin + part.bytes;
  }
  void declare(OpBuilder &b, Location loc) const {
    for (const auto &[place, part] : parts)
      if (part.isKept)
        exec::PartOp::create(b, loc, place.first, part.begin, part.bytes,
                             part.item, part.extent);
  }

  /// The parts within a buffer, which must cover it except for alignment gaps;
  /// empty otherwise.
  SmallVector<Part> in(Value v) const {
    exec::BufferOp buffer = declarationOf(v);
    const int64_t begin = buffer.getOffset(), end = begin + bytesOf(v);
    const std::string region = buffer.getRegion().str();
    SmallVector<Part> found;
    int64_t last = begin;
    for (auto at = parts.lower_bound({region, begin});
         at != parts.end() && at->first.first == region &&
         at->first.second < end;
         ++at) {
      const Part &part = at->second;
      if (part.begin < last || part.begin >= last + kAlignment)
        return {};
      last = part.begin + part.bytes;
      found.push_back(part);
    }
    return last == end ? found : SmallVector<Part>();
  }

private:
  std::map<std::pair<std::string, int64_t>, Part> parts;
  llvm::DenseMap<Operation *, Part> launches; // without a place
};

class Splitter {
public:
  Splitter(exec::ProgramOp program, Parts &parts)
      : block(program.getBody().front()), loc(program.getLoc()), parts(parts) {
    for (Operation &op : block)
      if (auto reduce = dyn_cast<exec::AllReduceOp>(op))
        take(reduce.getBucket());
      else if (auto call = dyn_cast<exec::CallOp>(op); call && isExchange(call))
        take(bucketOf(call));
  }

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<exec::BufferOp, exec::PortOp>(op))
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(op);
      if (launch && launch->hasAttr(kItem))
        gather(launch);
      else if (llvm::any_of(op.getOperands(), [](Value v) {
                 return declarationOf(v).getRegion() == "param";
               }))
        finish(&op, op.getLoc());
      if (auto call = dyn_cast<exec::CallOp>(op); call && isExchange(call)) {
        if (failed(split(call)))
          return failure();
      } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
        split(wait);
      }
    }
    finish(nullptr, loc);
    for (auto buffer :
         llvm::make_early_inc_range(block.getOps<exec::BufferOp>()))
      if (buffer->use_empty())
        buffer.erase();
    return success();
  }

private:
  using Started = SmallVector<std::pair<Value, int64_t>>; // ranges, buckets

  static bool isExchange(exec::CallOp call) {
    return call.getKind() == "reduce_scatter" || call.getKind() == "all_gather";
  }
  static int64_t bucketOf(exec::CallOp call) {
    return call.getArguments().getAs<IntegerAttr>("bucket").getInt();
  }
  void take(int64_t bucket) { free = std::max(free, bucket + 1); }

  void start(OpBuilder &b, Location at, StringRef kind, Value from, Value to,
             const Part &part, NamedAttrList arguments, int64_t bucket) {
    arguments.set("bucket", b.getI64IntegerAttr(bucket));
    arguments.set("extent", b.getI64IntegerAttr(part.extent));
    arguments.set(kItem, b.getI64IntegerAttr(part.elements));
    exec::CallOp::create(b, at, kind, from, to,
                         arguments.getDictionary(b.getContext()));
  }

  /// Gathers the results of an update that must be whole.
  void gather(exec::LaunchOp launch) {
    auto gathered = launch->getAttrOfType<DenseI64ArrayAttr>(kGather);
    launch->removeAttr(kGather);
    OpBuilder b(launch->getContext());
    b.setInsertionPointAfter(launch);
    for (int64_t i : gathered ? gathered.asArrayRef() : ArrayRef<int64_t>()) {
      Value range = launch.getOutputs()[i];
      start(b, launch.getLoc(), "all_gather", range, range, parts.of(launch),
            {}, free);
      pending.push_back({range, free++});
    }
  }
  /// Waits for gathers after updates.
  void finish(Operation *before, Location at) {
    OpBuilder b = before ? OpBuilder(before) : OpBuilder::atBlockEnd(&block);
    for (auto [range, bucket] : pending)
      exec::WaitOp::create(b, at, range, bucket);
    pending.clear();
  }

  LogicalResult split(exec::CallOp call) {
    Value from = call.getInputs().front(), to = call.getOutputs().front(),
          shard = call.getKind() == "all_gather" ? from : to;
    const SmallVector<Part> pieces = parts.in(shard);
    if (pieces.empty())
      return call.emitError("is of something else than whole parts");
    OpBuilder b(call);
    const int64_t begin = declarationOf(shard).getOffset(),
                  bucket = bucketOf(call);
    for (auto [i, part] : llvm::enumerate(pieces)) {
      const int64_t id = i ? free++ : bucket;
      Value all = flat(to, part.begin - begin, part.bytes);
      start(b, call.getLoc(), call.getKind(),
            flat(from, part.begin - begin, part.bytes), all, part,
            NamedAttrList(call.getArguments()), id);
      started[bucket].push_back({all, id});
      if (shard == to)
        parts.keep(declarationOf(shard).getRegion(), part.begin);
    }
    call.erase();
    return success();
  }
  void split(exec::WaitOp wait) {
    auto at = started.find(wait.getBucket());
    if (at == started.end())
      return;
    OpBuilder b(wait);
    for (auto [range, bucket] : at->second)
      exec::WaitOp::create(b, wait.getLoc(), range, bucket);
    wait.erase();
  }
  Value flat(Value of, int64_t offset, int64_t bytes) {
    exec::BufferOp buffer = declarationOf(of);
    const Type element = cast<MemRefType>(of.getType()).getElementType();
    OpBuilder b(buffer);
    return exec::BufferOp::create(
        b, of.getLoc(),
        MemRefType::get({bytes / elementBytes(element)}, element),
        buffer.getRegion(), int64_t(buffer.getOffset()) + offset);
  }

  Block &block;
  const Location loc;
  Parts &parts;
  int64_t free = 0; // next unused bucket
  Started pending;
  std::map<int64_t, Started> started; // by the bucket of the whole
};

struct NumberParts : impl::NumberPartsBase<NumberParts> {
  using NumberPartsBase::NumberPartsBase;

  void runOnOperation() final {
    const SymbolTable symbols(getOperation());
    Parts parts;
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      for (auto launch : program.getBody().front().getOps<exec::LaunchOp>())
        if (launch->hasAttr(kItem))
          parts.number(launch,
                       symbols.lookup<exec::KernelOp>(launch.getKernel()));
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      if (failed(Splitter(program, parts).run()))
        return signalPassFailure();
    for (auto state : getOperation().getOps<exec::StateOp>())
      if (ir::splitOf(state.getType()))
        parts.keep(state.getRegion(), state.getOffset());
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    parts.declare(b, getOperation().getLoc());
  }
};

} // namespace
} // namespace dlc
