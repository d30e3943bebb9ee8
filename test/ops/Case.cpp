// SPDX-License-Identifier: Apache-2.0
#include "test/ops/Case.h"
#include "compiler/dialect/Expr.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc::reference {
namespace {

double number(Attribute a) { return cast<FloatAttr>(a).getValueAsDouble(); }

Tensor feed(RankedTensorType type, DictionaryAttr attributes,
            std::mt19937 &random) {
  if (auto value = expected(attributes, "dlc.value"))
    return *value;
  Tensor t(type.getShape());
  double low = -2, high = 2;
  if (attributes)
    if (auto range = attributes.getAs<ArrayAttr>("dlc.range"))
      low = number(range[0]), high = number(range[1]);
  int64_t below = 2;
  if (attributes)
    if (auto n = attributes.getAs<IntegerAttr>("dlc.below"))
      below = n.getInt();
  for (double &v : t.data)
    v = isa<FloatType>(type.getElementType())
            ? low + (high - low) * (random() / 4294967296.0)
            : random() % below;
  return t;
}

} // namespace

std::optional<Tensor> expected(DictionaryAttr attributes, StringRef name) {
  auto value =
      attributes ? attributes.getAs<ElementsAttr>(name) : ElementsAttr();
  return value ? std::optional(constant(value)) : std::nullopt;
}

Case::Case(func::FuncOp f) : function(f) {
  std::mt19937 random(1);
  for (BlockArgument a : f.getArguments())
    arguments.push_back(
        feed(ir::tensorType(a), f.getArgAttrDict(a.getArgNumber()), random));
  for (auto [i, t] : llvm::enumerate(f.getResultTypes())) {
    auto type = cast<RankedTensorType>(t);
    Tensor w;
    if (isa<FloatType>(type.getElementType())) {
      w = Tensor(type.getShape());
      for (double &v : w.data)
        v = random() / 4294967296.0 * 2 - 1;
      if (auto given = expected(f.getResultAttrDict(i), "dlc.weight"))
        w = *given;
    }
    weights.push_back(w);
  }
}

bool Case::isFloat(unsigned argument) const {
  func::FuncOp f = function;
  return isa<FloatType>(ir::elementType(f.getArgument(argument)));
}

FailureOr<double> Case::loss(const std::vector<Tensor> &at) const {
  auto outcome = interpret(function, at, {});
  if (failed(outcome))
    return failure();
  double sum = 0;
  for (auto [y, w] : llvm::zip_equal(outcome->results, weights))
    for (size_t i = 0; i < w.data.size(); ++i)
      sum += y.data[i] * w.data[i];
  return sum;
}

OwningOpRef<ModuleOp> Case::trainStep() const {
  func::FuncOp f = function;
  Location loc = f.getLoc();
  OpBuilder b(f.getContext());
  auto module = ModuleOp::create(b, loc);
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputs;
  for (auto [i, type] : llvm::enumerate(f.getArgumentTypes()))
    if (isFloat(i))
      ir::StateOp::create(b, loc, stateName(i), type, ir::Role::param,
                          b.getF64FloatAttr(0), FlatSymbolRefAttr(), true);
    else
      inputs.push_back(type);
  auto scalar = RankedTensorType::get({}, b.getF64Type());
  auto step = func::FuncOp::create(b, loc, "train_step",
                                   b.getFunctionType(inputs, {scalar}));
  step.setResultAttr(0, "dlc.name", b.getStringAttr("loss"));
  b.setInsertionPointToStart(step.addEntryBlock());
  IRMapping map;
  unsigned input = 0;
  for (BlockArgument a : f.getArguments())
    map.map(a, isFloat(a.getArgNumber())
                   ? Value(ir::ReadOp::create(b, loc, a.getType(),
                                              stateName(a.getArgNumber())))
                   : step.getArgument(input++));
  for (Operation &op : f.front().without_terminator())
    b.clone(op, map);
  std::optional<Expr> loss;
  for (auto [y, w] :
       llvm::zip_equal(f.front().getTerminator()->getOperands(), weights)) {
    if (w.shape.empty() && w.data.empty())
      continue;
    auto type = RankedTensorType::get(w.shape, b.getF64Type());
    Expr weight(b, loc,
                ir::ConstantOp::create(
                    b, loc, type,
                    DenseElementsAttr::get(type, ArrayRef<double>(w.data))));
    Expr part = Expr(b, loc, map.lookup(y)).cast(b.getF64Type()) * weight;
    part = part.sum(ir::axesBetween(0, part.rank()));
    loss = loss ? *loss + part : part;
  }
  func::ReturnOp::create(b, loc, loss->v);
  return module;
}

States Case::states() const {
  States states;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isFloat(i))
      states[stateName(i)] = arguments[i];
  return states;
}

std::vector<Tensor> Case::inputs() const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!isFloat(i))
      inputs.push_back(arguments[i]);
  return inputs;
}

} // namespace dlc::reference
