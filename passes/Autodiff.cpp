// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of the loss with respect to trainable states.
//   1. Forward: a float value is active if it depends on a trainable state.
//   2. Backward from the loss: the path is the ops with active operands whose
//   results reach the loss.
//   3. From last to first, each op on the path turns the gradients of its
//   results into those of its operands; gradients of a value with several uses
//   are added. A state's gradient is declared right after its last part.
// An op that depends only on parameters (a weight's cast) is treated as if it
// were at its first use, so gradients become available layer by layer wherever
// earlier passes put such ops. Gradients in the model itself (ONNX's Gradient)
// have no rule and are decomposed first. Of several losses, each has its own
// backward graph if it has a scale or trains other parameters (--loss-params):
// it starts at this loss and goes only to its parameters. All share the forward
// graph, so they see the parameters as they are before the step.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/loss/LossParams.h"
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

/// A scalar that is minimised, and its weight.
struct Minimised {
  Value loss;
  double weight = 1;
};

/// The losses and parameters of one backward graph.
struct Part {
  SmallVector<Minimised, 1> losses{};
  /// The states that it trains.
  llvm::DenseSet<Operation *> states{};
};

class Differentiator {
public:
  Differentiator(func::FuncOp f, SymbolTable &symbols, const Part &part)
      : block(f.front()), symbols(symbols), builder(block.getTerminator()),
        part(part) {}

  /// `seed` is the gradient of losses of weight 1.
  LogicalResult run(Value seed) {
    markActive();
    findPath();
    if (failed(checkRules()))
      return failure();
    sortPath();
    for (auto [loss, weight] : part.losses)
      if (active.contains(loss)) {
        ir::Expr one(builder, loss.getLoc(), seed);
        add(loss, weight == 1 ? one : one * weight);
      }
    for (Operation *op : path)
      if (failed(differentiate(op)))
        return failure();
    declareDirect();
    eraseUnused();
    return success();
  }

  /// The states that have a gradient.
  const llvm::DenseSet<Operation *> &reached() const { return declared; }
  /// Where the backward pass ends before a parameter: ops that depend on one
  /// but whose result is not differentiable, or that have no gradient.
  ArrayRef<Operation *> ends() const { return dead; }

private:
  ir::StateOp trainable(Value v) {
    auto read = v.getDefiningOp<ir::ReadOp>();
    auto state =
        read ? symbols.lookup<ir::StateOp>(read.getState()) : ir::StateOp();
    return part.states.contains(state) ? state : ir::StateOp();
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
        if ((moves && isa<FloatType>(elementType(v))) || trainable(v))
          active.insert(v);
    }
  }

  llvm::DenseSet<Value> allLosses() const {
    llvm::DenseSet<Value> values;
    for (const Minimised &m : part.losses)
      values.insert(m.loss);
    return values;
  }

  void findPath() {
    llvm::DenseSet<Value> needed = allLosses();
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
    if (llvm::none_of(part.losses,
                      [&](const Minimised &m) { return isActive(m.loss); }))
      findEnds();
  }

  /// Collects what the losses depend on, up to parameters.
  void findEnds() {
    llvm::DenseSet<Value> needed = allLosses();
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

  /// Sorts the path from last to first and finds where gradients are complete.
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

  /// Adds d to the gradient of v; all reads of a state share one gradient.
  void add(Value v, Value d) {
    assert(d.getType() == v.getType() &&
           "a gradient has the type of its value");
    ir::StateOp state = trainable(v);
    Value &sum = state ? ofState[state] : gradients[v];
    sum = sum ? ir::AddOp::create(builder, d.getLoc(), sum, d) : d;
  }
  void declare(ir::StateOp state) {
    if (Value d = ofState.lookup(state)) {
      ir::GradientOp::create(builder, d.getLoc(), state.getSymName(), d);
      declared.insert(state);
    }
  }
  /// Handles a loss that is itself a state.
  void declareDirect() {
    for (const Minimised &m : part.losses)
      if (ir::StateOp state = trainable(m.loss);
          state && !declared.contains(state))
        declare(state);
  }

  /// Locates ops built after `before`: gradient of the op at `loc`.
  void locate(Operation *before, Location loc) {
    Location gradient = ir::gradientLocation(loc);
    auto first = before ? std::next(before->getIterator()) : block.begin();
    for (Operation &op : llvm::make_range(first, builder.getInsertionPoint()))
      op.setLoc(gradient);
  }

  /// Rules build gradients of all operands; inputs and constants need none.
  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (!position.contains(&op) && isOpTriviallyDead(&op))
        op.erase();
  }

  Block &block;
  SymbolTable &symbols;
  OpBuilder builder;
  const Part &part;
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
    reads<&StepOptions::loss>();
  }

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    auto f = symbols.lookup<func::FuncOp>(function);
    if (!f || f.isExternal()) {
      getOperation().emitError() << "expected a function named @" << function;
      return signalPassFailure();
    }
    while (takeApart(f)) // some become ops that have no rule, either
      ;
    auto parts = partsOf(f);
    if (failed(parts) || failed(differentiate(f, symbols, *parts)))
      return signalPassFailure();
    if (parts->size() > 1)
      Step(f).sumGradients();
    getOperation().walk([](Operation *op) {
      if (!isa<ir::StopGradientOp, ir::ScaleGradientOp>(op))
        return;
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    });
  }

  /// Whether `v` is a result that an op stores for its gradient: a norm's mean,
  /// a recurrent layer's gates. No rule differentiates it.
  static bool isKept(Value v) {
    auto result = dyn_cast<OpResult>(v);
    return result && result.getResultNumber() > 0 &&
           isa<FloatType>(elementType(v)) &&
           isa<ir::DecomposableInterface>(result.getOwner());
  }
  static bool takeApart(func::FuncOp f) {
    llvm::SetVector<Operation *> ops;
    f.walk([&](ir::DecomposableInterface op) {
      if (isa<ir::DifferentiableInterface>(op.getOperation()))
        return;
      ops.insert(op);
      for (Value v : op->getOperands())
        if (isKept(v))
          ops.insert(v.getDefiningOp());
    });
    for (Operation *taken : ops) {
      auto op = cast<ir::DecomposableInterface>(taken);
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    return !ops.empty();
  }

  /// One part for all losses, or one for those that train the same.
  FailureOr<SmallVector<Part>> partsOf(func::FuncOp f) {
    Operation *end = f.front().getTerminator();
    Value total = end->getNumOperands() ? end->getOperand(0) : Value();
    if (!total || tensorType(total).getRank() != 0 ||
        !isa<Float32Type, Float64Type>(elementType(total)))
      return f.emitOpError("expected a scalar f32 loss as first result");
    Part all;
    all.losses.push_back({total});
    for (auto state : getOperation().getOps<ir::StateOp>())
      if (state.getTrainable())
        all.states.insert(state);
    const auto &params = options.loss.params;
    if (params.empty())
      return SmallVector<Part>{all};
    std::vector<std::string> names;
    SmallVector<Part> parts;
    for (auto &[name, index] : namedResults(f, "loss.")) {
      auto weight = f.getResultAttrOfType<FloatAttr>(index, kLossWeight);
      names.push_back(name.str());
      parts.push_back(
          {{{end->getOperand(index), weight ? weight.getValueAsDouble() : 1}},
           all.states});
    }
    if (parts.empty()) { // one that the graph computes
      names = namesOfLosses(options.loss);
      parts.push_back(all);
    }
    auto trained = trainedStates(getOperation(), names, params);
    if (failed(trained))
      return failure();
    for (auto [part, states] : llvm::zip_equal(parts, *trained))
      part.states = std::move(states);
    return joined(parts);
  }

  /// Merges losses that train the same parameters.
  static SmallVector<Part> joined(ArrayRef<Part> parts) {
    SmallVector<Part> fewer;
    for (const Part &part : parts) {
      auto same = llvm::find_if(fewer, [&](const Part &other) {
        return other.states == part.states;
      });
      if (same == fewer.end())
        fewer.push_back(part);
      else
        llvm::append_range(same->losses, part.losses);
    }
    return fewer;
  }

  LogicalResult differentiate(func::FuncOp f, SymbolTable &symbols,
                              ArrayRef<Part> parts) {
    ir::SeedOp seed;
    llvm::DenseSet<Operation *> trained, reached;
    llvm::SetVector<Operation *> ends;
    for (const Part &part : parts) {
      Value loss = part.losses[0].loss;
      OpBuilder b(f.front().getTerminator());
      if (!seed)
        seed = ir::SeedOp::create(b, loss.getLoc(), loss.getType());
      Differentiator d(f, symbols, part);
      if (failed(d.run(seed)))
        return failure();
      const bool isReached = !d.reached().empty();
      if (!isReached && !options.loss.params.empty())
        return unreached(loss.getLoc(), d.ends());
      ends.insert(d.ends().begin(), d.ends().end());
      trained.insert(part.states.begin(), part.states.end());
      reached.insert(d.reached().begin(), d.reached().end());
    }
    if (seed && seed.use_empty())
      seed.erase();
    if (reached.empty() && !trained.empty())
      return unreached(parts.back().losses[0].loss.getLoc(),
                       ends.getArrayRef());
    unmarkAllBut(reached, trained, f);
    return success();
  }

  static LogicalResult unreached(Location loss, ArrayRef<Operation *> ends) {
    constexpr StringRef none = "no gradient reaches any parameter: ";
    if (ends.empty())
      return emitError(loss) << none << "the loss depends on none of them";
    if (ends.size() == 1)
      return emitError(ends[0]->getLoc())
             << none << "the path back from the loss ends at this "
             << ends[0]->getName();
    return emitError(ends[0]->getLoc())
           << none << "the paths back from the loss end at this "
           << ends[0]->getName() << " and at " << ends.size() - 1
           << " other ops";
  }

  void unmarkAllBut(const llvm::DenseSet<Operation *> &reached,
                    const llvm::DenseSet<Operation *> &trained,
                    func::FuncOp f) {
    std::vector<std::string> untrained;
    for (auto state : getOperation().getOps<ir::StateOp>()) {
      if (!state.getTrainable() || reached.contains(state))
        continue;
      if (trained.contains(state))
        state.emitRemark() << "the loss does not depend on @"
                           << state.getSymName() << "; it keeps its value";
      else
        untrained.push_back(state.getSymName().str());
      state.setTrainable(false);
    }
    constexpr size_t kNamed = 3;
    if (untrained.empty())
      return;
    auto warning = f.emitWarning() << "no loss trains ";
    for (size_t i = 0; i < std::min(untrained.size(), kNamed); ++i)
      warning << (i ? ", '" : "'") << untrained[i] << "'";
    if (untrained.size() > kNamed)
      warning << " and " << untrained.size() - kNamed << " more";
    warning << " (--loss-params); their values stay as they are";
  }
};

} // namespace
} // namespace dlc
