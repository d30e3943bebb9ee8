// SPDX-License-Identifier: Apache-2.0
// Files of tokens for language models: 16 or 32 bits each, little-endian.
#pragma once

#include "runtime/base/files/Files.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dlc {

enum class TokenWidth { Bits16, Bits32 };

// "uint16" and "uint32".
std::optional<TokenWidth> tokenWidthFrom(std::string_view name);

// llm.c's files begin with 256 numbers of 32 bits: 20240520 and version 1 for
// tokens of 16 bits, 20240801 and version 7 for those of 32, then how many
// there are. nanoGPT's have tokens alone.
// Immutable; any thread may read.
class TokenFile {
public:
  // `count` tokens of a mapped file, from byte `offset` on, as those of `path`.
  TokenFile(std::string path, std::shared_ptr<const MappedFile> file,
            uint64_t offset, int64_t count, TokenWidth width)
      : path_(std::move(path)), file_(std::move(file)), offset_(offset),
        count_(count), width_(width) {}
  // `width` is needed where there is no header, and must be its own where there
  // is one. Errors name the file.
  static Result<TokenFile> open(const std::string &path,
                                std::optional<TokenWidth> width);

  const std::string &path() const { return path_; }
  int64_t count() const { return count_; }
  // Tokens [first, first + count).
  void read(int64_t first, int64_t count, int64_t *to) const;

private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  uint64_t offset_; // bytes before the first
  int64_t count_;
  TokenWidth width_;
};

using TokenLists = std::vector<TokenFile>;
// Each of them, in order.
Result<TokenLists> openTokenFiles(const std::vector<std::string> &paths,
                                  std::optional<TokenWidth> width);

} // namespace dlc
