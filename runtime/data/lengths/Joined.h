// SPDX-License-Identifier: Apache-2.0
// Several sources as one: the samples of the first, then of the next.
#pragma once

#include "runtime/data/Source.h"

#include <set>

namespace dlc {

// What is drawn for a sample differs between sources. `shared` are arrays of
// all samples, which must be the same in each. Errors name the two sources of
// which an array differs in type or shape.
Result<std::shared_ptr<const Source>>
joinedSource(std::vector<std::shared_ptr<const Source>> sources,
             const std::vector<std::string> &keys,
             const std::set<std::string> &shared);

// Of all sources, in their order, "HASH+HASH"; that of one is its own.
Result<std::string>
hashOf(std::span<const std::shared_ptr<const Source>> sources, int threads);
// Whether it is of these, see Source::isHash; `own` is hashOf().
Result<bool> isHashOf(std::span<const std::shared_ptr<const Source>> sources,
                      const std::string &hash, const std::string &own);

} // namespace dlc
