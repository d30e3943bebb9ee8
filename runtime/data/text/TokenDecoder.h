// SPDX-License-Identifier: Apache-2.0
// Tokens to text, by the decoder of a tokenizer.json of Hugging Face's.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace dlc {

// What tokens become as text.
struct DecoderRules {
  enum class Kind {
    Blanks,    // tokens with blanks between them: there is no decoder
    Bytes,     // of the byte-level alphabet
    Marks,     // Metaspace: marks are blanks, but for the first token's
    WordPiece, // what begins with `prefix` goes on with a word
    Steps      // what follows, in this order
  };
  struct Replace {
    std::string what, by;
  };

  Kind kind = Kind::Blanks;
  std::string mark;       // of Marks
  bool dropsFirst = true; // the first token's marks go
  std::string prefix;     // of WordPiece
  bool cleans = false;    // blanks before punctuation go
  std::vector<Replace> replaces;
  bool joinsBytes = false;         // <0x00> to <0xFF> are bytes of UTF-8
  bool fuses = false;              // what strips is done to the text as a whole
  std::string stripped;            // a character; empty: none
  uint64_t atBegin = 0, atEnd = 0; // so many of it, of the text or a token
};

// Immutable; any thread may use it.
class TokenDecoder {
public:
  // Errors name the file: what is not JSON, and by its name any decoder that
  // would give another text than this.
  static Result<std::shared_ptr<const TokenDecoder>>
  open(const std::string &path);

  // The text of tokens that come one by one, as decode() of the package
  // tokenizers gives it for all of them. What it gives is whole characters; for
  // bytes that are no UTF-8 it is U+FFFD. The decoder must outlive it.
  class Stream {
  public:
    // `skipsSpecial`: special tokens have no text.
    Stream(const TokenDecoder &decoder, bool skipsSpecial)
        : decoder_(&decoder), skipsSpecial_(skipsSpecial) {}

    // What is certain of the text now. A number without a token has no text.
    std::string add(uint32_t token);
    // What was not certain before, as if the text ended here.
    std::string finish();

  private:
    std::string addText(std::string text);
    std::string takeBytes();
    std::string strip(std::string text, uint64_t &left) const;

    const TokenDecoder *decoder_;
    bool skipsSpecial_;
    bool isFirst_ = true;   // no token had a text yet
    std::string bytes_;     // that may not be whole characters
    uint64_t stripped_ = 0; // characters at the begin of the text
    bool hasText_ = false;  // nothing more is stripped there
  };

  // A token's text in the vocabulary, and the token of such a text.
  const std::string *textOf(uint32_t token) const;
  std::optional<uint32_t> tokenOf(std::string_view text) const;
  // Tokens that are marked as special, in no order.
  std::vector<uint32_t> special() const;
  // What stands for text that has no token, if the tokenizer has it.
  std::optional<uint32_t> unknown() const { return unknown_; }

private:
  friend class DecoderReader;

  DecoderRules rules_;
  std::unordered_map<uint32_t, std::string> texts_;
  std::unordered_set<std::string> special_;
  std::optional<uint32_t> unknown_;
};

// UTF-8 with U+FFFD for what is none, each longest begin of a character once
// (Unicode 16, section 3.9: substitution of maximal subparts). Takes from
// `bytes` what it gives: an incomplete character at the end stays unless
// `isEnd`.
std::string takeUtf8(std::string &bytes, bool isEnd);

} // namespace dlc
