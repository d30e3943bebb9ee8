// SPDX-License-Identifier: Apache-2.0
// Token files for language models (16 or 32 bit integers, little-endian), and
// their windows as samples: x are tokens, y the next ones.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/data/Source.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dlc {

enum class TokenWidth { Bits16 = 2, Bits32 = 4 }; // bytes

// "uint16" and "uint32".
std::optional<TokenWidth> tokenWidthFrom(std::string_view name);

// Files of llm.c begin with 256 32-bit numbers: 20240520 and version 1 for
// 16-bit tokens, 20240801 and version 7 for 32-bit ones, then the number of
// tokens. Files of nanoGPT have only tokens. Immutable and thread-safe.
class TokenFile {
public:
  // `count` tokens of a mapped file from byte `offset` on; `path` is for
  // messages.
  TokenFile(std::string path, std::shared_ptr<const MappedFile> file,
            uint64_t offset, int64_t count, TokenWidth width)
      : path_(std::move(path)), file_(std::move(file)), offset_(offset),
        count_(count), width_(width) {}
  // `width` is required for a file without header, and must match a header.
  // Errors name the file.
  static Result<TokenFile> open(const std::string &path,
                                std::optional<TokenWidth> width);

  const std::string &path() const { return path_; }
  int64_t count() const { return count_; }
  // Reads tokens [first, first + count).
  void read(int64_t first, int64_t count, int64_t *to) const;

private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  uint64_t offset_; // of the first token
  int64_t count_;
  TokenWidth width_;
};

using TokenLists = std::vector<TokenFile>;
// Opens the files, in order.
Result<TokenLists> openTokenFiles(const std::vector<std::string> &paths,
                                  std::optional<TokenWidth> width);

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
// Of the files of tokens at these paths.
std::shared_ptr<const Source> tokenSource(std::string path,
                                          std::vector<std::string> files);

} // namespace dlc
