// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::isHalf;

namespace dlc {

Type computeType(Type element) {
  return isHalf(element) ? Float32Type::get(element.getContext()) : element;
}
Type storageType(Type element) {
  if (isHalf(element))
    return IntegerType::get(element.getContext(), 16);
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

ScalarEmitter::ScalarEmitter(const KernelGraph &graph, OpBuilder &b,
                             Location loc, Type indexType,
                             LLVM::AccessGroupAttr accessGroup)
    : b(b), loc(loc), indexType(indexType), accessGroup(accessGroup),
      graph(graph), loopValues(graph.variables.size()),
      loopLevels(graph.variables.size(), 0), scopes(1) {}

void ScalarEmitter::setLoop(const LoopGroup &group, Value value, int level) {
  // The dimensions are contiguous in every form, so one value with the
  // innermost loop's coefficient represents them all, and the others are 0.
  for (unsigned v : group.loops) {
    loopValues[v] = v == group.loops.back() ? value : Value();
    loopLevels[v] = level;
  }
}

/// The constant that is added to the loop's value, if nothing else is.
static std::optional<int64_t> offsetFrom(const IndexForm &form,
                                         const LoopGroup &group) {
  for (unsigned v = 0; v < form.variables(); ++v)
    if (form.coefficient(v) && !llvm::is_contained(group.loops, v))
      return {};
  if (form.coefficient(group.loops.back()) != 1)
    return {};
  return form.constant();
}

SmallVector<int64_t> ScalarEmitter::cuts(const LoopGroup &group) const {
  constexpr size_t kMost = 64, kMostOps = 256;
  SmallVector<int64_t> cuts;
  size_t ops = 1;
  for (const auto &node : graph.nodes) {
    ops += node->kind == KernelNode::Apply;
    for (const KernelBound &bound : node->bounds)
      if (auto offset = offsetFrom(bound.form, group))
        for (int64_t end : {bound.low - *offset, bound.high - *offset})
          if (end > 0 && end < group.size)
            cuts.push_back(end);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  if (cuts.size() > kMost || cuts.size() * ops > kMostOps)
    cuts.clear();
  return cuts;
}

std::optional<bool> ScalarEmitter::decided(const KernelBound &bound) const {
  const auto offset = part ? offsetFrom(bound.form, part->group) : std::nullopt;
  if (!offset)
    return {};
  const int64_t low = part->low + *offset, high = part->high + *offset;
  if (low >= bound.low && high <= bound.high)
    return true;
  if (high <= bound.low || low >= bound.high)
    return false;
  return {};
}

int ScalarEmitter::levelOf(const IndexForm &form) const {
  int level = 0;
  for (unsigned v = 0; v < form.variables(); ++v)
    if (form.coefficient(v))
      level = std::max(level, graph.variables[v].kind == KernelVariable::Loop
                                  ? loopLevels[v]
                                  : levelOf(graph.variables[v].of));
  return level;
}

void ScalarEmitter::findLevels() {
  levels.assign(graph.nodes.size(), 0);
  for (const auto &node : graph.nodes) {
    int &level = levels[node->id];
    level = levelOf(node->index);
    for (const KernelBound &bound : node->bounds)
      level = std::max(level, levelOf(bound.form));
    // A reduction's loop is closed when its result is used.
    if (node->kind != KernelNode::Reduce)
      for (const KernelNode *child : node->children)
        level = std::max(level, levels[child->id]);
  }
}

void ScalarEmitter::hoist(ArrayRef<const KernelNode *> roots, int level) {
  // In the order of roots and children, never of pointers, so that equal
  // programs give equal code. An explicit stack, since graphs may be deep.
  llvm::SmallPtrSet<const KernelNode *, 16> seen;
  SmallVector<const KernelNode *> stack(llvm::reverse(roots));
  while (!stack.empty()) {
    const KernelNode *node = stack.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (knows(node))
      continue;
    if (levels[node->id] <= level) {
      emitAll(node);
      continue;
    }
    // Operands under a condition may be out of bounds without it.
    if (node->kind != KernelNode::Pad && node->kind != KernelNode::Concat)
      llvm::append_range(stack, llvm::reverse(node->children));
  }
}

Value ScalarEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(indexType, value));
}
Value ScalarEmitter::number(Type type, double value) {
  TypedAttr attr =
      isa<FloatType>(type)
          ? TypedAttr(b.getFloatAttr(type, value))
          : TypedAttr(b.getIntegerAttr(
                type, type.isInteger(1) ? value != 0 : (int64_t)value));
  return arith::ConstantOp::create(b, loc, attr);
}

Value ScalarEmitter::position(const KernelVariable &read) {
  // The index is data: none may lead to an address outside of the tensor.
  Value v = resize(emit(read.node), indexType), zero = constant(0);
  auto below =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, v, zero);
  Value wrapped = arith::AddIOp::create(b, loc, v, constant(read.size));
  v = arith::SelectOp::create(b, loc, below, wrapped, v);
  v = arith::MaxSIOp::create(b, loc, v, zero);
  return arith::MinSIOp::create(b, loc, v, constant(read.size - 1));
}

Value ScalarEmitter::emit(const IndexForm &form) {
  // The index type can hold every offset, so LLVM may widen and reorder sums.
  auto flags = arith::IntegerOverflowFlags::nsw;
  Value sum;
  auto add = [&](Value v) {
    sum = sum ? Value(arith::AddIOp::create(b, loc, sum, v, flags)) : v;
  };
  for (unsigned v = 0; v < form.variables(); ++v) {
    int64_t c = form.coefficient(v);
    const KernelVariable &k = graph.variables[v];
    Value value = loopValues[v];
    if (c && k.kind == KernelVariable::Read) {
      value = position(k);
    } else if (c && k.kind != KernelVariable::Loop) {
      Value of = emit(k.of), divisor = constant(k.divisor);
      value = k.kind == KernelVariable::Quotient
                  ? Value(arith::DivSIOp::create(b, loc, of, divisor))
                  : Value(arith::RemSIOp::create(b, loc, of, divisor));
    }
    if (c && value)
      add(c == 1 ? value
                 : Value(arith::MulIOp::create(b, loc, value, constant(c),
                                               flags)));
  }
  if (form.constant() || !sum)
    add(constant(form.constant()));
  return sum;
}

Value ScalarEmitter::element(Value pointer, Value index, Type storage) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}
Value ScalarEmitter::load(Value pointer, Value index, Type element) {
  Type storage = storageType(element);
  auto op = LLVM::LoadOp::create(b, loc, storage,
                                 this->element(pointer, index, storage));
  if (accessGroup)
    op.setAccessGroupsAttr(b.getArrayAttr({accessGroup}));
  return fromStorage(op, element);
}
void ScalarEmitter::store(Value v, Value pointer, Value index, Type element) {
  auto op = LLVM::StoreOp::create(
      b, loc, toStorage(v, element),
      this->element(pointer, index, storageType(element)));
  if (accessGroup)
    op.setAccessGroupsAttr(b.getArrayAttr({accessGroup}));
}
Value ScalarEmitter::isStored(const KernelOutput &o) {
  if (!o.row)
    return {};
  Value row = emit(o.row);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row,
                               number(row.getType(), double(o.rows)));
}
void ScalarEmitter::where(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Scope scope(*this);
  body();
}
Value ScalarEmitter::fromStorage(Value v, Type element) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v,
                                 number(v.getType(), 0));
  return isHalf(element) ? widen(arith::BitcastOp::create(b, loc, element, v))
                         : v;
}
Value ScalarEmitter::toStorage(Value v, Type element) {
  Type storage = storageType(element);
  if (isHalf(element)) {
    auto wide = v.getDefiningOp<arith::ExtFOp>();
    Value half = wide && wide.getIn().getType() == element
                     ? wide.getIn()
                     : Value(arith::TruncFOp::create(b, loc, element, v));
    return arith::BitcastOp::create(b, loc, storage, half);
  }
  return element.isInteger(1)
             ? Value(arith::ExtUIOp::create(b, loc, storage, v))
             : v;
}
Value ScalarEmitter::widen(Value v) {
  Type to = computeType(v.getType());
  return to == v.getType() ? v : Value(arith::ExtFOp::create(b, loc, to, v));
}

Value ScalarEmitter::resize(Value v, Type type) {
  unsigned from = v.getType().getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  if (from == to)
    return v;
  return from > to ? Value(arith::TruncIOp::create(b, loc, type, v))
                   : Value(arith::ExtSIOp::create(b, loc, type, v));
}

ScalarEmitter::Values ScalarEmitter::emitAll(const KernelNode *node) {
  for (auto &scope : llvm::reverse(scopes))
    if (auto it = scope.find(node); it != scope.end())
      return it->second;
  Values values = compute(node);
  return scopes.back()[node] = values;
}

ScalarEmitter::Values ScalarEmitter::compute(const KernelNode *node) {
  Type element = elementType(node->value);
  switch (node->kind) {
  case KernelNode::Load:
  case KernelNode::Table:
    return {load(pointers.lookup(node->value), emit(node->index), element)};
  case KernelNode::Splat:
    return {splat(node)};
  case KernelNode::Index: {
    Value i = emit(node->index);
    Type type = computeType(element);
    if (isa<FloatType>(type))
      return {arith::SIToFPOp::create(b, loc, type, i)};
    return {resize(i, type)};
  }
  case KernelNode::Apply:
    return apply(node);
  case KernelNode::Pick:
    return {emitAll(node->children.front())[node->result]};
  case KernelNode::Pad:
    return {pad(node)};
  case KernelNode::Concat:
    return {concat(node, 0)};
  case KernelNode::Product:
    return {arith::MulFOp::create(b, loc, factor(node->children[0]),
                                  factor(node->children[1]))};
  case KernelNode::Reduce:
    break;
  }
  llvm_unreachable("a reduction is set by its loop");
}

Value ScalarEmitter::rounded(Value v, Type element) {
  return isHalf(element) ? widen(arith::TruncFOp::create(b, loc, element, v))
                         : v;
}
/// A product's factor as a library would read it, rounded to 16 bits; loaded
/// values are exact.
Value ScalarEmitter::factor(const KernelNode *node) {
  Value v = emit(node);
  return node->kind == KernelNode::Load ? v
                                        : rounded(v, elementType(node->value));
}

ScalarEmitter::Values ScalarEmitter::apply(const KernelNode *node) {
  Values operands, results;
  for (const KernelNode *child : node->children)
    operands.push_back(emit(child));
  for (Value v :
       cast<ir::ElementwiseInterface>(node->op()).buildBody(b, operands))
    results.push_back(widen(v));
  return results;
}

Value ScalarEmitter::splat(const KernelNode *node) {
  auto dense =
      cast<DenseElementsAttr>(cast<ir::ConstantOp>(node->op()).getValue());
  Type type = computeType(dense.getElementType());
  if (isa<FloatType>(type)) {
    APFloat value = dense.getSplatValue<APFloat>();
    bool exact;
    value.convert(cast<FloatType>(type).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &exact);
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(type, dense.getSplatValue<APInt>()));
}

Value ScalarEmitter::within(const KernelBound &bound) {
  // One unsigned comparison checks both bounds.
  Value offset = emit(bound.form + IndexForm(-bound.low));
  Value size = count && bound.low == 0 && bound.high == count->first
                   ? count->second
                   : constant(std::max<int64_t>(bound.high - bound.low, 0));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, offset, size);
}

static Value choose(OpBuilder &b, Location loc, Type type, Value condition,
                    llvm::function_ref<Value()> then,
                    llvm::function_ref<Value()> otherwise) {
  auto branch = scf::IfOp::create(b, loc, type, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return branch.getResult(0);
}

Value ScalarEmitter::within(ArrayRef<KernelBound> bounds) {
  Value all;
  for (const KernelBound &bound : bounds) {
    if (decided(bound) == true)
      continue;
    Value one = within(bound);
    all = all ? Value(arith::AndIOp::create(b, loc, all, one)) : one;
  }
  return all;
}

static double padding(const KernelNode *node) {
  return cast<ir::PadOp>(node->op()).getValue().convertToDouble();
}
Value ScalarEmitter::storedPad(const KernelNode *node) {
  Type element = elementType(node->value);
  return toStorage(number(computeType(element), padding(node)), element);
}

Value ScalarEmitter::pad(const KernelNode *node) {
  Type type = computeType(elementType(node->value));
  if (llvm::any_of(node->bounds, [&](const KernelBound &bound) {
        return decided(bound) == false;
      }))
    return number(type, padding(node));
  Value all = within(node->bounds);
  // Values emitted in a branch must not be reused after it.
  auto inside = [&] {
    Scope scope(*this);
    return emit(node->children.front());
  };
  if (!all)
    return inside();
  return choose(b, loc, type, all, inside,
                [&] { return number(type, padding(node)); });
}

Value ScalarEmitter::concat(const KernelNode *node, size_t operand) {
  auto inside = [&] {
    Scope scope(*this);
    return emit(node->children[operand]);
  };
  const auto known = decided(node->bounds[operand]);
  if (operand + 1 == node->children.size() || known == true)
    return inside();
  if (known == false)
    return concat(node, operand + 1);
  Type type = computeType(elementType(node->value));
  return choose(b, loc, type, within(node->bounds[operand]), inside,
                [&] { return concat(node, operand + 1); });
}

} // namespace dlc
