// SPDX-License-Identifier: Apache-2.0
// The gradient of a ReLU depends on its result only by whether that is above 0:
// one bit per element. The cluster that computes the result packs the bits,
// eight per byte, as a sum of powers of two over rows of eight elements;
// clusters of gradients read these bytes instead of the result, which
// convolutions and products may still read.
#include "compiler/dialect/Expr.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_PACKMASKS
#include "compiler/lower/Passes.h.inc"

namespace {

using Shape = SmallVector<int64_t>;

constexpr int64_t kBits = 8;
/// Packed numbers are stored as i8, which is signed, after subtracting this.
constexpr double kMiddle = 128;

/// Whether groups of eight consecutive elements are always in one row.
bool hasBytes(Ints shape) {
  return !shape.empty() && shape.back() % kBits == 0;
}

/// [8] of f32: `first`, and each `ratio` times the previous one.
Expr powers(Expr at, double first, double ratio) {
  SmallVector<float> values;
  for (int64_t i = 0; i < kBits; ++i, first *= ratio)
    values.push_back(float(first));
  auto type = RankedTensorType::get({kBits}, at.b->getF32Type());
  return at.make<ir::ConstantOp>(
      type, cast<ElementsAttr>(
                DenseElementsAttr::get(type, ArrayRef<float>(values))));
}

/// Whether `op` masks where `v` is not above 0.
bool isMaskOf(Operation *op, Value v) {
  auto compare = dyn_cast<ir::CompareOp>(op);
  return compare && compare.getPredicate() == ir::Predicate::le &&
         compare.getA() == v && compare.getB() != v &&
         matchPattern(compare.getB(), m_AnyZeroFloat()) &&
         tensorType(compare.getB()).getNumElements() == 1;
}

bool readsMask(OpOperand &use) {
  auto fused = dyn_cast<ir::FusedOp>(use.getOwner());
  if (!fused || !hasBytes(shapeOf(use.get())) ||
      !fused->getDiscardableAttrs().empty())
    return false;
  Value inside = fused.getBody().front().getArgument(use.getOperandNumber());
  return llvm::all_of(inside.getUsers(),
                      [&](Operation *op) { return isMaskOf(op, inside); });
}

/// The clusters that read `v`, possibly through views, only for its mask, and
/// the index of that operand.
void addReaders(Value v, llvm::MapVector<ir::FusedOp, unsigned> &found) {
  for (OpOperand &use : v.getUses())
    if (auto view = dyn_cast<ir::ReshapeOp>(use.getOwner()))
      addReaders(view.getResult(), found);
    else if (readsMask(use))
      found.insert({cast<ir::FusedOp>(use.getOwner()), use.getOperandNumber()});
}

/// An elementwise cluster rewritten for rows of eight elements.
class Packer {
public:
  Packer(ir::FusedOp source, OpResult result)
      : source(source), result(result), full(shapeOf(result)) {}

  /// The cluster with the mask as its last result; null if that is impossible.
  ir::FusedOp run() {
    Block &body = source.getBody().front();
    if (!hasBytes(full) || !source->getDiscardableAttrs().empty() ||
        !llvm::all_of(source.getInputs(), [&](Value v) { return !!of(v); }) ||
        !llvm::all_of(body, [&](Operation &op) { return fits(op); }) ||
        !llvm::all_of(source.getResults(),
                      [&](Value r) { return shapeOf(r) == Ints(full); }))
      return {};
    OpBuilder b(source);
    SmallVector<Value> inputs;
    for (Value v : source.getInputs())
      inputs.push_back(Expr(b, source.getLoc(), v).reshape(*of(v)));
    SmallVector<Type> types;
    for (Value r : source.getResults())
      types.push_back(tensorType(r).clone(*of(r)));
    types.push_back(maskType());
    auto made = ir::FusedOp::create(b, source.getLoc(), types, inputs);
    fill(made);
    if (kindOf(made) == KernelSchedule::Rows)
      return made;
    made.erase();
    return {};
  }

  static std::optional<KernelSchedule::Kind> kindOf(ir::FusedOp fused) {
    std::string why;
    auto graph = KernelGraph::build(fused.getBody(), why);
    return graph ? std::optional(scheduleKernel(*graph).kind) : std::nullopt;
  }

private:
  /// The shape: all elements, one, or one per channel; nullopt otherwise.
  std::optional<Shape> of(Value v) const {
    Ints shape = shapeOf(v);
    const int64_t channels = full.back(), all = elementCount(full);
    if (elementCount(shape) == 1)
      return Shape();
    if (shape == Ints(full))
      return Shape{all / channels, channels / kBits, kBits};
    if (!shape.empty() && shape.back() == channels &&
        elementCount(shape) == channels)
      return Shape{1, channels / kBits, kBits};
    return {};
  }
  bool fits(Operation &op) const {
    return isa<ir::YieldOp>(op) ||
           (isa<ir::ConstantOp>(op) && elementCount(resultShape(&op)) == 1) ||
           (isa<ir::ElementwiseInterface, ir::ReshapeOp>(op) &&
            llvm::all_of(op.getResults(), [&](Value v) { return !!of(v); }));
  }
  RankedTensorType maskType() const {
    Shape shape = *of(result);
    shape.back() = 1;
    return RankedTensorType::get(shape,
                                 IntegerType::get(result.getContext(), 8));
  }

  void fill(ir::FusedOp made) {
    Block &from = source.getBody().front();
    OpBuilder b(source);
    Block *body = b.createBlock(&made.getBody());
    IRMapping map;
    for (auto [old, v] : llvm::zip(from.getArguments(), made.getInputs()))
      map.map(old, body->addArgument(v.getType(), old.getLoc()));
    for (Operation &op : from.without_terminator()) {
      if (isa<ir::ReshapeOp>(op)) {
        map.map(op.getResult(0), map.lookup(op.getOperand(0)));
        continue;
      }
      Operation *copy = b.clone(op, map);
      if (auto constant = dyn_cast<ir::ConstantOp>(copy))
        constant.setValueAttr(cast<ElementsAttr>(
            cast<DenseElementsAttr>(constant.getValue())
                .resizeSplat(tensorType(op.getResult(0)).clone(Shape()))));
      for (auto [old, v] : llvm::zip(op.getResults(), copy->getResults()))
        v.setType(tensorType(old).clone(*of(old)));
    }
    SmallVector<Value> yields;
    for (Value v : from.getTerminator()->getOperands())
      yields.push_back(map.lookup(v));
    Expr y(b, made.getLoc(), yields[result.getResultNumber()]);
    Expr bits = powers(y, 1, 2);
    Expr set = select(y <= 0, 0, bits);
    yields.push_back(
        (set.sum({2}, /*keepdims=*/true) - kMiddle).cast(b.getIntegerType(8)));
    ir::YieldOp::create(b, made.getLoc(), yields);
  }

  ir::FusedOp source;
  OpResult result;
  const Shape full;
};

/// The cluster `reader` with the mask as that operand; null if that would be
/// another kind of kernel.
ir::FusedOp readMask(ir::FusedOp reader, unsigned operand, Value mask) {
  Shape shape(shapeOf(reader.getInputs()[operand]));
  shape.back() /= kBits;
  OpBuilder b(reader);
  Value view = Expr(b, reader.getLoc(), mask).reshape(shape);
  auto made = cast<ir::FusedOp>(b.clone(*reader));
  made->setOperand(operand, view);
  Value inside = made.getBody().front().getArgument(operand);
  const Shape full(shapeOf(inside));
  inside.setType(view.getType());
  for (Operation *user : llvm::make_early_inc_range(inside.getUsers())) {
    b.setInsertionPoint(user);
    Expr x(b, user->getLoc(), inside);
    shape.push_back(1);
    Expr number = x.reshape(shape).cast(b.getF32Type()) + kMiddle;
    shape.pop_back();
    // A bit is set if the number divided by its power of two is odd.
    Expr shifted = number * powers(number, 1, 0.5);
    Expr half = floor(shifted) * 0.5;
    Expr rest = half - floor(half);
    Expr isOff = rest < 0.25;
    user->getResult(0).replaceAllUsesWith(isOff.reshape(full).v);
    user->erase();
  }
  if (Packer::kindOf(made) == Packer::kindOf(reader))
    return made;
  made.erase();
  return {};
}

struct PackMasks : impl::PackMasksBase<PackMasks> {
  using PackMasksBase::PackMasksBase;

  void runOnOperation() final {
    Block &block = getOperation().front();
    for (Operation *op = &block.front(); op; op = op->getNextNode())
      if (auto fused = dyn_cast<ir::FusedOp>(op))
        for (OpResult r : fused->getResults())
          if (isa<FloatType>(ir::elementType(r)) &&
              byteSize(tensorType(r)) >= least)
            if (ir::FusedOp made = pack(fused, r)) {
              op = made;
              break;
            }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<ir::ReshapeOp, ir::FusedOp>(op) && op.use_empty())
        op.erase();
  }

private:
  /// The replacement of `fused`, or null.
  static ir::FusedOp pack(ir::FusedOp fused, OpResult result) {
    llvm::MapVector<ir::FusedOp, unsigned> readers; // and their operands
    addReaders(result, readers);
    ir::FusedOp made =
        readers.empty() ? ir::FusedOp() : Packer(fused, result).run();
    if (!made)
      return {};
    Value mask = made->getResults().back();
    for (auto [reader, operand] : readers)
      if (ir::FusedOp now = readMask(reader, operand, mask)) {
        reader->replaceAllUsesWith(now);
        reader.erase();
      }
    const bool isRead = llvm::any_of(mask.getUsers(), [](Operation *view) {
      return !view->use_empty() || isa<ir::FusedOp>(view);
    });
    OpBuilder b(fused);
    for (auto [old, now] : llvm::zip(fused->getResults(), made->getResults()))
      if (isRead)
        old.replaceAllUsesWith(
            Expr(b, fused.getLoc(), now).reshape(shapeOf(old)).v);
    if (isRead)
      fused.erase();
    return isRead ? made : ir::FusedOp();
  }
};

} // namespace

} // namespace dlc
