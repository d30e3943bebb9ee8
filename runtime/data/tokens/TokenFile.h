// SPDX-License-Identifier: Apache-2.0
// Files of tokens for language models: 16 or 32 bits each, little-endian.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/data/tokens/TokenList.h"

#include <optional>
#include <string_view>

namespace dlc {

enum class TokenWidth { Bits16, Bits32 };

// "uint16" and "uint32".
std::optional<TokenWidth> tokenWidthFrom(std::string_view name);

// llm.c's files begin with 256 numbers of 32 bits: 20240520 and version 1 for
// tokens of 16 bits, 20240801 and version 7 for those of 32, then how many
// there are. nanoGPT's have tokens alone.
class TokenFile final : public TokenList {
public:
  // `width` is needed where there is no header, and must be its own where there
  // is one. Errors name the file.
  static Result<TokenFile> open(const std::string &path,
                                std::optional<TokenWidth> width);

  const std::string &path() const override { return file_.path(); }
  int64_t count() const override { return count_; }
  void read(int64_t first, int64_t count, int64_t *to) const override;

private:
  MappedFile file_;
  uint64_t offset_ = 0; // bytes before the first
  TokenWidth width_ = TokenWidth::Bits16;
  int64_t count_ = 0;
};

} // namespace dlc
