// SPDX-License-Identifier: Apache-2.0
// Windows of token files as samples: x are tokens, y the next ones.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/tokens/TokenFile.h"

namespace dlc {

// Lists of tokens. Immutable and thread-safe.
class TokenFiles {
public:
  virtual ~TokenFiles() = default;

  virtual std::string name() const = 0;
  virtual Result<TokenLists> open(const SampleOptions &options) const = 0;
  // Identifies the tokens.
  virtual Result<std::string> hash(int threads) const = 0;
};

// Splits each list of tokens into windows of T tokens, where [T] is the shape
// requested of shaped(); y is the token after each. A file of n tokens has (n -
// 1) / T adjacent windows; the rest is dropped. In training, windows start at
// an offset below T determined by (seed, epoch), so that their borders vary;
// the last of a file then begins earlier to fit. Windows do not cross files.
// The hash is that of the files' contents.
std::shared_ptr<const Source>
tokenSource(std::shared_ptr<const TokenFiles> files);
// Opens the files with TokenFile.h.
std::shared_ptr<const Source> tokenSource(std::string path,
                                          std::vector<std::string> files);

} // namespace dlc
