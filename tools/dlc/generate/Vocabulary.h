// SPDX-License-Identifier: Apache-2.0
// What tokens are to a reader: text by a tokenizer, bytes, or numbers.
#pragma once

#include "runtime/data/spool/TextProgram.h"

#include <set>

namespace dlc::tool {

class Vocabulary {
public:
  // `tokenizer`: a tokenizer.json, which dlc-data reads; "bytes": each token is
  // a byte; empty: tokens are numbers.
  static Result<Vocabulary> open(const std::string &tokenizer);

  // Tokens of a prompt; numbers are apart by white space or commas.
  // `begins`: with those that the tokenizer puts before a document.
  Result<std::vector<int64_t>> encode(std::string_view prompt,
                                      bool begins) const;

  // Which tokens end a text: `words` are tokens' texts, numbers, or "none";
  // without any it is each special token but the unknown one.
  Result<std::set<int64_t>> endsOf(const std::vector<std::string> &words) const;

  // "'</s>' (2)"
  Result<std::string> nameOf(int64_t token) const;

  // What is printed for tokens that come one by one, whole characters.
  class Stream {
  public:
    Stream(const Vocabulary &vocabulary, bool asNumbers);
    // What was read before. Nothing of it is printed.
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
  std::shared_ptr<TextProgram> program_; // null: none is needed
};

} // namespace dlc::tool
