// SPDX-License-Identifier: Apache-2.0
// Text to tokens, by a tokenizer.json of Hugging Face's.
#pragma once

#include "runtime/data/text/json/TokenizerJson.h"

#include <array>
#include <memory>
#include <optional>

namespace dlc {

// What gets the special tokens of a tokenizer's post-processor.
enum class Documents {
  None,
  File, // all of the text, also if it is empty
  Line  // each line that is not empty, without its end, \n or \r\n
};
// "none", "file", "line"; none: another.
std::optional<Documents> documentsFrom(std::string_view name);

// Byte-level BPE, as of GPT-2, Llama 3 and Qwen 2, BPE of characters, as of
// Llama 2, Mistral and Gemma, Unigram, as of T5, XLM-R and ALBERT, and
// WordPiece, as of BERT. Immutable; any thread may use it.
class Tokenizer {
public:
  // Errors name the file: what is not JSON, and by its name any model,
  // normalizer, pre-tokenizer or flag that would give other tokens than this.
  static Result<std::shared_ptr<const Tokenizer>> open(const std::string &path);

  // The tokens of UTF-8 text, as encode(text, add_special_tokens=False) of the
  // package tokenizers gives them; of documents, one after the other, as with
  // True, but neither cut nor filled up. Texts of added tokens, special ones
  // too, become these. Uses all cores; 4 bytes a token. Errors, without the
  // file's name but with the line: no UTF-8, for a tokenizer with NFC a
  // character that it may change, for one that strips accents marks that it may
  // put in another order. What cannot be cut into pieces takes 50 times its
  // size in memory.
  Result<std::vector<uint32_t>>
  encode(std::string_view text, Documents documents = Documents::None) const;

  // What its post-processor puts around a document.
  const SpecialTokens &special() const { return json_.special; }

private:
  class Encoder;
  // By their first byte, the longest first.
  using AddedByByte = std::array<std::vector<AddedToken>, 256>;

  struct Part;
  std::vector<Part> partsOf(std::string_view text, bool byLines) const;
  void readAdded();
  bool mayCutPieces() const;
  Status check(std::string_view text) const;
  size_t nextCut(std::string_view text, size_t from) const;

  TokenizerJson json_;
  // Those that are found first, and those in what is left.
  std::array<AddedByByte, 2> added_;
  bool mayCut_ = true, mayCutLines_ = true;
};

} // namespace dlc
