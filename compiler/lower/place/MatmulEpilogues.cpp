// What a library's product can do in the same call, found where a step has it:
//
//   y = relu|gelu(a b + bias)         matmul_activation, or matmul's activation
//                                     where nothing else reads a b + bias
//   dx = (dy w') relu|gelu'(x)        matmul_activation_backward
//   sum over the rows of dx           its dbias
//   dw = x' dy, sum over rows of dy   matmul_bias_backward
//
// An activation's gradient is found by writing it again and comparing: the rule
// of DifferentiableInterface is the only place that knows it. Gelu is its tanh
// form. The gradient of gelu reads x, which any product may have made; that of
// relu reads bits that only the library's own forward product writes, so both
// are formed or neither. Gradients of activations come first, as they free x.
#include "compiler/lower/place/MatmulEpilogues.h"
#include "compiler/dialect/Epilogues.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/fuse/FuseMatmul.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// From a product to the last op of an activation's gradient: casts, a view and
/// one operation.
constexpr int kSteps = 4;
/// More ops than any activation's gradient has.
constexpr size_t kMaxGradient = 64;
/// The library wants rows of matrices at multiples of 16 bytes for its fast
/// kernels, those of gelu's x at 8 elements, and those of relu's bits at 128.
constexpr int64_t kRowBytes = 16, kGeluRow = 8, kReluRow = 128;

int64_t columnsOf(Value v) { return tensorType(v).getShape().back(); }

/// `v` or what it is a view of, if both have the same rows.
Value rowsOf(Value v) {
  while (auto view = v.getDefiningOp<ir::ReshapeOp>()) {
    if (tensorType(v).getRank() == 0 ||
        tensorType(view.getX()).getRank() == 0 ||
        columnsOf(v) != columnsOf(view.getX()))
      break;
    v = view.getX();
  }
  return v;
}

bool isElementwise(Operation *op) {
  return isa_and_present<ir::ElementwiseInterface, ir::CastOp>(op);
}

/// The name of an activation that the library has.
StringRef activationOf(Operation *op) {
  if (isa<ir::ReluOp>(op))
    return "relu";
  auto gelu = dyn_cast<ir::GeluOp>(op);
  return gelu && gelu.getTanh() ? "gelu_tanh" : "";
}

/// One product of matrices whose types and rows the library has epilogues for.
bool canHaveEpilogue(ir::MatmulOp op) {
  Type element = ir::elementType(op.getY());
  if (op.getActivation() || !(ir::isHalf(element) || element.isF32()) ||
      tensorType(op.getB()).getRank() != 2 ||
      (op.getTransA() && tensorType(op.getA()).getRank() != 2))
    return false;
  return llvm::all_of(ArrayRef<Value>{op.getA(), op.getB(), op.getY()},
                      [&](Value v) {
                        return tensorType(v).getNumElements() > 0 &&
                               columnsOf(v) * element.getIntOrFloatBitWidth() %
                                       (8 * kRowBytes) ==
                                   0;
                      });
}

/// Whether `written`, an expression in a block of its own of its argument, is
/// the expression `found` of `dy`.
class Comparison {
public:
  Comparison(Block &own, Value dy) : own(own), dy(dy) {}
  bool same(Value written, Value found) {
    if (written == own.getArgument(0))
      return found == dy;
    Operation *w = written.getDefiningOp(), *f = found.getDefiningOp();
    if (!w || w->getBlock() != &own)
      return written == found;
    if (!f || !known.insert({w, f}).second)
      return f;
    return w->getName() == f->getName() &&
           written.getType() == found.getType() &&
           w->getAttrDictionary() == f->getAttrDictionary() &&
           llvm::equal(w->getOperands(), f->getOperands(),
                       [&](Value a, Value b) { return same(a, b); });
  }

private:
  Block &own;
  Value dy;
  DenseSet<std::pair<Operation *, Operation *>> known;
};

/// Whether `dx` is the gradient of `activation`'s operand if `dy` is that of
/// its result.
bool isGradient(Operation *activation, Value dy, Value dx) {
  auto rule = dyn_cast<ir::DifferentiableInterface>(activation);
  if (!rule || dy.getType() != activation->getResult(0).getType() ||
      dx.getType() != dy.getType())
    return false;
  Block own;
  Value argument = own.addArgument(dy.getType(), dy.getLoc());
  OpBuilder builder(activation->getContext());
  builder.setInsertionPointToEnd(&own);
  SmallVector<Value> written;
  return succeeded(rule.buildGradient(builder, {argument}, written)) &&
         written.size() == 1 && written[0] &&
         Comparison(own, dy).same(written[0], dx);
}

/// Activations that `v` may be a gradient of.
SmallVector<Operation *> activationsBehind(Value v) {
  llvm::SmallSetVector<Value, 32> seen;
  SmallVector<Operation *> found;
  seen.insert(v);
  for (size_t i = 0; i < seen.size() && i < kMaxGradient; ++i) {
    Operation *def = seen[i].getDefiningOp();
    if (isa_and_present<ir::ConstantOp>(def))
      continue;
    if (isa_and_present<ir::ReluOp>(def))
      found.push_back(def);
    for (Operation *user : seen[i].getUsers())
      if (isa<ir::GeluOp>(user) && !activationOf(user).empty())
        found.push_back(user);
    if (isElementwise(def))
      seen.insert(def->operand_begin(), def->operand_end());
  }
  return found;
}

/// The gradient of an activation's operand that the gradient of its result,
/// some value, is only used for.
struct Slope {
  Operation *activation = nullptr;
  Value dx;
};
Slope slopeOf(Value dy) {
  Value v = dy;
  for (int i = 0; i < kSteps && v.hasOneUse(); ++i) {
    Operation *user = *v.user_begin();
    if (auto view = dyn_cast<ir::ReshapeOp>(user)) {
      if (v != dy || rowsOf(view.getY()) != rowsOf(dy))
        return {};
      v = dy = view.getY();
      continue;
    }
    if (user->getNumResults() != 1 || !isElementwise(user))
      return {};
    v = user->getResult(0);
    for (Operation *activation : activationsBehind(v))
      if (isGradient(activation, dy, v))
        return {activation, v};
  }
  return {};
}

void eraseDead(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Operation *> operands;
  for (Value v : op->getOperands())
    if (Operation *def = v.getDefiningOp();
        def && !llvm::is_contained(operands, def))
      operands.push_back(def);
  op->erase();
  for (Operation *def : operands)
    eraseDead(def);
}

/// Puts `by`, the same elements, in the place of `old`.
void replace(OpBuilder &builder, Value old, Value by) {
  if (old.getType() != by.getType())
    by = ir::ReshapeOp::create(builder, old.getLoc(), old.getType(), by);
  old.replaceAllUsesWith(by);
  eraseDead(old.getDefiningOp());
}

Location locate(Operation *a, Operation *b) {
  return FusedLoc::get(a->getContext(), {a->getLoc(), b->getLoc()});
}

class Epilogues {
public:
  Epilogues(Block &block, const Target &target, bool library, bool relu)
      : block(block), target(target), library(library), relu(relu) {}

  void run() {
    for (ir::MatmulOp op : llvm::to_vector(block.getOps<ir::MatmulOp>()))
      takeSlope(op);
    SmallVector<Operation *> activations, sums;
    for (Operation &op : block) {
      if (isWanted(&op))
        activations.push_back(&op);
      if (isa<ir::ReduceSumOp>(op))
        sums.push_back(&op);
    }
    for (Operation *op : activations)
      takeActivation(op);
    for (Operation *op : sums)
      takeSum(cast<ir::ReduceSumOp>(op));
  }

private:
  bool isWanted(Operation *activation) const {
    return !activationOf(activation).empty() &&
           (relu || !isa<ir::ReluOp>(activation));
  }

  /// Whether the library is faster, with further `bytes` of an epilogue that a
  /// generated kernel could have, too.
  bool isWorth(ir::MatmulOp op, double bytes) const {
    if (library || !ir::isHalf(ir::elementType(op.getY())))
      return true;
    const ProductShape shape = shapeOf(op);
    bytes += trafficOf(op);
    return target.libraryProduct(shape, bytes) + around(op) <=
           target.generatedProduct(shape, bytes, {}, {});
  }
  /// What separate kernels take for operands that products alone read, and for
  /// the cast of a gradient: a generated kernel would contain them.
  double around(ir::MatmulOp op) const {
    double sum = 0;
    for (Value v : op->getOperands()) {
      auto users = v.getUsers();
      if (isElementwise(v.getDefiningOp()) &&
          llvm::all_of(users, llvm::IsaPred<ir::MatmulOp>))
        sum += target.streaming(trafficOf(v.getDefiningOp())) /
               std::distance(users.begin(), users.end());
    }
    if (op.getY().hasOneUse() && isa<ir::CastOp>(*op.getY().user_begin()))
      sum += target.streaming(trafficOf(*op.getY().user_begin()));
    return sum;
  }

  /// The product whose result alone `activation` is of, if it can have it.
  static ir::MatmulOp productOf(Operation *activation) {
    Value x = activation->getOperand(0);
    auto product = rowsOf(x).getDefiningOp<ir::MatmulOp>();
    if (!product || !canHaveEpilogue(product))
      return nullptr;
    for (Value v = x; v != product.getY();
         v = v.getDefiningOp<ir::ReshapeOp>().getX())
      if (v != x && !v.hasOneUse())
        return nullptr;
    bool isLone = x == product.getY() || product.getY().hasOneUse();
    return isLone ? product : nullptr;
  }

  void takeSlope(ir::MatmulOp op) {
    if (op.getBias() || !canHaveEpilogue(op) ||
        !isWorth(op, bytesOf(op.getY())))
      return;
    auto [activation, dx] = slopeOf(op.getY());
    if (!activation || !isWanted(activation))
      return;
    StringAttr name =
        StringAttr::get(op.getContext(), activationOf(activation));
    Value kept = activation->getOperand(0);
    if (isa<ir::ReluOp>(activation)) {
      ir::MatmulOp forward = productOf(activation);
      if (!forward || !activation->getOperand(0).hasOneUse() ||
          !activation->isBeforeInBlock(op) || !isWorth(forward, 0))
        return;
      kept = keepBits(forward, activation);
    } else if (columnsOf(kept) % kGeluRow || !isBefore(kept, op)) {
      return;
    }
    // Where dx was, so that gradients of later layers still come first.
    OpBuilder builder(dx.getDefiningOp());
    auto made = ir::MatmulActivationBackwardOp::create(
        builder, locate(op, dx.getDefiningOp()), TypeRange{op.getY().getType()},
        op.getA(), op.getB(), kept, op.getTransAAttr(), op.getTransBAttr(),
        name);
    replace(builder, dx, made.getDx());
  }
  static bool isBefore(Value v, Operation *op) {
    Operation *def = v.getDefiningOp();
    return !def || def->isBeforeInBlock(op);
  }

  /// relu(forward) as one call; returns its bits.
  Value keepBits(ir::MatmulOp forward, Operation *activation) {
    auto type = tensorType(forward.getY());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = llvm::divideCeil(shape.back(), kReluRow) * (kReluRow / 8);
    OpBuilder builder(forward);
    auto bits = RankedTensorType::get(shape, builder.getI8Type());
    return keep(forward, activation, bits);
  }
  Value keep(ir::MatmulOp forward, Operation *activation, Type kept) {
    OpBuilder builder(forward);
    auto made = ir::MatmulActivationOp::create(
        builder, locate(forward, activation),
        TypeRange{forward.getY().getType(), kept}, forward.getA(),
        forward.getB(), forward.getBias(), forward.getTransAAttr(),
        forward.getTransBAttr(),
        builder.getStringAttr(activationOf(activation)));
    replace(builder, activation->getResult(0), made.getY());
    return made.getKept();
  }

  /// An activation joins its product, which keeps its own result for others.
  void takeActivation(Operation *activation) {
    ir::MatmulOp product = productOf(activation);
    if (!product)
      return;
    Value x = activation->getOperand(0);
    const bool isRead = !x.hasOneUse();
    if (!isWorth(product, isRead ? bytesOf(x) : 0))
      return;
    if (!isRead) {
      OpBuilder builder(product);
      auto made = cast<ir::MatmulOp>(builder.clone(*product));
      made->setLoc(locate(product, activation));
      made.setActivation(activationOf(activation));
      replace(builder, activation->getResult(0), made.getY());
    } else if (isa<ir::GeluOp>(activation) && columnsOf(x) % kGeluRow == 0) {
      OpBuilder builder(product);
      Value kept = keep(product, activation, product.getY().getType());
      replace(builder, x, kept);
    }
  }

  /// A sum over all rows of a gradient joins the product that made the gradient
  /// or one that reads it.
  void takeSum(ir::ReduceSumOp sum) {
    auto type = tensorType(sum.getX());
    if (static_cast<int64_t>(sum.getAxes().size()) != type.getRank() - 1 ||
        llvm::is_contained(sum.getAxes(), type.getRank() - 1) ||
        type.getElementType() != ir::elementType(sum.getY()))
      return;
    Value rows = rowsOf(sum.getX());
    auto bias = RankedTensorType::get({columnsOf(rows)}, type.getElementType());
    if (auto maker = rows.getDefiningOp<ir::MatmulActivationBackwardOp>()) {
      if (!maker.getDbias())
        sumBehind(maker, sum, bias);
      return;
    }
    SmallVector<Value> views{rows};
    for (size_t i = 0; i < views.size(); ++i)
      for (Operation *user : views[i].getUsers()) {
        if (auto view = dyn_cast<ir::ReshapeOp>(user);
            view && rowsOf(view.getY()) == rows)
          views.push_back(view.getY());
        else if (auto product = dyn_cast<ir::MatmulOp>(user);
                 product && sumWith(product, views[i], sum, bias))
          return;
      }
  }
  void sumBehind(ir::MatmulActivationBackwardOp maker, ir::ReduceSumOp sum,
                 Type bias) {
    OpBuilder builder(maker);
    auto made = ir::MatmulActivationBackwardOp::create(
        builder, locate(maker, sum), TypeRange{maker.getDx().getType(), bias},
        maker.getA(), maker.getB(), maker.getKept(), maker.getTransAAttr(),
        maker.getTransBAttr(), maker.getActivationAttr());
    maker.getDx().replaceAllUsesWith(made.getDx());
    maker.erase();
    replace(builder, sum.getY(), made.getDbias());
  }
  bool sumWith(ir::MatmulOp product, Value gradient, ir::ReduceSumOp sum,
               Type bias) {
    const bool isA = product.getA() == gradient && product.getTransA(),
               isB = product.getB() == gradient && !product.getTransB();
    bool fits = isA != isB && !product.getBias() && canHaveEpilogue(product) &&
                tensorType(product.getA()).getRank() == 2 &&
                isWorth(product, 0) &&
                llvm::all_of(sum->getUsers(), [&](Operation *user) {
                  return product->isBeforeInBlock(user);
                });
    if (!fits)
      return false;
    OpBuilder builder(product);
    auto made = ir::MatmulBiasBackwardOp::create(
        builder, locate(product, sum),
        TypeRange{product.getY().getType(), bias}, product.getA(),
        product.getB(), product.getTransAAttr(), product.getTransBAttr(),
        builder.getStringAttr(isA ? "a" : "b"));
    product.getY().replaceAllUsesWith(made.getY());
    product.erase();
    replace(builder, sum.getY(), made.getDbias());
    return true;
  }

  Block &block;
  const Target &target;
  bool library, relu;
};

struct MatmulEpilogues
    : PassWrapper<MatmulEpilogues, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MatmulEpilogues)
  MatmulEpilogues(std::shared_ptr<const Target> target, bool isLibrary,
                  bool hasRelu)
      : target(std::move(target)) {
    library = isLibrary;
    relu = hasRelu;
  }
  MatmulEpilogues(const MatmulEpilogues &o)
      : MatmulEpilogues(o.target, o.library, o.relu) {}
  StringRef getArgument() const final { return "dlc-matmul-epilogues"; }
  StringRef getDescription() const final {
    return "library products take over activations, their gradients and sums";
  }
  void runOnOperation() final {
    Epilogues(getOperation().front(), *target, library, relu).run();
  }

  std::shared_ptr<const Target> target;
  Option<bool> library{
      *this, "library",
      llvm::cl::desc("also where a generated kernel is faster")};
  Option<bool> relu{*this, "relu",
                    llvm::cl::desc("also relu, which hides NaN")};
};

} // namespace

std::unique_ptr<Pass>
createMatmulEpilogues(std::shared_ptr<const Target> target, bool library,
                      bool relu) {
  return std::make_unique<MatmulEpilogues>(std::move(target), library, relu);
}

} // namespace dlc
