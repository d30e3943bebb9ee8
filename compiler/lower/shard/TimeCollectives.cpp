// SPDX-License-Identifier: Apache-2.0
// Gathers split parameters only for the commands that use them.
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/Placement.h"
#include "compiler/lower/memory/Stays.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_TIMECOLLECTIVES
#include "compiler/lower/Passes.h.inc"

namespace {

using Groups = llvm::MapVector<size_t, SmallVector<ir::StateOp>>;

class Timer {
public:
  Timer(func::FuncOp f, const Groups &groups, const SymbolTable &symbols)
      : block(f.front()), groups(groups), symbols(symbols) {
    for (Operation &op : block) {
      ops.push_back(&op);
      bucket = std::max(bucket, bucketOf(&op).value_or(-1) + 1);
    }
  }

  void run(size_t most) {
    std::vector<TimedUse> uses;
    llvm::DenseMap<size_t, SmallVector<User>> users; // by group
    for (auto [i, op] : llvm::enumerate(ops)) {
      llvm::SmallDenseSet<size_t> mine;
      if (isView(op))
        continue;
      for (OpOperand &operand : op->getOpOperands())
        if (ir::StateOp state = gathered(operand.get())) {
          const size_t group = groupOf(state);
          users[group].push_back({int64_t(i), &operand});
          if (mine.insert(group).second)
            uses.push_back({int64_t(i), group});
        }
    }
    for (const Stay &stay : planStays(uses, most))
      gather(stay, users[stay.what]);
    for (Operation *op : llvm::reverse(ops))
      if ((isView(op) || isa<ir::ReadOp>(op)) && op->use_empty())
        op->erase();
  }

  static size_t groupOf(ir::StateOp state) {
    return state->getAttrOfType<DenseI64ArrayAttr>(kTogether)[0];
  }

private:
  struct User {
    int64_t position;
    OpOperand *operand;
  };

  static bool isView(Operation *op) {
    return isa<ir::ReshapeOp, ir::AllGatherOp>(op) ||
           (isa<ir::SliceOp>(op) && Placement::isInPlace(op));
  }
  /// The parameter that a value is a view of as a whole; else null.
  ir::StateOp gathered(Value v) const {
    while (Operation *op = v.getDefiningOp()) {
      if (auto gather = dyn_cast<ir::AllGatherOp>(op)) {
        auto read = gather.getX().getDefiningOp<ir::ReadOp>();
        return read ? symbols.lookup<ir::StateOp>(read.getState())
                    : ir::StateOp();
      }
      if (!isView(op))
        return nullptr;
      v = op->getOperand(0);
    }
    return nullptr;
  }

  void gather(const Stay &stay, ArrayRef<User> users) {
    OpBuilder b(ops[stay.begin]);
    llvm::DenseMap<Operation *, Value> wholes; // of states
    for (ir::StateOp state : groups.find(stay.what)->second) {
      auto part = state.getTensorType();
      Value own =
          ir::ReadOp::create(b, state.getLoc(), part, state.getSymName());
      wholes[state] = ir::AllGatherOp::create(
          b, state.getLoc(),
          RankedTensorType::get(part.getShape(), part.getElementType()), own,
          b.getI64IntegerAttr(bucket));
    }
    ++bucket;
    for (auto [position, operand] : users)
      if (stay.first <= position && position <= stay.last)
        operand->set(viewOf(operand->get(), operand->getOwner(), wholes));
  }
  /// The same view of the value gathered for this stay.
  Value viewOf(Value v, Operation *user,
               const llvm::DenseMap<Operation *, Value> &wholes) {
    Operation *op = v.getDefiningOp();
    if (isa<ir::AllGatherOp>(op))
      return wholes.lookup(gathered(v));
    Value x = viewOf(op->getOperand(0), user, wholes);
    Operation *view = OpBuilder(user).clone(*op);
    view->setOperand(0, x);
    return view->getResult(0);
  }

  Block &block;
  const Groups &groups;
  const SymbolTable &symbols;
  SmallVector<Operation *> ops;
  int64_t bucket = 0; // next unused
};

struct TimeCollectives : impl::TimeCollectivesBase<TimeCollectives> {
  using TimeCollectivesBase::TimeCollectivesBase;

  void runOnOperation() final {
    const SymbolTable symbols(getOperation());
    Groups groups;
    for (auto state : getOperation().getOps<ir::StateOp>())
      if (state->hasAttr(kTogether))
        groups[Timer::groupOf(state)].push_back(state);
    for (auto f : getOperation().getOps<func::FuncOp>())
      Timer(f, groups, symbols).run(size_t(ahead) + 1);
  }
};

} // namespace
} // namespace dlc
