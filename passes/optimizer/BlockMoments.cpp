// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/BlockMoments.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {

/// Lower bound of a share in a mean of squares, whose code is not that of 0: an
/// update would divide by it if a gradient is 0.
constexpr double kLeastShare = 2e-7;

bool isInBlocks(const ParameterGroup &group, RankedTensorType parameter) {
  return group.options.moments == "8bit" &&
         parameter.getNumElements() >= Blocks::kLeastElements &&
         !group.rule->moments(group.options, parameter.getRank()).empty();
}

Expr Blocks::rows(Expr x) const {
  auto factor = x.v.getDefiningOp<ir::MulOp>();
  if (factor && ir::tensorType(factor.getB()).getRank() == 0)
    return rows(Expr(*x.b, x.loc, factor.getA())) *
           Expr(*x.b, x.loc, factor.getB());
  const int64_t size = whole.getNumElements(), rest = count() * kSize - size;
  if (rest)
    x = padded(x.reshape({size}), 0, 0, rest);
  return x.reshape({count(), kSize});
}

Expr Blocks::tensor(Expr rows) const {
  const int64_t size = whole.getNumElements();
  if (size < count() * kSize)
    rows = part(rows.reshape({count() * kSize}), 0, 0, size);
  return rows.reshape(whole.getShape());
}

FailureOr<BlockMoment> BlockMoment::add(Step &step, ir::StateOp parameter,
                                        const Moment &moment) {
  const int64_t count = Blocks(parameter.getTensorType()).count();
  Type i8 = step.builder.getI8Type(), f32 = step.builder.getF32Type();
  const std::string name = (parameter.getSymName() + "." + moment.suffix).str();
  // Code 255 means 1, and all codes mean 0 if the largest magnitude is 0.
  ir::StateOp codes = step.addState(
      name, RankedTensorType::get({count, Blocks::kSize}, i8), ir::Role::moment,
      step.builder.getIntegerAttr(i8, moment.init ? 255 : 0), parameter);
  ir::StateOp absmax =
      codes ? step.addState(
                  name + ".absmax", RankedTensorType::get({count, 1}, f32),
                  ir::Role::moment, step.builder.getFloatAttr(f32, moment.init),
                  parameter)
            : nullptr;
  if (!absmax)
    return failure();
  auto read = [&](ir::StateOp state) {
    return Expr(step.builder, parameter.getLoc(), step.read(state));
  };
  const Expr oldCodes = read(codes), oldAbsmax = read(absmax);
  return BlockMoment(codes, absmax, oldCodes, oldAbsmax,
                     moment.isNonNegative());
}

Expr BlockMoment::value() const {
  return oldCodes.make<ir::DynamicDecodeOp>(oldCodes.v, isNonNegative) *
         oldAbsmax;
}

void BlockMoment::write(Step &step, Expr rows) const {
  Expr largest = (isNonNegative ? rows : abs(rows)).max({1}, true);
  Expr share = rows / largest; // NaN, whose code is that of 0, if all are 0
  if (isNonNegative)
    share = maximum(share, kLeastShare);
  Expr code = share.make<ir::DynamicEncodeOp>(share.v, isNonNegative);
  step.write(codes, step.ifUpdating(code, oldCodes));
  step.write(absmax, step.ifUpdating(largest, oldAbsmax));
}

} // namespace dlc
