// SPDX-License-Identifier: Apache-2.0
// Windows of token files as samples: x the tokens, y the next ones.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/tokens/TokenFile.h"

namespace dlc {

// Where tokens come from. Immutable; any thread may ask.
class TokenFiles {
public:
  virtual ~TokenFiles() = default;

  virtual std::string name() const = 0;
  virtual Result<TokenLists> open(const SampleOptions &options) const = 0;
  // What tells them from others.
  virtual Result<std::string> hash(int threads) const = 0;
};

// Lists of tokens, one after the other, which the shape [T] that
// shaped() is asked for divides: a window is T tokens, and y is what follows
// each of them. A file of n tokens has (n - 1) / T windows, one behind the
// other; what is left is less than one. In training they begin at an offset
// below T that (seed, epoch) gives, so that their borders are others in each
// epoch; the last of a file then reaches back. No window is of two files. The
// hash is of the files' content.
std::shared_ptr<const Source>
tokenSource(std::shared_ptr<const TokenFiles> files);
// Of TokenFile.h.
std::shared_ptr<const Source> tokenSource(std::string path,
                                          std::vector<std::string> files);

} // namespace dlc
