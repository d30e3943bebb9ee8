#include "compiler/lower/Labels.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace dlc {

std::string locationLabel(mlir::Location loc) {
  llvm::SmallSetVector<llvm::StringRef, 4> names;
  loc->walk([&](mlir::Location l) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(l))
      names.insert(name.getName().getValue());
    return mlir::WalkResult::advance();
  });
  return llvm::join(names, "; ");
}

} // namespace dlc
