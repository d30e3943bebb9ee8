// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/emit/EmitProgram.h"
#include "compiler/dialect/MovedBytes.h"
#include "compiler/dialect/host/HostMemory.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Marks.h"
#include <map>

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

constexpr int64_t kMostAhead = 1 << 20; // bytes: others wait meanwhile

MemRefType memrefOf(ShapedType t) {
  return MemRefType::get(t.getShape(), t.getElementType());
}

class ProgramEmitter {
public:
  ProgramEmitter(func::FuncOp f, const Placement &places, KernelTable &kernels)
      : f(f), block(f.front()), places(places), kernels(kernels) {}

  LogicalResult run() {
    if (failed(checkCommands()))
      return failure();
    OpBuilder b = begin();
    ports(b);
    for (auto read : block.getOps<ir::ReadOp>())
      if (places.needsSnapshot(read))
        exec::CopyOp::create(b, read.getLoc(),
                             buffer(places.placeOfState(read.getState()),
                                    tensorType(read.getValue()), read.getLoc()),
                             buffer(read.getValue()));
    if (failed(countBuckets()))
      return failure();
    for (const CastRange &range : places.casts())
      launchCasts(b, range);
    for (Operation &op : block) {
      for (int64_t bucket : places.arrivedAt(&op))
        if (failed(ensureArrived(b, &op, bucket)))
          return failure();
      if (failed(emit(b, &op)))
        return failure();
    }
    for (Value v : block.getTerminator()->getOperands())
      if (failed(ensureArrived(b, v)))
        return failure();
    if (failed(copyWrites(b)))
      return failure();
    sendAhead(*b.getBlock());
    lastDeclaration->erase();
    return success();
  }

private:
  LogicalResult checkCommands() {
    for (Operation &op : block)
      if (!places.isCommand(&op) && !places.isView(&op) &&
          !isa<ir::ReadOp, ir::WriteOp, func::ReturnOp>(op) &&
          !Placement::isInPlace(&op))
        return op.emitError()
               << "'" << op.getName() << "' has no lowering to a command";
    return success();
  }

  /// The insertion point of a new program's commands; buffers are declared
  /// before the marker that precedes them.
  OpBuilder begin() {
    auto at = OpBuilder(f->getParentOp()->getContext());
    at.setInsertionPoint(f);
    auto program = exec::ProgramOp::create(at, f.getLoc(), f.getSymName(),
                                           places.scratchBytes());
    for (StringRef name : {StringRef("dlc.after"), StringRef(ir::kUpdates)})
      if (Attribute value = f->getAttr(name))
        program->setAttr(name, value);
    OpBuilder b = OpBuilder::atBlockEnd(at.createBlock(&program.getBody()));
    lastDeclaration =
        exec::RegionOp::create(b, f.getLoc(), "marker", "scratch", 0);
    return b;
  }

  LogicalResult emit(OpBuilder &b, Operation *op) {
    if (places.isJoined(op)) {
      if (const CastRange *range = places.castsAt(op))
        launchCasts(b, *range);
      return success();
    }
    if (auto fused = dyn_cast<ir::FusedOp>(op))
      return launch(b, fused);
    if (auto library = dyn_cast<ir::LibraryInterface>(op))
      return call(b, library);
    if (auto concat = dyn_cast<ir::ConcatOp>(op))
      return copyParts(b, concat);
    if (isa<ir::OffloadOp, ir::FetchOp>(op))
      return startCopy(b, op);
    if (auto wait = dyn_cast<ir::WaitCopyOp>(op)) {
      Operation *copy = wait.getStarted().getDefiningOp();
      exec::WaitCopyOp::create(b, op->getLoc(),
                               buffer(isa<ir::OffloadOp>(copy)
                                          ? wait.getSource()
                                          : wait.getStarted()),
                               copyNumbers.lookup(copy));
      return success();
    }
    if (!bucketOf(op))
      return success();
    if (failed(copyOperand(b, op)))
      return failure();
    collect(b, op);
    return success();
  }

  Value buffer(const Place &place, ShapedType type, Location loc) {
    MemRefType memref = memrefOf(type);
    auto key =
        std::tuple(place.region, place.offset, memref.getAsOpaquePointer());
    Value &b = buffers[key];
    if (!b) {
      OpBuilder builder(lastDeclaration);
      b = exec::BufferOp::create(builder, loc, memref, place.region,
                                 place.offset);
    }
    return b;
  }
  Value buffer(Value v) {
    return buffer(places.placeOf(v), tensorType(v), v.getLoc());
  }

  void ports(OpBuilder &b) {
    auto name = [&](DictionaryAttr attrs, StringRef fallback) {
      auto n = attrs ? attrs.getAs<StringAttr>("dlc.name") : StringAttr();
      return n ? n.getValue().str() : fallback.str();
    };
    for (BlockArgument arg : f.getArguments()) {
      unsigned i = arg.getArgNumber();
      auto limit = f.getArgAttrOfType<IntegerAttr>(i, "dlc.limit");
      exec::PortOp::create(
          b, arg.getLoc(), "input",
          name(f.getArgAttrDict(i), "input" + std::to_string(i)), buffer(arg),
          limit ? limit.getInt() : 0, bool(f.getArgAttr(i, "dlc.from_end")));
    }
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      exec::PortOp::create(
          b, v.getLoc(), "output",
          name(f.getResultAttrDict(i), "output" + std::to_string(i)), buffer(v),
          0, false);
  }

  LogicalResult ensureArrived(OpBuilder &b, Value v) {
    Operation *op = collectiveOf(v);
    return op ? ensureArrived(b, op, *bucketOf(op)) : success();
  }
  LogicalResult ensureArrived(OpBuilder &b, Operation *op, int64_t number) {
    Bucket &bucket = buckets[number];
    if (!bucket.started)
      return op->emitError("is used before its bucket is complete");
    for (auto [range, id] : bucket.ranges)
      exec::WaitOp::create(b, op->getLoc(), range, id);
    bucket.ranges.clear();
    return success();
  }
  LogicalResult operands(OpBuilder &b, ValueRange values,
                         SmallVectorImpl<Value> &out) {
    for (Value v : values) {
      if (failed(ensureArrived(b, v)))
        return failure();
      out.push_back(buffer(v));
    }
    return success();
  }
  LogicalResult launch(OpBuilder &b, ir::FusedOp op) {
    SmallVector<Value> ins, outs;
    if (failed(operands(b, op.getInputs(), ins)))
      return failure();
    for (Value v : op.getOutputs())
      outs.push_back(buffer(v));
    copyRows(b, op, ins, outs);
    exec::KernelOp kernel = kernels.get(op);
    auto launch =
        exec::LaunchOp::create(b, op.getLoc(), kernel.getSymName(), ins, outs);
    auto isShard = [](Value v) { return bool(ir::splitOf(v)); };
    if (llvm::any_of(op.getOutputs(), isShard))
      markShared(launch, op);
    else if (llvm::any_of(op.getInputs(), isShard))
      kernel.setParted(true); // kernels that sum a rank's part
    return success();
  }
  /// A kernel of dlc.put_rows only stores rows: the others must be there.
  void copyRows(OpBuilder &b, ir::FusedOp op, ArrayRef<Value> ins,
                ArrayRef<Value> outs) {
    if (isa<ir::PutRowsOp>(op.getBody().front().front()) &&
        ins.front() != outs.front())
      exec::CopyOp::create(b, op.getLoc(), ins.front(), outs.front());
  }
  static void markShared(exec::LaunchOp launch, ir::FusedOp op) {
    Builder b(op.getContext());
    SmallVector<int64_t> whole;
    for (OpResult r : op->getResults())
      if (llvm::any_of(r.getUsers(), llvm::IsaPred<ir::AllGatherOp>))
        whole.push_back(r.getResultNumber());
    launch->setAttr(kItem, b.getUnitAttr());
    const auto of = ir::splitOf(op.getOutputs().front());
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(op, of);
    if (Attribute together = parameter->getAttr(kTogether))
      launch->setAttr(kBucket, together);
    else
      for (Value v : op.getInputs())
        if (auto scatter = v.getDefiningOp<ir::ReduceScatterOp>())
          launch->setAttr(kBucket, scatter.getBucketAttr());
    if (!whole.empty())
      launch->setAttr(kGather, b.getDenseI64ArrayAttr(whole));
  }
  /// Casts all tensors in the range, and the gaps between them.
  void launchCasts(OpBuilder &b, const CastRange &range) {
    SmallVector<Location> locs;
    for (const JoinedCast &joined : range.casts)
      locs.push_back(ir::FusedOp(joined.cast).getLoc());
    const Location loc = FusedLoc::get(b.getContext(), locs);
    auto wide = RankedTensorType::get({range.elements}, range.wideType),
         half = RankedTensorType::get({range.elements}, range.halfType);
    const auto from = range.toHalves ? wide : half,
               to = range.toHalves ? half : wide;
    Region cluster;
    OpBuilder inside(b.getContext());
    Block *body = inside.createBlock(&cluster);
    auto cast =
        ir::CastOp::create(inside, loc, to, body->addArgument(from, loc));
    ir::YieldOp::create(inside, loc, cast.getY());
    Value states = buffer(range.wide, wide, loc),
          halves = buffer(Place{"scratch", range.scratch}, half, loc);
    exec::LaunchOp::create(b, loc, kernels.get(cluster, loc).getSymName(),
                           range.toHalves ? states : halves,
                           range.toHalves ? halves : states);
  }
  LogicalResult call(OpBuilder &b, ir::LibraryInterface op) {
    SmallVector<Value> ins, outs;
    if (failed(operands(b, op->getOperands(), ins)))
      return failure();
    if (op.joinsOperands())
      joinAdjacent(op->getOperands(), ins);
    for (Value v : op->getResults())
      outs.push_back(buffer(v));
    NamedAttrList attrs(op->getAttrDictionary());
    attrs.erase("operandSegmentSizes");
    attrs.erase("by");
    if (llvm::any_of(op->getOperands(), [](Value v) { return ir::splitOf(v); }))
      attrs.set("parts", b.getI64IntegerAttr(1));
    if (auto placed = dyn_cast<ir::PlaceableInterface>(*op))
      if (int64_t tile = ir::winogradTile(placed.getBy()))
        attrs.set("winograd", b.getI64IntegerAttr(tile));
    for (auto [name, isThere] : op.optionalOperands())
      attrs.set(name, b.getI64IntegerAttr(isThere));
    auto call =
        exec::CallOp::create(b, op->getLoc(), op->getName().stripDialect(), ins,
                             outs, attrs.getDictionary(b.getContext()),
                             cast<ir::FlopsInterface>(*op).countFlops());
    if (auto bytes = ir::movedBytes(op))
      call->setAttr(kMoved, b.getI64IntegerAttr(*bytes));
    return success();
  }
  /// Merges consecutive operands in the gradient region; gaps are zero.
  void joinAdjacent(ValueRange values, SmallVectorImpl<Value> &ins) {
    SmallVector<std::pair<int64_t, int64_t>> ranges; // begin, end
    Type element = ir::elementType(values.front());
    for (Value v : values) {
      Place p = places.placeOf(v);
      if (p.region != "gradient" || ir::elementType(v) != element)
        return;
      ranges.push_back({p.offset, p.offset + byteSize(tensorType(v))});
    }
    ins.clear();
    for (auto [begin, end] : joined(ranges, element))
      ins.push_back(flat(begin, end, element));
  }
  static SmallVector<std::pair<int64_t, int64_t>>
  joined(SmallVector<std::pair<int64_t, int64_t>> ranges, Type element) {
    llvm::sort(ranges);
    SmallVector<std::pair<int64_t, int64_t>> out;
    for (auto [begin, end] : ranges)
      if (!out.empty() && followEachOther(out.back().second, begin, element))
        out.back().second = end;
      else
        out.push_back({begin, end});
    return out;
  }
  Value flat(int64_t begin, int64_t end, Type element) {
    int64_t size = (element.getIntOrFloatBitWidth() + 7) / 8;
    return buffer(Place{"gradient", begin},
                  RankedTensorType::get({(end - begin) / size}, element),
                  f.getLoc());
  }

  struct Bucket {
    SmallVector<Operation *> members;
    int64_t seen = 0;
    bool started = false;
    SmallVector<std::pair<Value, int64_t>> ranges; // not waited for yet
  };

  LogicalResult countBuckets() {
    for (Operation &op : block) {
      auto bucket = bucketOf(&op);
      if (!bucket)
        continue;
      if (isa<ir::AllReduceOp>(op) &&
          places.placeOf(op.getResult(0)).region != "gradient")
        return op.emitError("reduces a value that no command computes");
      buckets[*bucket].members.push_back(&op);
    }
    return success();
  }
  /// Copies operands that were not computed in the concat.
  LogicalResult copyParts(OpBuilder &b, ir::ConcatOp op) {
    Place to = places.placeOf(op.getY());
    for (Value v : op.getXs()) {
      Place from = places.placeOf(v);
      if (from.region != to.region || from.offset != to.offset) {
        if (failed(ensureArrived(b, v)))
          return failure();
        ShapedType type = tensorType(v);
        exec::CopyOp::create(b, op.getLoc(), buffer(from, type, op.getLoc()),
                             buffer(to, type, op.getLoc()));
      }
      to.offset += byteSize(tensorType(v));
    }
    return success();
  }
  /// A copy to the host or back.
  LogicalResult startCopy(OpBuilder &b, Operation *op) {
    Value from = op->getOperand(0), to = op->getResult(0);
    if (failed(ensureArrived(b, from)))
      return failure();
    const int64_t number = copyNumbers.size();
    copyNumbers[op] = number;
    if (isa<ir::OffloadOp>(op))
      exec::OffloadOp::create(b, op->getLoc(), buffer(from), buffer(to),
                              number);
    else
      exec::FetchOp::create(b, op->getLoc(), buffer(from), buffer(to), number);
    return success();
  }
  LogicalResult copyOperand(OpBuilder &b, Operation *op) {
    if (!places.isCopied(op))
      return success();
    Value x = op->getOperand(0);
    if (failed(ensureArrived(b, x)))
      return failure();
    Place to = exchangeOf(op) ? places.placeInSlot(op)
                              : places.placeOf(op->getResult(0));
    exec::CopyOp::create(b, op->getLoc(), buffer(x),
                         buffer(to, tensorType(x), op->getLoc()));
    return success();
  }
  /// Starts a bucket when it is complete.
  void collect(OpBuilder &b, Operation *op) {
    const int64_t number = *bucketOf(op);
    Bucket &bucket = buckets[number];
    if (++bucket.seen < (int64_t)bucket.members.size())
      return;
    bucket.started = true;
    using Kind = std::pair<Type, ir::Combine>;
    llvm::MapVector<Kind, SmallVector<std::pair<int64_t, int64_t>>> ranges;
    SmallVector<Location> locs;
    for (Operation *each : bucket.members) {
      locs.push_back(each->getLoc());
      auto member = dyn_cast<ir::AllReduceOp>(each);
      if (!member)
        continue;
      Place p = places.placeOf(member.getY());
      ranges[{ir::elementType(member.getX()), member.getOp()}].push_back(
          {p.offset, p.offset + byteSize(tensorType(member.getX()))});
    }
    for (auto &[kind, parts] : ranges)
      for (auto [begin, end] : joined(parts, kind.first)) {
        Value range = flat(begin, end, kind.first);
        exec::AllReduceOp::create(b, FusedLoc::get(b.getContext(), locs), range,
                                  nextBucket,
                                  ir::stringifyCombine(kind.second));
        bucket.ranges.push_back({range, nextBucket++});
      }
    for (const Slot &slot : places.slotsOf(number))
      bucket.ranges.push_back(
          {exchange(b, FusedLoc::get(b.getContext(), locs), slot),
           nextBucket++});
  }
  /// Returns the buffer that is complete after the wait.
  Value exchange(OpBuilder &b, Location loc, const Slot &slot) {
    auto range = [&](const Place &place) {
      return buffer(
          place,
          RankedTensorType::get({slot.bytes / elementBytes(slot.element)},
                                slot.element),
          loc);
    };
    Value whole = range({"scratch", slot.scratch}), kept = range(slot.kept);
    NamedAttrList arguments;
    arguments.set("bucket", b.getI64IntegerAttr(nextBucket));
    const bool isGather = isa<ir::AllGatherOp>(slot.members.front().op);
    if (!isGather)
      arguments.set("op", b.getStringAttr("mean"));
    exec::CallOp::create(b, loc, isGather ? "all_gather" : "reduce_scatter",
                         isGather ? kept : whole, isGather ? whole : kept,
                         arguments.getDictionary(b.getContext()));
    return isGather ? whole : kept;
  }

  /// Small all-reduces that computation waits for while what was started
  /// before them is under way.
  static void sendAhead(Block &commands) {
    std::map<int64_t, Operation *> underWay, arrived; // in the order of starts
    for (Operation &op : commands)
      if (auto reduce = dyn_cast<exec::AllReduceOp>(op)) {
        underWay[reduce.getBucket()] = reduce;
      } else if (auto call = dyn_cast<exec::CallOp>(op);
                 call && call.getArguments().contains("bucket")) {
        underWay[call.getArguments().getAs<IntegerAttr>("bucket").getInt()] =
            call;
      } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
        arrived.insert(underWay.extract(wait.getBucket()));
      } else {
        for (auto [bucket, started] : std::exchange(arrived, {}))
          if (auto reduce = dyn_cast<exec::AllReduceOp>(started);
              reduce && !underWay.empty() && underWay.begin()->first < bucket &&
              byteSize(cast<MemRefType>(reduce.getBuffer().getType())) <=
                  kMostAhead)
            reduce.setAhead(true);
      }
  }

  LogicalResult copyWrites(OpBuilder &b) {
    for (auto write : block.getOps<ir::WriteOp>()) {
      if (failed(ensureArrived(b, write.getValue())))
        return failure();
      Place to = places.placeOfState(write.getState()),
            from = places.placeOf(write.getValue());
      if (from.region == to.region && from.offset == to.offset)
        continue;
      ShapedType type = tensorType(write.getValue());
      exec::CopyOp::create(b, write.getLoc(),
                           buffer(from, type, write.getLoc()),
                           buffer(to, type, write.getLoc()));
    }
    return success();
  }

  func::FuncOp f;
  Block &block;
  const Placement &places;
  KernelTable &kernels;
  int64_t nextBucket = 0;
  llvm::DenseMap<Operation *, int64_t> copyNumbers; // of offloads and fetches
  std::map<int64_t, Bucket> buckets;
  std::map<std::tuple<std::string, int64_t, const void *>, Value> buffers;
  Operation *lastDeclaration = nullptr;
};

} // namespace

LogicalResult emitProgram(func::FuncOp f, const Placement &places,
                          KernelTable &kernels) {
  return ProgramEmitter(f, places, kernels).run();
}

} // namespace dlc
