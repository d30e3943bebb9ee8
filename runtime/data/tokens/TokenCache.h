// SPDX-License-Identifier: Apache-2.0
// Tokens of texts, kept on disk: of all processes of a user that read a text
// one tokenizes it, and each maps what that has written.
#pragma once

#include "runtime/data/tokens/TokenSource.h"

#include <chrono>
#include <functional>

namespace dlc {

// Of each of several texts, in order.
using TokensOfTexts = std::vector<std::vector<uint32_t>>;

struct CachedTexts {
  std::string key;                // what their tokens depend on: a file name
  std::vector<std::string> paths; // of the texts, for messages
  // How long another process may take to tokenize them.
  std::chrono::milliseconds wait{60'000};
};

TokenLists tokensInMemory(const std::vector<std::string> &paths,
                          TokensOfTexts tokens);

// Of FOLDER/tokens/KEY.tokens, 2 or 4 bytes a token, mapped; if it is not there
// and no other process makes it, of make(), which is then written there. A
// process that dies meanwhile lets the next one make them. With a warning
// tokens are of make() and in memory where the folder cannot be used, or
// another process takes longer than texts.wait. Files that nobody has used for
// 30 days are removed. Errors: make()'s; Incompatible for a folder that others
// could have written.
//
// KEY.tokens: "dlctoken", u64 each: version 1, bytes of a token, texts, each
// text's tokens; then all tokens, little-endian.
Result<TokenLists>
tokensOnce(const std::string &folder, const CachedTexts &texts,
           const std::function<Result<TokensOfTexts>()> &make);

} // namespace dlc
