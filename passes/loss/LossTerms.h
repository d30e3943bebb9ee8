// SPDX-License-Identifier: Apache-2.0
// Parses the losses of several outputs,
// --loss=OUTPUT:KIND[:WEIGHT][:label=NUMBER][:as=NAME],..., and the parameters
// that each of them trains, --loss-params=REGEX:LOSS.
#pragma once

#include "mlir/IR/Operation.h"
#include "runtime/base/options/Pattern.h"
#include <optional>
#include <string>
#include <vector>

namespace dlc {

struct LossTerm {
  std::string output, kind;
  double weight = 1;
  std::optional<double> label; // of all rows; unset: labels in the data file
  std::string name;            // NAME, else the output's name
};

/// Whether `text` is a list of terms rather than the name of one kind.
bool isLossList(llvm::StringRef text);

/// Parses a list of at least one term, with different names and finite weights
/// and labels; else nullopt and the error in `wrong`. Kinds are not checked.
std::optional<std::vector<LossTerm>> parseLossTerms(llvm::StringRef text,
                                                    std::string &wrong);

/// A row of --loss-params.
struct LossParams {
  Pattern pattern;
  size_t loss; // index in the list of losses
};

/// Parses REGEX:LOSS with a LOSS from `losses`; both may contain colons.
/// Code::Usage.
Result<LossParams> parseLossParams(const std::string &text,
                                   llvm::ArrayRef<std::string> losses);

} // namespace dlc
