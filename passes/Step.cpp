// SPDX-License-Identifier: Apache-2.0
#include "passes/Step.h"

using namespace mlir;

namespace dlc {

func::FuncOp findFunction(ModuleOp module, StringRef name) {
  auto f = module.lookupSymbol<func::FuncOp>(name);
  if (f && !f.isExternal())
    return f;
  module.emitError() << "expected a function @" << name;
  return nullptr;
}

std::vector<std::string> namesOf(ir::StateOp state) {
  std::vector<std::string> names{state.getSymName().str()};
  if (auto others = state->getAttrOfType<ArrayAttr>("dlc.names"))
    for (auto other : others.getAsRange<StringAttr>())
      names.push_back(other.str());
  return names;
}

void addResult(func::FuncOp f, Value value, StringRef name) {
  Builder b(f.getContext());
  (void)f.insertResult(
      f.getNumResults(), value.getType(),
      b.getDictionaryAttr(b.getNamedAttr("dlc.name", b.getStringAttr(name))));
  Operation *end = f.front().getTerminator();
  end->insertOperands(end->getNumOperands(), value);
}

SmallVector<std::pair<StringAttr, unsigned>> namedResults(func::FuncOp f,
                                                          StringRef prefix) {
  SmallVector<std::pair<StringAttr, unsigned>> found;
  for (unsigned i = 0; i < f.getNumResults(); ++i)
    if (auto name = f.getResultAttrOfType<StringAttr>(i, "dlc.name");
        name && name.getValue().starts_with(prefix))
      found.push_back(
          {StringAttr::get(f.getContext(),
                           name.getValue().drop_front(prefix.size())),
           i});
  return found;
}

void eraseUnused(func::FuncOp f) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(f.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Marks the last condition of a step's updates.
constexpr StringLiteral kGate = "dlc.gate";

Step::Step(func::FuncOp f)
    : f(f), symbols(f->getParentOfType<ModuleOp>()),
      builder(f.front().getTerminator()) {
  for (Operation &op : f.front())
    if (op.hasAttr(kGate))
      proceeds = op.getResult(0);
}

ir::StateOp Step::addState(StringRef name, RankedTensorType type, ir::Role role,
                           Attribute init, ir::StateOp of) {
  if (Operation *other = symbols.lookup(name)) {
    auto error = f.emitError() << "training needs a state named '" << name
                               << "', but the model has one; rename it there";
    error.attachNote(other->getLoc()) << "it is here";
    return nullptr;
  }
  auto first = f->getParentOfType<ModuleOp>().getOps<func::FuncOp>().begin();
  OpBuilder b(*first);
  auto parent =
      of ? FlatSymbolRefAttr::get(of.getSymNameAttr()) : FlatSymbolRefAttr();
  auto state = ir::StateOp::create(b, of ? of.getLoc() : f.getLoc(), name, type,
                                   role, init, parent, /*trainable=*/false);
  symbols.insert(state);
  return state;
}

ir::StateOp Step::addScalar(StringRef name, Type element, ir::Role role,
                            double init) {
  Attribute value = isa<FloatType>(element)
                        ? Attribute(builder.getFloatAttr(element, init))
                        : builder.getIntegerAttr(element, (int64_t)init);
  return addState(name, RankedTensorType::get({}, element), role, value);
}

ir::StateOp Step::rank() {
  constexpr StringLiteral name = "rng.rank";
  ir::StateOp state = findState(name);
  return state ? state
               : addScalar(name, builder.getI64Type(), ir::Role::step, 0);
}

ir::Expr Step::read(ir::StateOp state) {
  return expr(ir::ReadOp::create(builder, f.getLoc(), state.getType(),
                                 state.getSymName()));
}

void Step::write(ir::StateOp state, Value value) {
  ir::WriteOp::create(builder, f.getLoc(), state.getSymName(), value);
}

ir::Expr Step::scalar(Type element, double value) {
  return expr(ir::ConstantOp::create(builder, f.getLoc(), value,
                                     RankedTensorType::get({}, element)));
}

void Step::sumGradients() {
  llvm::DenseMap<StringAttr, ir::GradientOp> ofState;
  for (ir::GradientOp g : gradients()) {
    ir::GradientOp &part = ofState[g.getStateAttr().getAttr()];
    if (part) {
      builder.setInsertionPoint(g);
      ir::Expr value(builder, g.getLoc(), g.getValue());
      g.getValueMutable().assign(expr(part.getValue()) + value);
      part.erase();
    }
    part = g;
  }
}

void Step::multiplyGradients(ir::Expr factor,
                             ArrayRef<ir::GradientOp> gradients) {
  llvm::DenseMap<Type, Value> rounded;
  for (ir::GradientOp g : gradients) {
    ir::Expr value = expr(g.getValue());
    Type element = value.element();
    Value &by = rounded[element];
    if (!by)
      by = factor.cast(element);
    g.getValueMutable().assign(value * expr(by));
    g->moveBefore(f.front().getTerminator());
  }
}

void Step::updateOnlyIf(ir::Expr holds) {
  if (proceeds)
    holds = holds.make<ir::AndOp>(proceeds, holds.v);
  proceeds = holds.v;
  proceeds.getDefiningOp()->setAttr(kGate, builder.getUnitAttr());
}

ir::Expr Step::ifUpdating(ir::Expr updated, ir::Expr old) {
  return proceeds ? select(expr(proceeds), updated, old) : updated;
}

} // namespace dlc
