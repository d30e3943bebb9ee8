// SPDX-License-Identifier: Apache-2.0
// Helpers for rows that build one operator from several ops. They check
// nothing: a row must check its shapes first.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"

namespace dlc::import {

using ir::Expr;
using ir::joined;
using ir::stacked;

/// Input `i`; reports an error when it is missing.
FailureOr<Expr> input(const Node &n, size_t i);

/// A row of a function of the node and its first inputs. It returns output 0,
/// or whether it has set the outputs.
template <auto build, class... Inputs>
LogicalResult ofInputs(const Node &n, Inputs... inputs) {
  if constexpr (std::is_invocable_r_v<LogicalResult, decltype(build),
                                      const Node &, Inputs...>) {
    return build(n, inputs...);
  } else if constexpr (std::is_invocable_v<decltype(build), const Node &,
                                           Inputs...>) {
    return n.result(build(n, inputs...));
  } else {
    DLC_GET(auto next, input(n, sizeof...(inputs)));
    return ofInputs<build>(n, inputs..., next);
  }
}

/// An error, which begins with `what`, if the shape is unsupported (rank or
/// size) or has more than `most` elements.
LogicalResult checkFits(const Node &n, const Shape &shape, const char *what,
                        int64_t most = int64_t(1) << 40);

/// An error, with `name` for the input, if the input is present and its shape
/// differs from `expected`.
LogicalResult checkInputShape(const Node &n, size_t input, const char *name,
                              const Shape &expected);

Shape shapeOf(Expr x);
bool broadcastsTo(const Shape &shape, const Shape &whole);
int64_t sizeOf(const Shape &shape);

/// Indices along `axis`, as i64 by default.
Expr iota(const Node &n, const Shape &shape, int64_t axis,
          mlir::Type element = {});
/// The shape of rank `rank` with `size` in dimension `axis`, else 1.
Shape lineShape(int64_t rank, int64_t axis, int64_t size);
/// Indices along `axis`, in that shape, as i64 by default.
Expr ramp(const Node &n, int64_t rank, int64_t axis, int64_t size,
          mlir::Type element = {});
/// A tensor filled with `value`.
Expr filled(const Node &n, const Shape &shape, mlir::Type element,
            double value);
/// A constant from known values; `what` distinguishes it from others of the
/// node. An error if it exceeds the import's budget.
FailureOr<Expr> known(const Node &n, HostTensor value, const char *what);

Expr reversed(Expr x, int64_t axis);
/// Zeros [size, S...], to which updates [I..., S...] are added at indices
/// [I...].
Expr scattered(Expr indices, Expr updates, int64_t size);
/// rows [P, S...] with updates [U, S...] stored at indices places [U]; the mean
/// of updates with equal indices.
Expr overwritten(const Node &n, Expr rows, Expr places, Expr updates);
Expr productAlong(Expr x, int64_t axis);

/// The maximum (or minimum) along `axis`, whose gradient goes to the first of
/// equal elements.
Expr firstExtremum(const Node &n, Expr x, int64_t axis, bool smallest,
                   bool keepdims);

/// Adds `size` to negative indices.
Expr wrapped(Expr index, int64_t size);
/// 0 <= index < size
Expr inside(Expr index, int64_t size);

} // namespace dlc::import
