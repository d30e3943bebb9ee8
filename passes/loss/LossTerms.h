// SPDX-License-Identifier: Apache-2.0
// The losses of several outputs, as
// --loss=OUTPUT:KIND[:WEIGHT][:label=NUMBER][:as=NAME],... names them, and
// which parameters each trains, as --loss-params=REGEX:LOSS says.
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
  std::optional<double> label; // of all rows; none: the data file has labels
  std::string name;            // NAME, else the output's
};

/// Whether `text` is a list of terms and not the name of one kind.
bool isLossList(llvm::StringRef text);

/// None, with what is wrong, if it is no list of at least one term, each of
/// another name and with a finite weight and label. Kinds are not checked.
std::optional<std::vector<LossTerm>> parseLossTerms(llvm::StringRef text,
                                                    std::string &wrong);

/// A row of --loss-params.
struct LossParams {
  Pattern pattern;
  size_t loss; // of those that were given
};

/// REGEX:LOSS with one of the names `losses`; both may have colons.
/// Code::Usage.
Result<LossParams> parseLossParams(const std::string &text,
                                   llvm::ArrayRef<std::string> losses);

} // namespace dlc
