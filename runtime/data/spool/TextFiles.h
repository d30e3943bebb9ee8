// SPDX-License-Identifier: Apache-2.0
// Text as samples for language models, with the model's tokenizer.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/tokens/TokenSource.h"

namespace dlc {

// Whether `path` is text: a .txt file, a .jsonl file if documents are packed,
// or a folder if a tokenizer is set.
bool isText(const std::string &path, const SampleOptions &options);

// The files of `path`: a numbered range (Range.h), or all *.txt below a folder,
// sorted by path as bytes. Hidden files are ignored, links rejected.
Result<std::vector<std::string>> textFilesOf(const std::string &path);

// Windows of tokens, as of token files (tokens/TokenSource.h), from
// options.tokenizer, with special tokens according to options.specialTokens.
// dlc-data writes the tokens once for all processes (Spool.h, in
// cacheFolder()); the files are mapped. The hash covers the files' contents,
// the tokenizer's and that option. With options.pack: arrays input_ids,
// position_ids and y of packed whole documents, that many tokens per row, as
// dlc-data pack makes them.
Result<std::shared_ptr<const Source>> openText(const std::string &path,
                                               const SampleOptions &options);

// The tokens of each file.
Result<TokenLists> tokensOfText(const std::string &path,
                                const SampleOptions &options);

} // namespace dlc
