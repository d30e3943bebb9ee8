// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/GroupNorms.h"
#include "compiler/dialect/Expr.h"

using namespace mlir;

namespace dlc {
namespace {

using ir::Expr;
using Dims = SmallVector<int64_t>;

/// The image [N, C, ...] that `v`, of [N, groups, rest], is a reshape of.
Value imageOf(Value v, function_ref<bool(Value)> isImage) {
  auto reshape = v.getDefiningOp<ir::ReshapeOp>();
  const Value image = isImage(v) ? v
                      : reshape  ? Value(reshape.getX())
                                 : Value();
  if (!image || !isImage(image))
    return {};
  const auto of = ir::tensorType(image), to = ir::tensorType(v);
  const bool isGrouped = of.getRank() > 2 && to.getRank() > 2 &&
                         to.getDimSize(0) == of.getDimSize(0) &&
                         to.getDimSize(1) > 0 &&
                         of.getDimSize(1) % to.getDimSize(1) == 0;
  return isGrouped ? image : Value();
}

/// The scalar that a broadcast repeats.
Value numberOf(Value v) {
  auto broadcast = v.getDefiningOp<ir::BroadcastOp>();
  return broadcast && ir::tensorType(broadcast.getX()).getNumElements() == 1
             ? Value(broadcast.getX())
             : Value();
}

class GroupNorm {
public:
  GroupNorm(Operation *op, Value image, int64_t groups)
      : builder(op), loc(op->getLoc()),
        shape(ir::tensorType(image).getShape()), grouped{shape[0], groups,
                                                         shape[1] / groups},
        pixels(ir::axesBetween(2, int64_t(shape.size()))) {
    channels.assign(shape.size(), 1);
    channels[0] = shape[0], channels[1] = shape[1];
  }

  /// As an image in f32 or wider.
  Expr image(Value v) { return ir::wide(Expr(builder, loc, v).reshape(shape)); }
  Expr number(Value v) { return ir::wide(Expr(builder, loc, v)).reshape({}); }

  /// The mean over each group: [N, groups, 1].
  Expr mean(Expr x) const {
    return x.mean(pixels, true).reshape(grouped).mean({2}, true);
  }
  /// Broadcasts [N, groups, 1...] to channels.
  Expr spread(Expr x) const {
    return x.reshape({grouped[0], grouped[1], 1})
        .broadcast(grouped)
        .reshape(channels);
  }

  /// Replaces uses of `result` by `value`; reshapes of it to the image
  /// disappear.
  void replace(Value result, Expr value) {
    value = value.cast(ir::elementType(result));
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (isa<ir::ReshapeOp>(user) &&
          ir::tensorType(user->getResult(0)) == value.type())
        user->getResult(0).replaceAllUsesWith(value);
    if (!result.use_empty())
      result.replaceAllUsesWith(
          value.reshape(ir::tensorType(result).getShape()));
  }

  OpBuilder builder;
  Location loc;

private:
  const Dims shape, grouped, pixels;
  Dims channels;
};

/// As in decompose/Norm.cpp, for rows that are groups.
void forward(ir::LayerNormOp op, GroupNorm g, Value image, Value scale,
             Value bias) {
  const Expr x = g.image(image), mean = g.mean(x),
             centered = x - g.spread(mean);
  const Expr variance = g.mean(centered * centered);
  const Expr rstd = rsqrt(variance + op.getEpsilon().convertToDouble());
  g.replace(op.getY(),
            centered * g.spread(rstd) * g.number(scale) + g.number(bias));
  g.replace(op.getMean(), mean);
  g.replace(op.getRstd(), rstd);
}

void backward(ir::LayerNormBackwardOp op, GroupNorm g, Value image, Value dy,
              Value scale) {
  const auto statistic = [&](Value v) {
    return g.spread(ir::wide(Expr(g.builder, g.loc, v)));
  };
  const Expr rstd = statistic(op.getRstd());
  const Expr xhat = (g.image(image) - statistic(op.getMean())) * rstd,
             gradient = g.image(dy) * g.number(scale);
  g.replace(op.getDx(), rstd * (gradient - g.spread(g.mean(gradient)) -
                                xhat * g.spread(g.mean(gradient * xhat))));
}

int64_t groupsOf(Value v) { return ir::tensorType(v).getDimSize(1); }

/// The image that a gradient is a reshape of, or the gradient itself.
Value sourceOf(Value v, Value like) {
  auto reshape = v.getDefiningOp<ir::ReshapeOp>();
  return reshape && reshape.getX().getType() == like.getType()
             ? Value(reshape.getX())
             : v;
}

bool expand(Operation *norm, function_ref<bool(Value)> isImage) {
  if (auto op = dyn_cast<ir::LayerNormOp>(norm)) {
    const Value image = imageOf(op.getX(), isImage),
                scale = numberOf(op.getScale()), bias = numberOf(op.getBias());
    if (!image || !scale || !bias || op.getAxis() != 2)
      return false;
    forward(op, {norm, image, groupsOf(op.getX())}, image, scale, bias);
    return true;
  }
  auto op = dyn_cast<ir::LayerNormBackwardOp>(norm);
  if (!op || op.getAxis() != 2 || !op.getDscale().use_empty() ||
      !op.getDbias().use_empty())
    return false;
  const Value image = imageOf(op.getX(), isImage),
              scale = numberOf(op.getScale());
  if (!image || !scale)
    return false;
  backward(op, {norm, image, groupsOf(op.getX())}, image,
           sourceOf(op.getDy(), image), scale);
  return true;
}

} // namespace

SmallVector<Operation *> expandGroupNorm(Operation *norm,
                                         function_ref<bool(Value)> isImage) {
  Operation *const before = norm->getPrevNode();
  if (!expand(norm, isImage))
    return {};
  SmallVector<Operation *> made;
  for (Operation *op = before ? before->getNextNode()
                              : &norm->getBlock()->front();
       op != norm; op = op->getNextNode())
    made.push_back(op);
  return made;
}

} // namespace dlc
