// What an import decided about a file's tensors, kept in the artifact.
#pragma once
#include "compiler/import/file/Decisions.h"
#include <string>
#include <vector>

namespace dlc {

struct OptimizerOptions;

/// The artifact's decisions.json; `dlc inspect` reads it.
std::string decisionsJson(const std::vector<import::Decision> &decisions);

/// A warning where the optimizer treats tensors as a whole, or by their shape,
/// and some hold a source's parameters in another arrangement; else "".
std::string regroupedWarning(const std::vector<import::Decision> &decisions,
                             const OptimizerOptions &options);

} // namespace dlc
