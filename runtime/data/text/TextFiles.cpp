// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/TextFiles.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataHash.h"
#include "runtime/data/Range.h"
#include "runtime/data/text/Tokenizer.h"
#include "runtime/data/tokens/TokenCache.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

namespace dlc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTxt = ".txt";

constexpr uint64_t kWorthKeeping = 4 << 20; // bytes of text
// To be counted up when a text's tokens become others.
constexpr int kTokenizerVersion = 1;

class TextFiles final : public TokenFiles {
public:
  TextFiles(std::string path, std::vector<std::string> files,
            const SampleOptions &options)
      : path_(std::move(path)), files_(std::move(files)),
        tokenizer_(options.tokenizer), documents_(options.specialTokens) {}

  std::string name() const override { return path_; }
  // Once: a text may be long. A long one is once for all ranks of a host.
  Result<TokenLists> open(const SampleOptions &) const override {
    const std::lock_guard lock(mutex_);
    if (!lists_.empty())
      return lists_;
    uint64_t bytes = 0;
    for (const std::string &file : files_) {
      DLC_ASSIGN(const MappedFile text, MappedFile::open(file));
      bytes += text.size();
    }
    if (bytes < kWorthKeeping) {
      DLC_ASSIGN(TokensOfTexts tokens, tokenize());
      return lists_ = tokensInMemory(files_, std::move(tokens));
    }
    DLC_ASSIGN(std::string key, hash(coresOfProcess()));
    key += fmt::format("\nversion {}", kTokenizerVersion);
    CachedTexts texts{.key = sha256(std::as_bytes(std::span(key))),
                      .paths = files_};
    texts.wait += std::chrono::milliseconds(bytes / 1000); // 1 MB/s
    DLC_ASSIGN(lists_, tokensOnce(cacheFolder(""), texts,
                                  [this] { return tokenize(); }));
    return lists_;
  }
  Result<std::string> hash(int threads) const override {
    DLC_ASSIGN(std::string all, hashesOfData(files_, threads));
    DLC_ASSIGN(const std::string tokenizer, hashData(tokenizer_, threads));
    all += "tokenizer " + tokenizer;
    return documents_ == "none" ? all : all + "\ndocuments " + documents_;
  }

private:
  Result<TokensOfTexts> tokenize() const {
    DLC_ASSIGN(const auto tokenizer, Tokenizer::open(tokenizer_));
    TokensOfTexts all;
    for (const std::string &file : files_) {
      DLC_ASSIGN(const MappedFile text, MappedFile::open(file));
      auto tokens = tokenizer->encode(
          text.text(), documentsFrom(documents_).value_or(Documents::None));
      if (!tokens)
        return tokens.status().withContext(fmt::format("'{}'", file));
      all.push_back(*std::move(tokens));
    }
    DLC_TRY(mappedFilesStatus());
    return all;
  }

  std::string path_;
  std::vector<std::string> files_;
  std::string tokenizer_, documents_;
  mutable std::mutex mutex_;
  mutable TokenLists lists_;
};

} // namespace

bool isText(const std::string &path, const SampleOptions &options) {
  return path.ends_with(kTxt) || (!options.tokenizer.empty() && isFolder(path));
}

Result<std::vector<std::string>> textFilesOf(const std::string &path) try {
  if (!isFolder(path))
    return expandRange(path);
  std::vector<std::string> files;
  for (auto at = fs::recursive_directory_iterator(path);
       at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) {
      if (at->is_directory())
        at.disable_recursion_pending();
      continue;
    }
    if (!name.ends_with(kTxt))
      continue;
    if (at->is_symlink() || !at->is_regular_file())
      return failed("'{}' is no file", at->path().string());
    files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty())
    return failed("'{}' has no text, expected files .txt", path);
  return files;
} catch (const fs::filesystem_error &error) {
  return failed("cannot read the folder '{}': {}: '{}'", path,
                error.code().message(), error.path1().string());
}

Result<std::shared_ptr<const Source>> openText(const std::string &path,
                                               const SampleOptions &options) {
  if (options.tokenizer.empty())
    return failed("'{}' is text: give --tokenizer=tokenizer.json, the model's",
                  path);
  DLC_ASSIGN(auto files, textFilesOf(path));
  return tokenSource(
      std::make_shared<const TextFiles>(path, std::move(files), options));
}

} // namespace dlc
