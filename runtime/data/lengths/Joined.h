// SPDX-License-Identifier: Apache-2.0
// Sources made of other sources: concatenated, padded, with other names.
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

// Padding of an array's samples at the end of each axis, with `value` in the
// file's type, before any scale.
struct Padding {
  std::string key;            // of the source
  std::vector<int64_t> shape; // padded sample shape: same rank, no axis shorter
  double value = 0;
};

// The source with these arrays padded. Code::Usage, with array and value, if
// the array's type cannot represent the value.
Result<std::shared_ptr<const Source>>
paddedSource(std::shared_ptr<const Source> source,
             const std::vector<Padding> &paddings);

// --columns: maps table columns, or arrays of a file, to inputs.

// Converts "x=images,y=labels" to the syntax of dlc-data and renamed():
// "x:images;y:labels".
std::string columnsText(const std::string &text);

// A source whose arrays have the names given by `columns`; other arrays keep
// their names.
std::shared_ptr<const Source> renamed(std::shared_ptr<const Source> source,
                                      const std::string &columns);

} // namespace dlc
