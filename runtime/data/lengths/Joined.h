// SPDX-License-Identifier: Apache-2.0
// Concatenates sources.
#pragma once

#include "runtime/data/Source.h"

#include <set>

namespace dlc {

// Concatenates the samples of the sources; each source has different random
// numbers. Arrays in `shared` serve all samples and must be equal in all
// sources. Errors name two sources in which an array's type or shape differs.
Result<std::shared_ptr<const Source>>
joinedSource(std::vector<std::shared_ptr<const Source>> sources,
             const std::vector<std::string> &keys,
             const std::set<std::string> &shared);

// The hashes of all sources, in order, joined: "HASH+HASH".
Result<std::string>
hashOf(std::span<const std::shared_ptr<const Source>> sources, int threads);

} // namespace dlc
