// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokens/TokenCache.h"

#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace dlc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenMagic = "dlctoken";
constexpr uint64_t kTokenVersion = 1, kTokenFields = 3;
constexpr std::chrono::hours kUnusedFor(30 * 24);

class TokensInMemory final : public TokenList {
public:
  TokensInMemory(std::string path, std::vector<uint32_t> tokens)
      : path_(std::move(path)), tokens_(std::move(tokens)) {}

  const std::string &path() const override { return path_; }
  int64_t count() const override { return int64_t(tokens_.size()); }
  void read(int64_t first, int64_t count, int64_t *to) const override {
    std::copy_n(tokens_.begin() + first, count, to);
  }

private:
  std::string path_;
  std::vector<uint32_t> tokens_;
};

class MappedTokens final : public TokenList {
public:
  MappedTokens(std::string path, std::shared_ptr<const MappedFile> file,
               uint64_t offset, uint64_t count, uint64_t width)
      : path_(std::move(path)), file_(std::move(file)), offset_(offset),
        count_(count), width_(width) {}

  const std::string &path() const override { return path_; }
  int64_t count() const override { return int64_t(count_); }
  void read(int64_t first, int64_t count, int64_t *to) const override {
    const std::byte *from =
        file_->bytes().data() + offset_ + uint64_t(first) * width_;
    for (int64_t i = 0; i < count; ++i, from += width_) {
      uint32_t token = 0;
      std::memcpy(&token, from, width_);
      to[i] = token;
    }
  }

private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  uint64_t offset_, count_, width_;
};

// What a file has; none if it is not one of these texts, whole.
std::optional<TokenLists> mappedTokens(const std::string &file,
                                       const CachedTexts &texts) {
  auto mapped = MappedFile::open(file);
  if (!mapped)
    return std::nullopt;
  const auto whole = std::make_shared<const MappedFile>(*std::move(mapped));
  const uint64_t head =
      kTokenMagic.size() + 8 * (kTokenFields + texts.paths.size());
  const std::string_view text = whole->text();
  if (text.size() < head || !text.starts_with(kTokenMagic))
    return std::nullopt;
  const auto field = [&](size_t i) {
    uint64_t value;
    std::memcpy(&value, text.data() + kTokenMagic.size() + 8 * i, 8);
    return value;
  };
  const uint64_t width = field(1);
  if (field(0) != kTokenVersion || (width != 2 && width != 4) ||
      field(2) != texts.paths.size())
    return std::nullopt;
  TokenLists lists;
  uint64_t offset = head;
  for (size_t i = 0; i < texts.paths.size(); ++i) {
    const uint64_t count = field(kTokenFields + i);
    if (count > (text.size() - offset) / width)
      return std::nullopt;
    lists.push_back(std::make_shared<const MappedTokens>(texts.paths[i], whole,
                                                         offset, count, width));
    offset += count * width;
  }
  if (offset != text.size())
    return std::nullopt;
  // It was of use just now.
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return lists;
}

Status writeTokens(const std::string &path, const TokensOfTexts &tokens) {
  const bool isWide =
      std::any_of(tokens.begin(), tokens.end(), [](const auto &list) {
        return std::any_of(list.begin(), list.end(),
                           [](uint32_t token) { return token > UINT16_MAX; });
      });
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
  FileWriter &writer = file.writer();
  std::vector<uint64_t> fields = {kTokenVersion, isWide ? 4u : 2u,
                                  tokens.size()};
  for (const auto &list : tokens)
    fields.push_back(list.size());
  DLC_TRY(writer.write(kTokenMagic));
  DLC_TRY(writer.write(fields.data(), fields.size() * sizeof(uint64_t)));
  constexpr size_t kBlock = 1 << 20;
  std::vector<uint16_t> narrow;
  for (const auto &list : tokens)
    for (size_t at = 0; at < list.size(); at += kBlock) {
      const auto begin = list.begin() + ptrdiff_t(at);
      const size_t count = std::min(kBlock, list.size() - at);
      if (isWide) {
        DLC_TRY(writer.write(&*begin, count * sizeof(uint32_t)));
        continue;
      }
      narrow.assign(begin, begin + ptrdiff_t(count));
      DLC_TRY(writer.write(narrow.data(), count * sizeof(uint16_t)));
    }
  return file.commit();
}

void removeUnused(const std::string &folder) {
  std::error_code error;
  const auto oldest = fs::file_time_type::clock::now() - kUnusedFor;
  for (auto at = fs::directory_iterator(folder, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    const auto kind = at->path().extension();
    std::error_code ignored;
    if ((kind == ".tokens" || kind == ".lock") &&
        at->last_write_time(ignored) < oldest && !ignored)
      fs::remove(at->path(), ignored);
  }
}

} // namespace

TokenLists tokensInMemory(const std::vector<std::string> &paths,
                          TokensOfTexts tokens) {
  TokenLists lists;
  for (size_t i = 0; i < paths.size(); ++i)
    lists.push_back(
        std::make_shared<const TokensInMemory>(paths[i], std::move(tokens[i])));
  return lists;
}

Result<TokenLists>
tokensOnce(const std::string &folder, const CachedTexts &texts,
           const std::function<Result<TokensOfTexts>()> &make) {
  const auto inMemory = [&](const std::string &why) -> Result<TokenLists> {
    if (!why.empty())
      warning("{}: its tokens are made and kept in memory", why);
    DLC_ASSIGN(TokensOfTexts tokens, make());
    return tokensInMemory(texts.paths, std::move(tokens));
  };
  if (folder.empty())
    return inMemory("");
  const std::string own = folder + "/tokens",
                    path = fmt::format("{}/{}.tokens", own, texts.key);
  DLC_TRY(checkCacheOwner(folder));
  DLC_TRY(checkCacheOwner(own));
  if (auto lists = mappedTokens(path, texts))
    return *std::move(lists);
  const std::string first = texts.paths.empty() ? "" : texts.paths[0];
  if (const Status made = makeFolder(own, 0700); !made.ok())
    return inMemory(fmt::format("'{}': {}", first, made.message()));
  const auto lock =
      FileLock::take(fmt::format("{}/{}.lock", own, texts.key), texts.wait);
  if (!lock)
    return inMemory(fmt::format("'{}': {}", first, lock.status().message()));
  if (!*lock)
    return inMemory(fmt::format("'{}': another process is not done with it "
                                "after {} s",
                                first, texts.wait.count() / 1000));
  if (auto lists = mappedTokens(path, texts)) // made while this one waited
    return *std::move(lists);
  removeUnused(own);
  DLC_ASSIGN(TokensOfTexts tokens, make());
  if (const Status written = writeTokens(path, tokens); !written.ok()) {
    warning("'{}': {}: its tokens are kept in memory", first,
            written.message());
    return tokensInMemory(texts.paths, std::move(tokens));
  }
  tokens = {};
  info("the tokens of '{}' are kept as '{}'", first, path);
  if (auto lists = mappedTokens(path, texts))
    return *std::move(lists);
  return failed("'{}' was written just now, and is not readable", path);
}

} // namespace dlc
