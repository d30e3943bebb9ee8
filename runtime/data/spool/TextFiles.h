// SPDX-License-Identifier: Apache-2.0
// Text as samples for language models, by the model's tokenizer.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/tokens/TokenSource.h"

namespace dlc {

// Whether `path` is text: a name that ends in .txt, or in .jsonl where
// documents are packed, or a folder if there is a tokenizer.
bool isText(const std::string &path, const SampleOptions &options);

// The files that it means: numbered ones (Range.h), or all *.txt below a
// folder, in the order of their paths' bytes. Hidden ones are passed over,
// links refused.
Result<std::vector<std::string>> textFilesOf(const std::string &path);

// Windows of them, as of files of tokens (tokens/TokenSource.h): a token for
// each that options.tokenizer finds, with special tokens around what
// options.specialTokens says. dlc-data writes them once for all processes
// (Spool.h, in cacheFolder()); they are mapped. The hash is of the files'
// content, the tokenizer's and that option. With options.pack, arrays
// input_ids, position_ids and y of whole documents, that many tokens a row, as
// dlc-data pack makes them.
Result<std::shared_ptr<const Source>> openText(const std::string &path,
                                               const SampleOptions &options);

// The tokens of each file.
Result<TokenLists> tokensOfText(const std::string &path,
                                const SampleOptions &options);

} // namespace dlc
