// The losses of several outputs, as --loss=OUTPUT:KIND[:WEIGHT],... names them.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace dlc {

struct LossTerm {
  std::string output, kind;
  double weight = 1;
};

/// Whether `text` is a list of terms and not the name of one kind.
bool isLossList(llvm::StringRef text);

/// None, with what is wrong, if it is no list of at least one term, each of
/// another output and with a finite weight. Kinds are not checked.
std::optional<std::vector<LossTerm>> parseLossTerms(llvm::StringRef text,
                                                    std::string &wrong);

} // namespace dlc
