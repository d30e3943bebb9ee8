// SPDX-License-Identifier: Apache-2.0
// Converts tokens to text, with a tokenizer, as bytes, or as numbers.
#pragma once

#include "runtime/data/spool/TextProgram.h"

#include <set>

namespace dlc::tool {

class Vocabulary {
public:
  // `tokenizer`: a tokenizer.json, for dlc-data; "bytes": a token is a byte;
  // empty: tokens are numbers.
  static Result<Vocabulary> open(const std::string &tokenizer);

  // Tokens of a prompt; numbers are separated by white space or commas.
  // `begins`: with the tokens that the tokenizer adds at the start of a
  // document.
  Result<std::vector<int64_t>> encode(std::string_view prompt,
                                      bool begins) const;

  // Tokens that end a text: `words` are texts of tokens, numbers, or "none"; if
  // empty, all special tokens except the unknown one.
  Result<std::set<int64_t>> endsOf(const std::vector<std::string> &words) const;

  // "'</s>' (2)"
  Result<std::string> nameOf(int64_t token) const;

  // Converts a stream of tokens to printable text, in complete characters.
  class Stream {
  public:
    Stream(const Vocabulary &vocabulary, bool asNumbers);
    // Adds tokens that were read before and must not be printed.
    Status skip(const std::vector<int64_t> &tokens);
    Result<std::string> add(int64_t token);
    Result<std::string> finish();

  private:
    bool asNumbers_, isBytes_, isFirst_ = true;
    std::shared_ptr<TextProgram> program_;
    std::string bytes_;
  };

private:
  Result<std::vector<int64_t>> idsOf(const Json &question) const;

  bool isBytes_ = false;
  std::shared_ptr<TextProgram> program_; // null: not needed
};

} // namespace dlc::tool
