// SPDX-License-Identifier: Apache-2.0
// Information in an op's location besides its ONNX nodes.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

namespace dlc::ir {

/// The ONNX nodes in `loc` in order, without duplicates.
inline llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location loc) {
  llvm::SmallSetVector<llvm::StringRef, 4> names;
  loc->walk([&](mlir::Location l) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(l))
      names.insert(name.getName().getValue());
    return mlir::WalkResult::advance();
  });
  return names.takeVector();
}

/// The location of an op of the gradient of the op at `loc`.
inline mlir::Location gradientLocation(mlir::Location loc) {
  return mlir::FusedLoc::get(
      loc.getContext(), loc,
      mlir::StringAttr::get(loc.getContext(), "gradient"));
}

/// Whether `loc`, or a part of it, is a location made by gradientLocation.
inline bool isGradient(mlir::Location loc) {
  return loc
      ->walk([](mlir::Location l) {
        auto fused = llvm::dyn_cast<mlir::FusedLoc>(l);
        auto kind =
            fused
                ? llvm::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata())
                : mlir::StringAttr();
        return kind && kind.getValue() == "gradient"
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace dlc::ir
