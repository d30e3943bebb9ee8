// SPDX-License-Identifier: Apache-2.0
// Building blocks for rows that make one operator of many. They check nothing:
// a row first checks its shapes, then builds.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"

namespace dlc::import {

using ir::Expr;

/// Input `i`; reports an error when it is missing.
FailureOr<Expr> input(const Node &n, size_t i);

/// An error, which begins with `what`, for a shape that is refused (its rank or
/// its size) or that has more elements than `most`.
LogicalResult checkFits(const Node &n, const Shape &shape, const char *what,
                        int64_t most = int64_t(1) << 40);

/// An error, which calls it `name`, for an input that is there in another
/// shape.
LogicalResult checkInputShape(const Node &n, size_t input, const char *name,
                              const Shape &expected);

Shape shapeOf(Expr x);
int64_t sizeOf(const Shape &shape);

/// The index along `axis`, as i64 by default.
Expr iota(const Node &n, const Shape &shape, int64_t axis,
          mlir::Type element = {});
/// `value` in every element.
Expr filled(const Node &n, const Shape &shape, mlir::Type element,
            double value);
/// Known numbers of any count; `what` tells them from others of the node. An
/// error where they pass the import's budget.
FailureOr<Expr> known(const Node &n, HostTensor value, const char *what);

Expr transposed(Expr x, const std::vector<int64_t> &perm);
/// The dimension `from` in the place `to`, the others in their order.
Expr moved(Expr x, int64_t from, int64_t to);
/// `size` elements from `start` on along one axis.
Expr part(Expr x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
Expr reversed(Expr x, int64_t axis);
/// New elements before and after those along one axis.
Expr padded(Expr x, int64_t axis, int64_t low, int64_t high, double value = 0,
            int64_t interior = 0);
Expr joined(llvm::ArrayRef<Expr> parts, int64_t axis);
/// Slices of data along `axis`.
Expr gathered(Expr data, Expr indices, int64_t axis);
/// Zeros [size, S...] with updates [I..., S...] added at indices [I...].
Expr scattered(Expr indices, Expr updates, int64_t size);
/// rows [P, S...] with updates [U, S...] in the places [U]; where a place
/// comes several times, their mean.
Expr overwritten(const Node &n, Expr rows, Expr places, Expr updates);
/// A dimension of 1 at `axis`.
Expr unsqueezed(Expr x, int64_t axis);
/// Without the dimension at `axis`, of 1.
Expr squeezed(Expr x, int64_t axis);
Expr productAlong(Expr x, int64_t axis);

/// An index below 0 counts from the end.
Expr wrapped(Expr index, int64_t size);
/// 0 <= index < size
Expr inside(Expr index, int64_t size);

} // namespace dlc::import
