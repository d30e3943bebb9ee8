// SPDX-License-Identifier: Apache-2.0
// 8-bit floats and their products, the ops of Float8.td. Few passes create or
// lower them, so they are not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::ir {

/// An 8-bit float: a sign, then exponent and mantissa. Codes 0 to `largestCode`
/// are its finite non-negative values in order.
struct Float8Format {
  llvm::StringRef name;
  int mantissa; // bits
  int bias;     // of the exponent
  int largestCode;
  double largest; // the largest finite value
};
/// E4M3 (without infinities) or E5M2; null if `name` is neither.
const Float8Format *float8Format(llvm::StringRef name);

llvm::LogicalResult checkFloat8Format(std::optional<mlir::Location> loc,
                                      llvm::StringRef name);
template <class A>
llvm::LogicalResult
inferFloat8Encode(std::optional<mlir::Location> loc, A a,
                  llvm::SmallVectorImpl<mlir::Type> &types) {
  if (failed(checkFloat8Format(loc, a.getFormat())))
    return llvm::failure();
  types.push_back(tensorType(a.getX()).clone(
      mlir::IntegerType::get(a.getX().getContext(), 8)));
  return llvm::success();
}
template <class A>
llvm::LogicalResult
inferFloat8Decode(std::optional<mlir::Location> loc, A a,
                  llvm::SmallVectorImpl<mlir::Type> &types) {
  if (failed(checkFloat8Format(loc, a.getFormat())))
    return llvm::failure();
  types.push_back(tensorType(a.getX()).clone(
      mlir::Float32Type::get(a.getX().getContext())));
  return llvm::success();
}

/// Called once by the dialect.
void registerFloat8(DlcDialect &dialect);

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/Float8.h.inc"
