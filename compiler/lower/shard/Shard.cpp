// SPDX-License-Identifier: Apache-2.0
// Types express which tensors are split over ranks: tensor<4xf32, @w> is split
// as @w is. Kernels do not change, so results do not either; dlc-number-parts
// and the runtime determine the parts.
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/PartSums.h"
#include "compiler/lower/emit/Shapeless.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <map>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_SHARD
#include "compiler/lower/Passes.h.inc"

namespace {

bool isRankless(Value v) { return ir::tensorType(v).getRank() == 0; }

class Sharder {
public:
  Sharder(ModuleOp module, int64_t level, int64_t least)
      : module(module), symbols(module), level(level), least(least) {
    for (auto f : module.getOps<func::FuncOp>())
      for (Operation &op : f.front())
        if (auto read = dyn_cast<ir::ReadOp>(op))
          reads[read.getState()].push_back(read);
        else if (auto write = dyn_cast<ir::WriteOp>(op))
          writes[write.getState()].push_back(write);
  }

  LogicalResult run() {
    for (auto state : module.getOps<ir::StateOp>())
      if (state.getRole() == ir::Role::moment ||
          (state.getRole() == ir::Role::ema && isOfParameter(state)))
        state.setType(ir::splitType(state.getType(), state.getOfAttr()));
    module.walk([&](ir::ReadOp read) {
      read.getValue().setType(
          symbols.lookup<ir::StateOp>(read.getState()).getTensorType());
    });
    for (auto f : module.getOps<func::FuncOp>())
      for (auto fused : llvm::make_early_inc_range(f.getOps<ir::FusedOp>()))
        if (FlatSymbolRefAttr of = parameterOf(fused))
          shard(fused, of);
    if (level > 2)
      splitParameters();
    for (auto f : module.getOps<func::FuncOp>())
      for (auto write : f.getOps<ir::WriteOp>())
        if (failed(check(write)))
          return failure();
    for (auto f : module.getOps<func::FuncOp>()) {
      if (level > 1 && failed(scatter(f)))
        return failure();
      for (Operation &op : f.front())
        if (failed(check(&op)))
          return failure();
    }
    return success();
  }

private:
  bool isOfParameter(ir::StateOp state) {
    auto of = symbols.lookup<ir::StateOp>(state.getOf().value_or(""));
    return of && of.getRole() == ir::Role::param;
  }

  void split(ir::StateOp state) {
    state.setType(ir::splitType(state.getType(), state.getOfAttr()));
    for (ir::ReadOp read : reads[state.getSymName()])
      read.getValue().setType(state.getTensorType());
  }

  /// The state whose new value is `v`; null if there is none.
  ir::StateOp writtenOf(Value v) {
    for (Operation *user : v.getUsers())
      if (auto write = dyn_cast<ir::WriteOp>(user))
        return symbols.lookup<ir::StateOp>(write.getState());
    return nullptr;
  }

  /// The parameter whose states a cluster updates; null if it is not split.
  FlatSymbolRefAttr parameterOf(ir::FusedOp fused) {
    FlatSymbolRefAttr of;
    bool isShared = false;
    for (Value v : fused.getOutputs()) {
      ir::StateOp state = writtenOf(v);
      if (!state || isRankless(v))
        return nullptr;
      FlatSymbolRefAttr own = ir::splitOf(state.getType());
      isShared |= own || level > 1;
      if (!own && state.getRole() == ir::Role::param)
        own = FlatSymbolRefAttr::get(state.getSymNameAttr());
      if (!own || (of && of != own))
        return nullptr;
      of = own;
    }
    return isShared && !shapelessForm(fused.getBody().front()).empty()
               ? of
               : nullptr;
  }

  void shard(ir::FusedOp fused, FlatSymbolRefAttr of) {
    OpBuilder b(fused);
    for (OpOperand &operand : fused->getOpOperands())
      if (!isRankless(operand.get()) && !ir::splitOf(operand.get()))
        operand.set(partOf(b, operand.get(), of));
    b.setInsertionPointAfter(fused);
    for (Value v : fused.getOutputs()) {
      const Type type = v.getType();
      v.setType(ir::splitType(type, of));
      if (ir::splitOf(writtenOf(v).getType()))
        continue;
      auto whole =
          ir::AllGatherOp::create(b, fused.getLoc(), type, v, IntegerAttr());
      v.replaceAllUsesExcept(whole.getY(), whole);
    }
  }

  Value partOf(OpBuilder &b, Value x, FlatSymbolRefAttr of) {
    if (auto gather = x.getDefiningOp<ir::AllGatherOp>())
      return gather.getX();
    return ir::TakeShardOp::create(b, x.getLoc(),
                                   ir::splitType(x.getType(), of), x);
  }

  //===--- parameters in parts
  //---------------------------------------------===//

  void splitParameters() {
    llvm::StringMap<int64_t> buckets; // of gradients
    module.walk([&](ir::AllReduceOp reduce) {
      if (reduce.getOf() && reduce.getBucket())
        buckets[*reduce.getOf()] = *reduce.getBucket();
    });
    struct Together {
      int64_t number, bytes = 0;
    };
    std::map<std::string, Together> groups;
    struct Candidate {
      ir::StateOp state;
      int64_t bucket;
      Together &group;
    };
    SmallVector<Candidate> candidates;
    for (auto state : module.getOps<ir::StateOp>()) {
      auto bucket = buckets.find(state.getSymName());
      ir::FusedOp update = updateOf(state);
      if (!update || bucket == buckets.end())
        continue;
      Together &group =
          groups
              .try_emplace(updateText(update) + std::to_string(bucket->second),
                           Together{int64_t(groups.size())})
              .first->second;
      group.bytes += byteSize(state.getTensorType());
      candidates.push_back({state, bucket->second, group});
    }
    llvm::MapVector<Operation *, SmallVector<Location>> whole; // by function
    for (const Candidate &each : candidates)
      if (each.group.bytes >= least) {
        if (Operation *odd = oddUse(each.state))
          whole[odd->getParentOp()].push_back(odd->getLoc());
        else
          split(each.state, {each.bucket, each.group.number});
      }
    for (auto &[f, locs] : whole)
      f->emitWarning("--zero=3: the parameters of '")
          << locationLabel(FusedLoc::get(f->getContext(), locs))
          << "' stay whole on each rank, because of how '"
          << SymbolTable::getSymbolName(f).getValue() << "' uses them";
  }

  /// The cluster that updates a split parameter, which is then gathered.
  ir::FusedOp updateOf(ir::StateOp state) {
    for (ir::WriteOp write : writes[state.getSymName()])
      if (auto gather = write.getValue().getDefiningOp<ir::AllGatherOp>())
        return gather.getX().getDefiningOp<ir::FusedOp>();
    return nullptr;
  }
  /// Equal for updates that dlc-merge-launches may merge.
  static std::string updateText(ir::FusedOp update) {
    std::string text = shapelessForm(update.getBody().front());
    llvm::raw_string_ostream os(text);
    for (Value v : update.getInputs())
      if (isRankless(v))
        os << v.getAsOpaquePointer() << " ";
    return text;
  }
  /// A use of a whole parameter other than of its old value on the device.
  Operation *oddUse(ir::StateOp state) {
    for (ir::WriteOp write : writes[state.getSymName()])
      for (Operation *user : write.getValue().getUsers())
        if (user != write)
          return user;
    for (ir::ReadOp read : reads[state.getSymName()]) {
      if (read->getParentOp()->hasAttr("dlc.after"))
        return read;
      for (Operation *user : read->getUsers())
        if (isa<func::ReturnOp, ir::WriteOp>(user))
          return user;
    }
    return nullptr;
  }
  void split(ir::StateOp state, ArrayRef<int64_t> together) {
    OpBuilder b(state);
    auto whole = state.getTensorType();
    auto part =
        ir::splitType(whole, FlatSymbolRefAttr::get(state.getSymNameAttr()));
    state.setType(part);
    state->setAttr(kTogether, b.getDenseI64ArrayAttr(together));
    for (ir::WriteOp write : writes[state.getSymName()]) {
      auto gather = write.getValue().getDefiningOp<ir::AllGatherOp>();
      write.getValueMutable().assign(gather.getX());
      gather.erase();
    }
    for (ir::ReadOp read : reads[state.getSymName()]) {
      read.getValue().setType(part);
      for (Operation *user : llvm::make_early_inc_range(read->getUsers()))
        if (isa<ir::TakeShardOp>(user)) {
          user->replaceAllUsesWith(read);
          user->erase();
        }
      b.setInsertionPointAfter(read);
      auto all = ir::AllGatherOp::create(b, read.getLoc(), whole,
                                         read.getValue(), IntegerAttr());
      read.getValue().replaceUsesWithIf(all.getY(), [&](OpOperand &use) {
        return use.getOwner() != all &&
               !ir::splitOf(use.getOwner()->getResult(0));
      });
      if (all.use_empty())
        all.erase();
    }
  }

  //===--- gradients in parts
  //----------------------------------------------===//

  /// For all gradients that are reduced in buckets.
  LogicalResult scatter(func::FuncOp f) {
    llvm::DenseMap<Value, Value> parts; // by the whole
    for (auto reduce : f.getOps<ir::AllReduceOp>())
      if (reduce.getBucket() && reduce.getOf()) {
        OpBuilder b(reduce);
        parts[reduce.getY()] = ir::ReduceScatterOp::create(
            b, reduce.getLoc(),
            ir::splitType(reduce.getType(), reduce.getOfAttr()), reduce.getX(),
            *reduce.getBucket());
      }
    int64_t bucket = 0; // next unused
    for (auto reduce : f.getOps<ir::AllReduceOp>())
      bucket = std::max<int64_t>(bucket, reduce.getBucket().value_or(0) + 1);
    for (Operation &op : llvm::make_early_inc_range(f.front()))
      if (isa<ir::GlobalNormOp, ir::AllFiniteOp>(op) &&
          llvm::all_of(op.getOperands(),
                       [&](Value v) { return parts.contains(v); })) {
        op.replaceAllUsesWith(ValueRange(
            ofParts(&op,
                    llvm::map_to_vector(op.getOperands(),
                                        [&](Value v) { return parts[v]; }),
                    bucket++)));
        op.erase();
      }
    for (auto reduce : llvm::make_early_inc_range(f.getOps<ir::AllReduceOp>()))
      if (auto part = parts.find(reduce.getY()); part != parts.end()) {
        if (failed(scatter(reduce, part->second)))
          return failure();
        reduce.erase();
      }
    return success();
  }
  /// Makes readers of a gradient read its part.
  LogicalResult scatter(ir::AllReduceOp reduce, Value part) {
    bool isUpdated = false;
    for (Operation *user : llvm::make_early_inc_range(reduce->getUsers())) {
      if (!isa<ir::TakeShardOp>(user))
        return refuse(reduce);
      user->replaceAllUsesWith(ValueRange(part));
      user->erase();
      isUpdated = true;
    }
    return isUpdated ? success() : refuse(reduce);
  }
  LogicalResult refuse(ir::AllReduceOp reduce) {
    return reduce.emitError("--zero=")
           << level
           << ": an op that is not elementwise (as of lars, or of clipping by "
              "several rules) reads the gradients of '"
           << *reduce.getOf() << "', which are sharded; use --zero=1";
  }

  /// Checks that nothing else reads or writes split values.
  LogicalResult check(Operation *op) {
    if (isa<ir::AllGatherOp, ir::SquareSumsOp, ir::CountNonfiniteOp>(op) ||
        (isa<ir::FusedOp>(op) && ir::splitOf(op->getResult(0))))
      return success();
    if (auto write = dyn_cast<ir::WriteOp>(op)) {
      auto state = symbols.lookup<ir::StateOp>(write.getState());
      return state.getType() == write.getValue().getType() ? success()
                                                           : refuse(state);
    }
    for (Value v : op->getOperands())
      if (ir::splitOf(v) && !v.getDefiningOp<ir::ReduceScatterOp>()) {
        auto read = v.getDefiningOp<ir::ReadOp>();
        return refuse(read ? symbols.lookup<ir::StateOp>(read.getState())
                           : writtenOf(v));
      }
    return success();
  }
  static LogicalResult refuse(ir::StateOp state) {
    return state.emitError("--zero: the update of '")
           << state.getSymName()
           << "' is not elementwise (as of lamb, adafactor and muon), so it "
              "cannot be sharded; use another optimizer, or --zero=0";
  }

  ModuleOp module;
  SymbolTable symbols;
  const int64_t level, least;
  llvm::StringMap<SmallVector<ir::ReadOp>> reads;
  llvm::StringMap<SmallVector<ir::WriteOp>> writes;
};

struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() final {
    if (failed(Sharder(getOperation(), level, whole).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dlc
