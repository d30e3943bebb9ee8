// Who computes what is not placed yet.
#pragma once

#include "compiler/placement/Wishes.h"
#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace dlc {

class Target;

/// Every op with PlaceableInterface has a `by`, but products that a kernel of
/// our own might compute: dlc-fuse-matmul knows what else that would do. Behind
/// dlc-layout. Argument: dlc-place.
std::unique_ptr<mlir::Pass> createPlace(std::shared_ptr<const Target> target,
                                        const Wishes &wishes = {});

} // namespace dlc
