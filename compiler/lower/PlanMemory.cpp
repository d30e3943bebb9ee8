// dlc functions become exec programs.
//
//   1. States get their places (StateLayout.h).
//   2. A value's storage is that of the value it is a view of: reshapes and
//   all-reduces alias their operand.
//   3. Gradients are born at their parameter's offset in the gradient region,
//   where their bucket is.
//   4. A value that is written to a state is born in the state when nobody
//   reads the old value later.
//   5. What is left lives in scratch, by liveness.
//   6. Ops become commands. An all-reduce starts when its bucket is complete;
//   its wait stands before the first
//      command that reads it.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/KernelSchedule.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Scratch.h"
#include "compiler/lower/StateLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

constexpr int64_t kEnd = INT64_MAX;

bool isCommand(Operation *op) {
  return isa<ir::FusedOp, ir::LibraryInterface>(op);
}

/// The value whose memory `v` is a view of.
Value storageOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<ir::ReshapeOp, ir::AllReduceOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

/// The all-reduce that `v` is a view of, if any.
ir::AllReduceOp allReduceOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (auto reduce = dyn_cast<ir::AllReduceOp>(op))
      return reduce;
    if (!isa<ir::ReshapeOp>(op))
      return nullptr;
    v = op->getOperand(0);
  }
  return nullptr;
}

MemRefType memrefOf(ShapedType t) {
  return MemRefType::get(t.getShape(), t.getElementType());
}

/// Kernels of the module; equal clusters share one.
class KernelTable {
public:
  KernelTable(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockEnd(module.getBody())) {}

  exec::KernelOp get(ir::FusedOp fused) {
    std::string key;
    llvm::raw_string_ostream os(key);
    for (Operation &op : fused.getBody().front())
      op.print(os, OpPrintingFlags().useLocalScope().skipRegions());
    for (Type t : fused.getBody().front().getArgumentTypes())
      os << t;
    exec::KernelOp &kernel = kernels[key];
    if (!kernel) {
      std::string name =
          "k" + std::to_string(kernels.size() - 1) + suffix(fused);
      kernel = exec::KernelOp::create(builder, fused.getLoc(), name);
      IRMapping map;
      fused.getBody().cloneInto(&kernel.getBody(), map);
    }
    return kernel;
  }

private:
  /// The last op says best what a cluster is for.
  static std::string suffix(ir::FusedOp fused) {
    std::string s;
    for (Operation &op : fused.getBody().front())
      if (!isa<ir::YieldOp, ir::ConstantOp, ir::ReshapeOp, ir::CastOp>(op))
        s = "_" + op.getName().stripDialect().str();
    return s;
  }
  ModuleOp module;
  OpBuilder builder;
  llvm::StringMap<exec::KernelOp> kernels;
};

class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp f, StateLayout &layout, KernelTable &kernels)
      : f(f), block(f.front()), layout(layout), kernels(kernels) {}

  LogicalResult run() {
    analyse();
    placeGradients();
    placeWrites();
    placeScratch();
    return emit();
  }
  int64_t gradientBytes() const { return gradientEnd; }

private:
  // Liveness

  void analyse() {
    int64_t i = 0;
    for (Operation &op : block)
      if (isCommand(&op))
        position[&op] = i++;
    for (Operation &op : block) {
      for (Value v : op.getOperands()) {
        int64_t &last = lastUse.try_emplace(storageOf(v), -1).first->second;
        if (isCommand(&op))
          last = std::max(last, position[&op]);
        else if (isa<func::ReturnOp, ir::WriteOp>(op))
          last = kEnd;
      }
    }
    for (auto read : block.getOps<ir::ReadOp>()) {
      int64_t &last = lastRead.try_emplace(read.getState(), -1).first->second;
      for (Operation *user : usersThroughViews(read.getValue()))
        last = std::max(last, isCommand(user) ? position[user] : kEnd);
    }
    for (auto write : block.getOps<ir::WriteOp>())
      writes[write.getState()] = write;
  }
  static SmallVector<Operation *> usersThroughViews(Value v) {
    SmallVector<Operation *> users;
    SmallVector<Value> work{v};
    while (!work.empty())
      for (Operation *u : work.pop_back_val().getUsers()) {
        if (isa<ir::ReshapeOp, ir::AllReduceOp>(u))
          work.push_back(u->getResult(0));
        else
          users.push_back(u);
      }
    return users;
  }

  // Places

  bool canPlace(Value storage) {
    return storage.getDefiningOp() && isCommand(storage.getDefiningOp()) &&
           !places.contains(storage);
  }
  void placeGradients() {
    SmallVector<std::pair<Value, int64_t>> gradients;
    llvm::DenseSet<Value> taken;
    for (auto write : block.getOps<ir::WriteOp>()) {
      auto update = write.getValue().getDefiningOp<ir::FusedOp>();
      Place param = layout.places[write.getState()];
      if (!update || param.region != "param")
        continue;
      for (Value v : update.getInputs()) {
        Value storage = storageOf(v);
        if (v.getType() == write.getValue().getType() && canPlace(storage) &&
            taken.insert(storage).second) {
          gradients.push_back({storage, param.offset});
          break;
        }
      }
    }
    int64_t head = 0; // what else travels with the gradients, such as the loss
    for (auto reduce : block.getOps<ir::AllReduceOp>()) {
      Value storage = storageOf(reduce.getX());
      if (canPlace(storage) && taken.insert(storage).second) {
        places[storage] = {"gradient", head};
        head += alignUp(byteSize(tensorType(storage)));
      }
    }
    gradientEnd = head;
    for (auto [storage, offset] : gradients) {
      places[storage] = {"gradient", head + offset};
      gradientEnd = std::max(
          gradientEnd, head + offset + alignUp(byteSize(tensorType(storage))));
    }
  }

  /// Whether `op` may write result `r` over state tensors that it reads.
  static bool mayAlias(Operation *op, OpResult r) {
    if (isa<ir::BatchNormOp>(op))
      return r.getResultNumber() == 1 || r.getResultNumber() == 2;
    auto fused = dyn_cast<ir::FusedOp>(op);
    return fused && llvm::all_of(fused.getBody().front(), [](Operation &o) {
             return isa<ir::ElementwiseInterface, ir::ConstantOp, ir::YieldOp>(
                 o);
           });
  }
  void placeWrites() {
    for (auto write : block.getOps<ir::WriteOp>()) {
      Value storage = storageOf(write.getValue());
      if (!canPlace(storage) || byteSize(tensorType(storage)) !=
                                    byteSize(tensorType(write.getValue())))
        continue;
      Operation *op = storage.getDefiningOp();
      auto it = lastRead.find(write.getState());
      int64_t read = it == lastRead.end() ? -1 : it->second;
      if (read < position[op] ||
          (read == position[op] && mayAlias(op, cast<OpResult>(storage))))
        places[storage] = layout.places[write.getState()];
    }
  }
  void placeScratch() {
    SmallVector<Value> values;
    std::vector<LiveRange> ranges;
    auto add = [&](Value v, int64_t begin) {
      auto last = lastUse.find(v);
      int64_t end =
          last == lastUse.end() ? begin : std::max(begin, last->second);
      values.push_back(v);
      ranges.push_back({begin, end, byteSize(tensorType(v))});
    };
    for (BlockArgument arg : f.getArguments()) {
      add(arg, -1);
    }
    for (Operation &op : block) {
      if (isCommand(&op))
        for (Value r : op.getResults())
          if (!places.contains(r))
            add(r, position[&op]);
      if (auto read = dyn_cast<ir::ReadOp>(op); read && needsSnapshot(read))
        add(read.getValue(), -1);
    }
    scratchBytes = assignOffsets(ranges);
    for (auto [v, r] : llvm::zip(values, ranges))
      places[v] = {"scratch", r.offset};
  }
  /// A read whose old value is still wanted at the end, when its state may have
  /// changed.
  bool needsSnapshot(ir::ReadOp read) {
    if (!writes.contains(read.getState()))
      return false;
    return llvm::any_of(usersThroughViews(read.getValue()), [&](Operation *u) {
      auto write = dyn_cast<ir::WriteOp>(u);
      return isa<func::ReturnOp>(u) ||
             (write && write.getState() != read.getState());
    });
  }
  Place placeOf(Value v) {
    Value storage = storageOf(v);
    if (auto it = places.find(storage); it != places.end())
      return it->second;
    return layout.places[storage.getDefiningOp<ir::ReadOp>().getState()];
  }

  // Commands

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
    return buffer(placeOf(v), tensorType(v), v.getLoc());
  }

  LogicalResult emit() {
    auto at = OpBuilder(f->getParentOp()->getContext());
    at.setInsertionPoint(f);
    auto program =
        exec::ProgramOp::create(at, f.getLoc(), f.getSymName(), scratchBytes);
    body = at.createBlock(&program.getBody());
    OpBuilder b = OpBuilder::atBlockEnd(body);
    // Buffers are declared before the marker, commands after it.
    Operation *marker =
        exec::RegionOp::create(b, f.getLoc(), "marker", "scratch", 0);
    lastDeclaration = marker;
    ports(b);
    for (auto read : block.getOps<ir::ReadOp>())
      if (needsSnapshot(read))
        exec::CopyOp::create(b, read.getLoc(),
                             buffer(layout.places[read.getState()],
                                    tensorType(read.getValue()), read.getLoc()),
                             buffer(read.getValue()));
    if (failed(countBuckets()))
      return failure();
    for (Operation &op : block) {
      if (auto fused = dyn_cast<ir::FusedOp>(op)) {
        if (failed(launch(b, fused)))
          return failure();
      } else if (isa<ir::LibraryInterface>(op)) {
        if (failed(call(b, &op)))
          return failure();
      } else if (auto reduce = dyn_cast<ir::AllReduceOp>(op)) {
        allReduce(b, reduce);
      } else if (!isa<ir::ReadOp, ir::WriteOp, ir::ReshapeOp, func::ReturnOp>(
                     op)) {
        return op.emitError()
               << "'" << op.getName() << "' has no lowering to a command";
      }
    }
    for (Value v : block.getTerminator()->getOperands())
      if (failed(ensureArrived(b, v)))
        return failure();
    copyWrites(b);
    marker->erase();
    return success();
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
          limit ? limit.getInt() : 0);
    }
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      exec::PortOp::create(
          b, v.getLoc(), "output",
          name(f.getResultAttrDict(i), "output" + std::to_string(i)), buffer(v),
          0);
  }

  LogicalResult ensureArrived(OpBuilder &b, Value v) {
    ir::AllReduceOp reduce = allReduceOf(v);
    if (!reduce || !reduce.getBucket()) // of one rank: nothing travels
      return success();
    Bucket &bucket = buckets[bucketOf(reduce)];
    if (!bucket.started)
      return reduce.emitError("is used before its bucket is complete");
    for (auto [range, id] : bucket.ranges)
      exec::WaitOp::create(b, reduce.getLoc(), range, id);
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
    exec::KernelOp kernel = kernels.get(op);
    std::string why;
    auto schedule = analyseKernel(kernel.getBody(), &why);
    if (!schedule)
      return op.emitError() << "this cluster cannot be one kernel: " << why;
    exec::LaunchOp::create(b, op.getLoc(), kernel.getSymName(), ins, outs,
                           schedule->extent, schedule->grain, schedule->flops);
    return success();
  }
  LogicalResult call(OpBuilder &b, Operation *op) {
    SmallVector<Value> ins, outs;
    if (failed(operands(b, op->getOperands(), ins)))
      return failure();
    if (isa<ir::AllFiniteOp, ir::GlobalNormOp>(op))
      joinAdjacent(op->getOperands(), ins);
    for (Value v : op->getResults())
      outs.push_back(buffer(v));
    NamedAttrList attrs(op->getAttrDictionary());
    attrs.erase("operandSegmentSizes");
    if (isa<ir::ConvOp, ir::MatmulOp>(op))
      attrs.set("has_bias", b.getI64IntegerAttr(op->getNumOperands() == 3));
    exec::CallOp::create(b, op->getLoc(), op->getName().stripDialect(), ins,
                         outs, attrs.getDictionary(b.getContext()),
                         cast<ir::FlopsInterface>(op).countFlops());
    return success();
  }
  /// Operands that follow each other in the gradient region become one; the
  /// gaps there are zero.
  void joinAdjacent(ValueRange values, SmallVectorImpl<Value> &ins) {
    SmallVector<std::pair<int64_t, int64_t>> ranges; // begin, end
    Type element = ir::elementType(values.front());
    for (Value v : values) {
      Place p = placeOf(v);
      if (p.region != "gradient" || ir::elementType(v) != element)
        return;
      ranges.push_back({p.offset, p.offset + byteSize(tensorType(v))});
    }
    ins.clear();
    for (auto [begin, end] : joined(ranges))
      ins.push_back(flat(begin, end, element));
  }
  static SmallVector<std::pair<int64_t, int64_t>>
  joined(SmallVector<std::pair<int64_t, int64_t>> ranges) {
    llvm::sort(ranges);
    SmallVector<std::pair<int64_t, int64_t>> out;
    for (auto [begin, end] : ranges)
      if (!out.empty() && alignUp(out.back().second) == begin)
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

  // Buckets

  struct Bucket {
    SmallVector<ir::AllReduceOp> members;
    int64_t seen = 0;
    bool started = false;
    SmallVector<std::pair<Value, int64_t>> ranges; // not waited for yet
  };
  static int64_t bucketOf(ir::AllReduceOp op) { return *op.getBucket(); }

  LogicalResult countBuckets() {
    for (auto reduce : block.getOps<ir::AllReduceOp>()) {
      if (!reduce.getBucket())
        continue;
      if (placeOf(reduce.getX()).region != "gradient")
        return reduce.emitError("reduces a value that no command computes");
      buckets[bucketOf(reduce)].members.push_back(reduce);
    }
    return success();
  }
  void allReduce(OpBuilder &b, ir::AllReduceOp op) {
    if (!op.getBucket())
      return;
    Bucket &bucket = buckets[bucketOf(op)];
    if (++bucket.seen < (int64_t)bucket.members.size())
      return;
    bucket.started = true;
    llvm::MapVector<Type, SmallVector<std::pair<int64_t, int64_t>>> ranges;
    SmallVector<Location> locs;
    for (ir::AllReduceOp member : bucket.members) {
      Place p = placeOf(member.getX());
      ranges[ir::elementType(member.getX())].push_back(
          {p.offset, p.offset + byteSize(tensorType(member.getX()))});
      locs.push_back(member.getLoc());
    }
    for (auto &[element, parts] : ranges)
      for (auto [begin, end] : joined(parts)) {
        Value range = flat(begin, end, element);
        exec::AllReduceOp::create(b, FusedLoc::get(b.getContext(), locs), range,
                                  nextBucket);
        bucket.ranges.push_back({range, nextBucket++});
      }
  }

  void copyWrites(OpBuilder &b) {
    for (auto write : block.getOps<ir::WriteOp>()) {
      Place to = layout.places[write.getState()],
            from = placeOf(write.getValue());
      if (from.region == to.region && from.offset == to.offset)
        continue;
      ShapedType type = tensorType(write.getValue());
      exec::CopyOp::create(b, write.getLoc(),
                           buffer(from, type, write.getLoc()),
                           buffer(to, type, write.getLoc()));
    }
  }

  func::FuncOp f;
  Block &block;
  StateLayout &layout;
  KernelTable &kernels;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Value, int64_t> lastUse; // of a storage
  llvm::StringMap<int64_t> lastRead;      // of a state's old value
  llvm::StringMap<ir::WriteOp> writes;
  llvm::DenseMap<Value, Place>
      places; // of a storage that is no state's old value
  int64_t gradientEnd = 0, scratchBytes = 0, nextBucket = 0;
  std::map<int64_t, Bucket> buckets;
  std::map<std::tuple<std::string, int64_t, const void *>, Value> buffers;
  Block *body = nullptr;
  Operation *lastDeclaration = nullptr;
};

struct PlanMemory : PassWrapper<PlanMemory, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemory)
  StringRef getArgument() const final { return "dlc-plan-memory"; }
  StringRef getDescription() const final {
    return "turn functions into programs of commands on buffers";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<exec::ExecDialect>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    StateLayout layout = layoutStates(module);
    KernelTable kernels(module);
    int64_t scratch = 0, gradient = 0;
    for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      ProgramBuilder program(f, layout, kernels);
      if (failed(program.run()))
        return signalPassFailure();
      gradient = std::max(gradient, program.gradientBytes());
      f->dropAllReferences();
      f->erase();
    }
    for (auto p : module.getOps<exec::ProgramOp>())
      scratch = std::max<int64_t>(scratch, p.getScratchBytes());
    declare(module, layout, scratch, gradient);
  }

  /// Regions and states at the head of the module.
  void declare(ModuleOp module, StateLayout &layout, int64_t scratch,
               int64_t gradient) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    for (auto [name, bytes] : layout.bytes)
      exec::RegionOp::create(b, module.getLoc(), name, "state", bytes);
    if (gradient)
      exec::RegionOp::create(b, module.getLoc(), "gradient", "gradient",
                             gradient);
    exec::RegionOp::create(b, module.getLoc(), "scratch", "scratch", scratch);
    for (auto s : llvm::make_early_inc_range(module.getOps<ir::StateOp>())) {
      const Place &p = layout.places[s.getSymName()];
      b.setInsertionPoint(s);
      auto state = exec::StateOp::create(
          b, s.getLoc(), s.getSymName(), s.getType(),
          ir::stringifyRole(s.getRole()), p.region, p.offset, s.getInit(),
          s.getOfAttr(), s.getTrainable());
      s.erase();
      (void)state;
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPlanMemory() {
  return std::make_unique<PlanMemory>();
}

} // namespace dlc
