// SPDX-License-Identifier: Apache-2.0
// Marks casts of whole states and gradients. Parameters with such gradients are
// updated first, and their places follow that order, so that adjacent casts are
// one launch although norms and biases lie between them in the program.
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/memory/Casts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_JOINCASTS
#include "compiler/lower/Passes.h.inc"

namespace {

/// The write of a parameter that depends on a gradient with a bucket.
struct Update {
  SmallVector<ir::WriteOp> writes = {};
  StringRef parameter = {};
  int64_t bucket = -1; // -1: it has none
  bool isOfCast = false;
};

class UpdateOrder {
public:
  explicit UpdateOrder(Block &block) : block(block) {
    for (auto write : block.getOps<ir::WriteOp>())
      if (auto fused =
              ir::viewedBy(write.getValue()).getDefiningOp<ir::FusedOp>())
        found[fused].writes.push_back(write);
    found.remove_if([&](auto &each) { return !describe(each); });
    llvm::SmallPtrSet<Operation *, 32> known;
    for (auto &[fused, update] : found)
      known.insert(update.writes.begin(), update.writes.end());
    areAll = llvm::all_of(block.getOps<ir::WriteOp>(), [&](ir::WriteOp write) {
      return known.contains(write) || !isOfParameter(write);
    });
  }

  /// Orders the writes: bucket by bucket, those with casts of gradients first.
  /// Norms read gradients in that order, too. Not if a part of an update is
  /// computed elsewhere, where the order would not change.
  void sort() {
    auto at = llvm::find_if(block,
                            [](Operation &op) { return Clusters::atEnd(&op); });
    if (!areAll ||
        llvm::count_if(found, [](auto &each) { return each.second.isOfCast; }) <
            2 ||
        llvm::any_of(found, [&](auto &each) {
          return !each.first->isBeforeInBlock(&*at);
        }))
      return;
    auto order = found.takeVector();
    llvm::stable_sort(order, [](auto &a, auto &b) {
      return std::pair(a.second.bucket, !a.second.isOfCast) <
             std::pair(b.second.bucket, !b.second.isOfCast);
    });
    llvm::StringMap<size_t> places;
    for (auto &[fused, update] : order) {
      places.try_emplace(update.parameter, places.size());
      fused->moveBefore(&*at);
      for (ir::WriteOp write : update.writes)
        write->moveBefore(block.getTerminator());
    }
    for (Operation &op : block)
      if (op.hasAttr(kOfParts))
        sortOperands(&op, places);
  }

private:
  /// Whether it writes a parameter or its moments.
  static bool isOfParameter(ir::WriteOp write) {
    const ir::Role role = SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(
                              write, write.getStateAttr())
                              .getRole();
    return role == ir::Role::param || role == ir::Role::moment;
  }
  static void sortOperands(Operation *norm,
                           const llvm::StringMap<size_t> &places) {
    SmallVector<Value> gradients(norm->getOperands());
    auto placeOf = [&](Value v) {
      auto reduce = v.getDefiningOp<ir::AllReduceOp>();
      auto found = places.find(reduce ? reduce.getOf().value_or("") : "");
      return found == places.end() ? places.size() : found->second;
    };
    llvm::stable_sort(
        gradients, [&](Value a, Value b) { return placeOf(a) < placeOf(b); });
    norm->setOperands(gradients);
  }
  /// Whether its results that depend on a parameter's gradient are only written
  /// to states, and the gradient is not split over ranks.
  static bool describe(std::pair<ir::FusedOp, Update> &each) {
    auto &[fused, update] = each;
    for (Value v : fused.getInputs()) {
      auto reduce = v.getDefiningOp<ir::AllReduceOp>();
      if (!reduce || llvm::none_of(update.writes, [&](ir::WriteOp write) {
            return write.getState() == reduce.getOf();
          }))
        continue;
      update.parameter = *reduce.getOf();
      update.bucket = reduce.getBucket().value_or(-1);
      Operation *made = reduce.getX().getDefiningOp();
      update.isOfCast = made && isCastOfGradient(made);
      return llvm::all_of(fused->getUsers(), Clusters::atEnd) &&
             llvm::none_of(fused->getResults(),
                           [](Value v) { return bool(ir::splitOf(v)); });
    }
    return false;
  }

  Block &block;
  llvm::MapVector<ir::FusedOp, Update> found;
  bool areAll;
};

struct JoinCasts : impl::JoinCastsBase<JoinCasts> {
  using JoinCastsBase::JoinCastsBase;

  void runOnOperation() final {
    Block &block = getOperation().front();
    // With gathers, parameters are not all available at the beginning.
    const bool areThere = llvm::none_of(
        block.getOps<ir::AllGatherOp>(), [](ir::AllGatherOp gather) {
          return bool(gather.getX().getDefiningOp<ir::ReadOp>());
        });
    for (Operation &op : block)
      if ((areThere && isCastOfState(&op)) || isCastOfGradient(&op))
        op.setAttr(kJoined, UnitAttr::get(&getContext()));
    UpdateOrder(block).sort();
  }
};

} // namespace

} // namespace dlc
