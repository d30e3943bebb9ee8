// Library products with the work around them.
#pragma once

#include "compiler/placement/Wishes.h"
#include <memory>

namespace mlir {
class Pass;
}
namespace dlc {
class Target;
}

namespace dlc {

/// Products that a library multiplies take over what it can do in the
/// same call: an activation behind a product, its gradient behind the product
/// that computes the gradient of its result, and the sum over the rows of a
/// gradient that a weight's gradient multiplies. Before dlc-decompose, while
/// the gradient of an activation is one op. Products that are predicted to be
/// faster as generated kernels (Target.h) are left to dlc-fuse-matmul.
/// Argument: dlc-matmul-epilogues.
///
/// The library computes an activation before it rounds the product. It stores a
/// bias's gradient in the product's type, where our own sums stay in f32 up to
/// a cast that follows.
std::unique_ptr<mlir::Pass>
createMatmulEpilogues(std::shared_ptr<const Target> target,
                      const Wishes &wishes = {});

} // namespace dlc
