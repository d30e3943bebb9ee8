// SPDX-License-Identifier: Apache-2.0
// Each rank updates, and keeps the moments and averages of, a part of the
// parameters: some items of each kernel that updates them. Kernels do not
// change, so neither do the numbers; which items, the runtime says, as it knows
// how many ranks there are.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Pass/Pass.h"
#include <map>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_SHARDUPDATES
#include "compiler/lower/Passes.h.inc"

namespace {

bool isRankless(Value v) {
  return cast<ShapedType>(v.getType()).getRank() == 0;
}

StringRef homeOf(Value buffer) {
  return buffer.getDefiningOp<exec::BufferOp>().getRegion();
}

/// Elements of an item, if element i of every tensor is in the same one; 0:
/// the kernel is not elementwise on tensors of one shape.
int64_t itemOf(exec::KernelOp kernel) {
  const exec::Schedule &schedule = kernel.getScheduleAttr().getValue();
  if (schedule.kind != exec::Schedule::Elementwise || !schedule.outer.empty() ||
      schedule.inner.size() != 1)
    return 0;
  ArrayRef<int64_t> full;
  auto fits = [&](Value v) {
    auto type = ir::tensorType(v);
    if (type.getRank() && full.empty())
      full = type.getShape();
    return !type.getRank() || type.getShape() == full;
  };
  // Any element is computed as the first is.
  Block &body = kernel.getBody().front();
  bool all = llvm::all_of(body.getArguments(), fits);
  for (Operation &op : body) {
    if (auto constant = dyn_cast<ir::ConstantOp>(op))
      all &= isa<SplatElementsAttr>(constant.getValue());
    all &= isa<ir::ElementwiseInterface, ir::ConstantOp, ir::YieldOp>(op) &&
           llvm::all_of(op.getResults(), fits);
  }
  return !all ? 0 : schedule.block ? schedule.block : schedule.inner[0].size;
}

class Sharder {
public:
  Sharder(ModuleOp module, bool all)
      : module(module), symbols(module), all(all) {
    for (auto state : module.getOps<exec::StateOp>())
      if (state.getRole() == "moment" ||
          (state.getRole() == "ema" && isOfParameter(state)))
        parted[{state.getRegionAttr().getAttr(), int64_t(state.getOffset())}] =
            state;
  }

  LogicalResult run() {
    for (auto program : module.getOps<exec::ProgramOp>())
      if (failed(shard(program)))
        return failure();
    for (auto &[place, state] : parted)
      if (!done.contains(state))
        return state.emitError("--zero: what updates '")
               << state.getSymName()
               << "' needs more of its tensor than the element that it "
                  "updates (as lamb and muon do) and cannot be done in parts; "
                  "use another optimizer, or --zero=0";
    return success();
  }

private:
  using Key = std::pair<StringAttr, int64_t>; // region, offset

  bool isOfParameter(exec::StateOp state) {
    auto of = symbols.lookup<exec::StateOp>(state.getOf().value_or(""));
    return of && of.getRole() == "param";
  }

  /// Of the states in the range of a buffer, those that ranks keep in parts.
  SmallVector<exec::StateOp> statesIn(Value v) {
    auto buffer = v.getDefiningOp<exec::BufferOp>();
    const int64_t begin = buffer.getOffset(),
                  end = begin + byteSize(cast<MemRefType>(v.getType()));
    SmallVector<exec::StateOp> states;
    for (auto at =
             parted.lower_bound({buffer.getRegionAttr().getAttr(), begin});
         at != parted.end() &&
         at->first.first == buffer.getRegionAttr().getAttr() &&
         at->first.second < end;
         ++at)
      states.push_back(at->second);
    return states;
  }

  LogicalResult shard(exec::ProgramOp program) {
    Block &block = program.getBody().front();
    int64_t bucket = 0;
    for (auto reduce : block.getOps<exec::AllReduceOp>())
      bucket = std::max<int64_t>(bucket, reduce.getBucket() + 1);
    SmallVector<std::pair<Value, int64_t>> pending; // gathers
    auto wait = [&](OpBuilder &b, Location loc) {
      for (auto [buffer, bucket] : pending)
        exec::WaitOp::create(b, loc, buffer, bucket);
      pending.clear();
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<exec::BufferOp, exec::PortOp>(op))
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(op);
      const int64_t item = launch ? shard(launch) : 0;
      OpBuilder b(&op);
      if (!item) {
        if (!pending.empty() && llvm::any_of(op.getOperands(), [](Value v) {
              return homeOf(v) == "param";
            }))
          wait(b, op.getLoc());
        continue;
      }
      b.setInsertionPointAfter(&op);
      for (Value out : launch.getOutputs())
        if (homeOf(out) == "param") {
          gather(b, launch, out, item, bucket);
          pending.push_back({out, bucket++});
        }
    }
    auto b = OpBuilder::atBlockEnd(&block);
    wait(b, program.getLoc());
    return success();
  }

  void gather(OpBuilder &b, exec::LaunchOp launch, Value range, int64_t item,
              int64_t bucket) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    NamedAttrList arguments;
    arguments.set("bucket", b.getI64IntegerAttr(bucket));
    arguments.set("extent", b.getI64IntegerAttr(
                                kernel.getScheduleAttr().getValue().extent()));
    arguments.set(kShard, b.getI64IntegerAttr(item));
    exec::CallOp::create(b, launch.getLoc(), "all_gather", range, range,
                         arguments.getDictionary(b.getContext()));
  }

  /// The elements of an item of a launch that ranks share out; 0: all of them
  /// run all of it.
  int64_t shard(exec::LaunchOp launch) {
    SmallVector<exec::StateOp> states;
    for (Value out : launch.getOutputs())
      llvm::append_range(states, statesIn(out));
    const bool updates = all && llvm::any_of(launch.getOutputs(), [](Value v) {
                           return homeOf(v) == "param";
                         });
    if (states.empty() && !updates)
      return 0;
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    const int64_t item = itemOf(kernel);
    const bool isWhole = llvm::any_of(launch.getOutputs(), [&](Value v) {
      return isRankless(v) || (homeOf(v) != "param" && statesIn(v).empty());
    });
    if (!item || isWhole)
      return 0;
    launch->setAttr(
        kShard,
        IntegerAttr::get(IntegerType::get(module.getContext(), 64), item));
    kernel.setParted(true);
    done.insert_range(states);
    return item;
  }

  ModuleOp module;
  SymbolTable symbols;
  const bool all;
  struct Before {
    bool operator()(const Key &a, const Key &b) const {
      return std::pair(a.first.getValue(), a.second) <
             std::pair(b.first.getValue(), b.second);
    }
  };
  std::map<Key, exec::StateOp, Before> parted;
  llvm::DenseSet<Operation *> done;
};

struct ShardUpdates : impl::ShardUpdatesBase<ShardUpdates> {
  using ShardUpdatesBase::ShardUpdatesBase;

  void runOnOperation() final {
    if (failed(Sharder(getOperation(), all).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dlc
