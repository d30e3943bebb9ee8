// SPDX-License-Identifier: Apache-2.0
#include "passes/pack/Drift.h"

#include "passes/attention/Triangle.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc::pack {
namespace {

using Axes = SmallVector<int64_t>;
using Drift = std::optional<double>;
// Limits on the depth and size of expressions, since masks are short.
constexpr int kDepth = 48, kMostLooks = 4096;

class DriftFinder {
public:
  explicit DriftFinder(const SymbolTable &symbols) : symbols(symbols) {}

  Drift find(Value v, Axes axes, int depth) const {
    auto type = tensorType(v);
    llvm::erase_if(axes, [&](int64_t a) { return type.getDimSize(a) == 1; });
    if (axes.empty() || numberOf(v))
      return 0;
    Operation *op = v.getDefiningOp();
    if (!op || depth > kDepth || ++looks > kMostLooks)
      return std::nullopt;
    const int64_t rank = type.getRank();
    if (axes == Axes{rank - 2, rank - 1} && triangleOf(v, symbols))
      return 0;
    if (isa<ir::UniformOp, ir::NoiseOp>(op))
      return 0; // random: no position is like another
    auto next = [&](Value x, Axes own) {
      return find(x, std::move(own), depth + 1);
    };
    return TypeSwitch<Operation *, Drift>(op)
        .Case([&](ir::IotaOp iota) {
          return Drift(llvm::is_contained(axes, iota.getAxis()));
        })
        .Case([&](ir::BroadcastOp broadcast) {
          return next(broadcast.getX(), fromEnd(axes, v, broadcast.getX()));
        })
        .Case([&](ir::ReshapeOp reshape) {
          auto own = behindOnes(axes, v, reshape.getX());
          return own ? next(reshape.getX(), *own) : Drift();
        })
        .Case([&](ir::TransposeOp transpose) {
          return next(transpose.getX(),
                      llvm::map_to_vector(axes, [&](int64_t a) {
                        return transpose.getPerm()[a];
                      }));
        })
        .Case([&](ir::SliceOp slice) {
          auto isDense = [&](int64_t a) { return slice.getSteps()[a] == 1; };
          return llvm::all_of(axes, isDense) ? next(slice.getX(), axes)
                                             : Drift();
        })
        .Case([&](ir::GatherOp gather) { return ofGather(gather, axes, next); })
        .Case([&](ir::ElementwiseInterface) {
          SmallVector<Drift> drifts;
          for (Value x : op->getOperands())
            drifts.push_back(next(x, fromEnd(axes, v, x)));
          return ofElementwise(op, drifts);
        })
        .Default([](Operation *) { return Drift(); });
  }

private:
  /// The axes of `x`, which broadcasts to `v`, that correspond to `axes`.
  static Axes fromEnd(const Axes &axes, Value v, Value x) {
    const int64_t more = tensorType(v).getRank() - tensorType(x).getRank();
    Axes own;
    for (int64_t a : axes)
      if (a >= more)
        own.push_back(a - more);
    return own;
  }
  /// The axes of `x` that correspond to `axes`, if `v` is a reshape of x that
  /// only adds or removes dimensions of size 1.
  static std::optional<Axes> behindOnes(const Axes &axes, Value v, Value x) {
    auto realAxes = [](Value y) {
      Axes real;
      for (auto [i, size] : llvm::enumerate(tensorType(y).getShape()))
        if (size != 1)
          real.push_back(i);
      return real;
    };
    const Axes to = realAxes(v), from = realAxes(x);
    if (to.size() != from.size())
      return std::nullopt;
    Axes own;
    for (auto [a, b] : llvm::zip_equal(to, from)) {
      if (tensorType(v).getDimSize(a) != tensorType(x).getDimSize(b))
        return std::nullopt;
      if (llvm::is_contained(axes, a))
        own.push_back(b);
    }
    return own;
  }
  /// A gather whose index does not drift has the drift of its data; a gather
  /// from constant data has none.
  template <class Next>
  static Drift ofGather(ir::GatherOp gather, const Axes &axes, Next next) {
    const int64_t axis = gather.getAxis(),
                  more = tensorType(gather.getIndices()).getRank();
    Axes ofData, ofIndices;
    for (int64_t a : axes)
      if (a < axis)
        ofData.push_back(a);
      else if (a < axis + more)
        ofIndices.push_back(a - axis);
      else
        ofData.push_back(a - more + 1);
    Value data = gather.getData();
    if (isNumber(data))
      return 0;
    return next(data, ofData) == 0.0 &&
                   next(gather.getIndices(), ofIndices) == 0.0
               ? Drift(0)
               : Drift();
  }
  static bool isNumber(Value v) {
    Operation *op = v.getDefiningOp();
    while (isa_and_nonnull<ir::ReshapeOp, ir::BroadcastOp, ir::CastOp>(op))
      v = op->getOperand(0), op = v.getDefiningOp();
    return numberOf(v).has_value();
  }

  static Drift ofElementwise(Operation *op, ArrayRef<Drift> drifts) {
    if (!llvm::all_of(drifts, [](const Drift &d) { return d.has_value(); }))
      return std::nullopt;
    if (llvm::all_of(drifts, [](const Drift &d) { return *d == 0; }))
      return 0;
    const double a = *drifts[0], b = drifts.size() > 1 ? *drifts[1] : 0;
    if (isa<ir::AddOp>(op))
      return a + b;
    if (isa<ir::SubOp>(op))
      return a - b;
    if (isa<ir::NegOp>(op))
      return -a;
    if (isa<ir::CastOp>(op) && !ir::elementType(op->getResult(0)).isInteger(1))
      return a;
    if (isa<ir::CompareOp>(op) && a == b)
      return 0;
    if (isa<ir::MaxOp, ir::MinOp>(op) && a == b)
      return a;
    if (isa<ir::MulOp>(op)) {
      if (auto n = numberOf(op->getOperand(1)))
        return a * *n;
      if (auto n = numberOf(op->getOperand(0)))
        return b * *n;
    }
    return std::nullopt;
  }

  const SymbolTable &symbols;
  mutable int looks = 0; // an operand of two readers counts twice
};

} // namespace

std::optional<double> driftOf(Value v, ArrayRef<int64_t> axes,
                              const SymbolTable &symbols) {
  return DriftFinder(symbols).find(v, Axes(axes), 0);
}

} // namespace dlc::pack
