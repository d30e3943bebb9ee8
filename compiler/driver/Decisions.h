// What an import decided about a file's tensors, kept in the artifact.
#pragma once
#include "compiler/import/Decisions.h"
#include <string>
#include <vector>

namespace dlc {

/// The artifact's decisions.json; `dlc inspect` reads it.
std::string decisionsJson(const std::vector<import::Decision> &decisions);

} // namespace dlc
