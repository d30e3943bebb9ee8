// Reverse-mode differentiation of the loss by every trainable state.
//   1. Forward: a float value is active when it depends on a read of a
//   trainable state.
//   2. Backward from the loss: the path is the ops with active operands whose
//   results reach the loss.
//   3. From last to first, each op on the path turns the gradients of its
//   results into those of its operands; a value
//      used more than once adds them up. A state's gradient is declared right
//      after its last part is there.
// An op that depends on parameters alone (a weight's cast) counts as standing
// where it is first used, so that gradients become ready layer by layer
// wherever earlier passes put such ops.
// Of several losses each has a backward graph of its own, if asked for: that of
// the total with the other losses taken as constants.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace dlc {
#define GEN_PASS_DEF_AUTODIFF
#include "passes/Passes.h.inc"
} // namespace dlc

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::tensorType;

namespace dlc {
namespace {

class Differentiator {
public:
  /// `part`: the one of several losses that is differentiated, `others` are
  /// constants.
  Differentiator(func::FuncOp f, SymbolTable &symbols, StringAttr part = {},
                 ArrayRef<Value> others = {})
      : block(f.front()), symbols(symbols), builder(block.getTerminator()),
        part(part), constant(others.begin(), others.end()) {}

  LogicalResult run() {
    Operation *end = block.getTerminator();
    loss = end->getNumOperands() ? end->getOperand(0) : Value();
    if (!loss || tensorType(loss).getRank() != 0 ||
        !isa<Float32Type, Float64Type>(elementType(loss)))
      return end->getParentOp()->emitOpError(
          "expected a scalar f32 loss as first result");
    markActive();
    findPath();
    if (failed(checkRules()))
      return failure();
    sortPath();
    if (active.contains(loss))
      add(loss,
          ir::SeedOp::create(builder, loss.getLoc(), loss.getType(), part));
    for (Operation *op : path)
      if (failed(differentiate(op)))
        return failure();
    declareDirect();
    eraseUnused();
    return success();
  }

  bool hasDeclared(ir::StateOp state) const { return declared.contains(state); }
  /// Where the way back from the loss ends before a parameter: ops that depend
  /// on one but give nothing that can be differentiated, or whose gradient is
  /// none.
  ArrayRef<Operation *> ends() const { return dead; }
  Location lossLocation() const { return loss.getLoc(); }

private:
  ir::StateOp trainable(Value v) {
    auto read = v.getDefiningOp<ir::ReadOp>();
    auto state =
        read ? symbols.lookup<ir::StateOp>(read.getState()) : ir::StateOp();
    return state && state.getTrainable() ? state : ir::StateOp();
  }
  bool isActive(Value v) { return active.contains(v); }

  void markActive() {
    int64_t i = 0;
    for (Operation &op : block) {
      position[&op] = i++;
      bool moves = false, alone = true;
      for (Value v : op.getOperands()) {
        moves |= isActive(v);
        alone &= parameterOnly.contains(v.getDefiningOp());
      }
      if (alone)
        parameterOnly.insert(&op);
      for (Value v : op.getResults())
        if (!constant.contains(v) &&
            ((moves && isa<FloatType>(elementType(v))) || trainable(v)))
          active.insert(v);
    }
  }

  void findPath() {
    llvm::DenseSet<Value> needed{loss};
    for (Operation &op : llvm::reverse(block)) {
      bool onPath = llvm::any_of(op.getResults(), [&](Value v) {
        return isActive(v) && needed.contains(v);
      });
      if (!onPath)
        continue;
      if (!isa<ir::ReadOp>(op))
        path.push_back(&op);
      needed.insert(op.operand_begin(), op.operand_end());
    }
    if (!isActive(loss))
      findEnds();
  }

  /// What the loss depends on, up to where parameters come in.
  void findEnds() {
    llvm::DenseSet<Value> needed{loss};
    for (Operation &op : llvm::reverse(block)) {
      if (llvm::none_of(op.getResults(),
                        [&](Value v) { return needed.contains(v); }))
        continue;
      if (llvm::any_of(op.getOperands(), [&](Value v) { return isActive(v); }))
        dead.push_back(&op);
      else
        needed.insert(op.operand_begin(), op.operand_end());
    }
  }

  LogicalResult checkRules() {
    SmallVector<Operation *> without;
    for (Operation *op : llvm::reverse(path))
      if (!isa<ir::DifferentiableInterface>(op))
        without.push_back(op);
    if (without.empty())
      return success();
    auto error = block.getParentOp()->emitError()
                 << without.size()
                 << " ops between the parameters and the loss have no gradient";
    for (Operation *op : without)
      error.attachNote(op->getLoc()) << "'" << op->getName() << "' here";
    return failure();
  }

  /// Sorts the path from last to first and notes where each state's gradient is
  /// complete.
  void sortPath() {
    llvm::DenseMap<Operation *, int64_t> place;
    llvm::DenseSet<Operation *> onPath(path.begin(), path.end());
    for (Operation *op : path) { // users come before what they use
      place[op] = position[op];
      if (!parameterOnly.contains(op))
        continue;
      int64_t first = INT64_MAX;
      for (Operation *user : op->getUsers())
        if (onPath.contains(user))
          first = std::min(first, place[user]);
      if (first != INT64_MAX)
        place[op] = first;
    }
    llvm::stable_sort(
        path, [&](Operation *a, Operation *b) { return place[a] > place[b]; });
    llvm::MapVector<ir::StateOp, Operation *> last;
    for (Operation *op : path)
      for (Value v : op->getOperands())
        if (auto state = trainable(v))
          last[state] = op;
    for (auto [state, op] : last)
      completes[op].push_back(state);
  }

  LogicalResult differentiate(Operation *op) {
    SmallVector<Value> dy, dx;
    for (Value v : op->getResults())
      dy.push_back(gradients.lookup(v));
    Operation *before = builder.getInsertionPoint()->getPrevNode();
    if (llvm::any_of(dy, [](Value v) { return bool(v); })) {
      if (failed(cast<ir::DifferentiableInterface>(op).buildGradient(builder,
                                                                     dy, dx)))
        return failure();
      assert(dx.size() == op->getNumOperands() &&
             "a rule gives one value per operand");
      bool ended = true;
      for (auto [v, d] : llvm::zip(op->getOperands(), dx))
        if (d && isActive(v)) {
          add(v, d);
          ended = false;
        }
      if (ended)
        dead.push_back(op);
    }
    for (ir::StateOp state : completes.lookup(op))
      declare(state);
    locate(before, op->getLoc());
    return success();
  }

  /// Adds d to the gradient of v; all reads of a state share theirs.
  void add(Value v, Value d) {
    assert(d.getType() == v.getType() &&
           "a gradient has the type of its value");
    ir::StateOp state = trainable(v);
    Value &sum = state ? ofState[state] : gradients[v];
    sum = sum ? ir::AddOp::create(builder, d.getLoc(), sum, d) : d;
  }
  void declare(ir::StateOp state) {
    if (Value d = ofState.lookup(state)) {
      ir::GradientOp::create(builder, d.getLoc(), state.getSymName(), d, part);
      declared.insert(state);
    }
  }
  /// The loss itself may be a state.
  void declareDirect() {
    if (ir::StateOp state = trainable(loss); state && !declared.contains(state))
      declare(state);
  }

  /// Ops built after `before` are the gradient of the op at `loc`.
  void locate(Operation *before, Location loc) {
    Location gradient = ir::gradientLocation(loc);
    auto first = before ? std::next(before->getIterator()) : block.begin();
    for (Operation &op : llvm::make_range(first, builder.getInsertionPoint()))
      op.setLoc(gradient);
  }

  /// Rules build a gradient for every operand; those of inputs and constants
  /// stay unused.
  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (!position.contains(&op) && isOpTriviallyDead(&op))
        op.erase();
  }

  Block &block;
  SymbolTable &symbols;
  OpBuilder builder;
  StringAttr part;
  llvm::DenseSet<Value> constant;
  Value loss;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseSet<Operation *> parameterOnly; // reads no input of the step
  SmallVector<Operation *> path, dead;
  llvm::DenseMap<Operation *, SmallVector<ir::StateOp, 1>> completes;
  llvm::DenseMap<Value, Value> gradients;
  llvm::DenseMap<Operation *, Value> ofState;
  llvm::DenseSet<Operation *> declared;
};

struct Autodiff : impl::AutodiffBase<Autodiff> {
  explicit Autodiff(AutodiffOptions given = {})
      : AutodiffBase(std::move(given)) {
    reads<&StepOptions::scaler>();
  }

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    auto f = symbols.lookup<func::FuncOp>(function);
    if (!f || f.isExternal()) {
      getOperation().emitError() << "expected a function named @" << function;
      return signalPassFailure();
    }
    llvm::DenseSet<Operation *> reached;
    llvm::SetVector<Operation *> ends;
    Location loss = f.getLoc();
    auto differentiate = [&](Differentiator d) {
      LogicalResult done = d.run();
      if (failed(done))
        return done;
      ends.insert(d.ends().begin(), d.ends().end());
      loss = d.lossLocation();
      for (auto state : getOperation().getOps<ir::StateOp>())
        if (d.hasDeclared(state))
          reached.insert(state);
      return done;
    };
    if (!options.scaler.perLoss) {
      if (failed(differentiate(Differentiator(f, symbols))))
        return signalPassFailure();
      return finish(reached, ends.getArrayRef(), loss);
    }
    auto parts = namedResults(f, "loss.");
    if (parts.empty()) {
      f.emitError("expected several losses to differentiate one by one");
      return signalPassFailure();
    }
    for (auto &[name, index] : parts) {
      SmallVector<Value> others;
      for (auto &[other, at] : parts)
        if (at != index)
          others.push_back(f.front().getTerminator()->getOperand(at));
      if (failed(differentiate(Differentiator(f, symbols, name, others))))
        return signalPassFailure();
    }
    finish(reached, ends.getArrayRef(), loss);
  }

  void finish(const llvm::DenseSet<Operation *> &reached,
              ArrayRef<Operation *> ends, Location loss) {
    bool wanted =
        llvm::any_of(getOperation().getOps<ir::StateOp>(),
                     [](ir::StateOp state) { return state.getTrainable(); });
    if (!wanted || !reached.empty())
      return unmarkAllBut(reached);
    constexpr StringRef none = "no gradient reaches any parameter: ";
    if (ends.empty())
      emitError(loss) << none << "the loss depends on none of them";
    else if (ends.size() == 1)
      emitError(ends[0]->getLoc())
          << none << "the way back from the loss ends at this "
          << ends[0]->getName();
    else
      emitError(ends[0]->getLoc())
          << none << "the ways back from the loss end at this "
          << ends[0]->getName() << " and at " << ends.size() - 1
          << " other ops";
    signalPassFailure();
  }

  void unmarkAllBut(const llvm::DenseSet<Operation *> &reached) {
    for (auto state : getOperation().getOps<ir::StateOp>())
      if (state.getTrainable() && !reached.contains(state)) {
        state.emitRemark() << "the loss does not depend on @"
                           << state.getSymName() << "; it keeps its value";
        state.setTrainable(false);
      }
  }
};

} // namespace
} // namespace dlc
