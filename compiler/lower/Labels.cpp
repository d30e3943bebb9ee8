// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Labels.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {

constexpr llvm::StringLiteral kAgain = "again";

std::string locationLabel(Location loc) {
  std::string label = llvm::join(nodeNames(loc), "; ");
  auto fused = dyn_cast<FusedLoc>(loc);
  auto kind =
      fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  bool again = kind && kind.getValue() == kAgain;
  return again && !label.empty() ? label + " (again)" : label;
}

Location repeated(Location loc) {
  return FusedLoc::get(loc.getContext(), loc,
                       StringAttr::get(loc.getContext(), kAgain));
}

} // namespace dlc
