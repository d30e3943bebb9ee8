// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/TextFiles.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/spool/Spool.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

namespace dlc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTxt = ".txt";

// Format: "dlctoken"; u64 version 1, bytes per token, number of texts, number
// of tokens of each text; then all tokens, little-endian.
Result<TokenLists> readMadeTokens(const std::string &path,
                                  const std::vector<std::string> &texts) {
  constexpr std::string_view kMagic = "dlctoken";
  constexpr uint64_t kFields = 3;
  DLC_ASSIGN(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  const std::string_view content = file->text();
  const auto field = [&](size_t i) {
    uint64_t value = 0;
    std::memcpy(&value, content.data() + kMagic.size() + 8 * i, 8);
    return value;
  };
  const Status damaged = failed("'{}' is damaged: remove it", path);
  const uint64_t head = kMagic.size() + 8 * (kFields + texts.size());
  if (content.size() < head || !content.starts_with(kMagic) || field(0) != 1 ||
      (field(1) != 2 && field(1) != 4) || field(2) != texts.size())
    return damaged;
  TokenLists lists;
  uint64_t offset = head;
  for (size_t i = 0; i < texts.size(); ++i) {
    const uint64_t count = field(kFields + i), width = field(1);
    if (count > (content.size() - offset) / width)
      return damaged;
    lists.emplace_back(texts[i], file, offset, int64_t(count),
                       TokenWidth(width));
    offset += count * width;
  }
  return offset == content.size() ? Result<TokenLists>(std::move(lists))
                                  : damaged;
}

class TextFiles final : public TokenFiles {
public:
  TextFiles(std::string path, std::vector<std::string> files,
            const SampleOptions &options)
      : path_(std::move(path)), files_(std::move(files)),
        tokenizer_(options.tokenizer), documents_(options.specialTokens) {}

  std::string name() const override { return path_; }
  Result<TokenLists> open(const SampleOptions &) const override {
    const std::lock_guard lock(mutex_);
    if (!lists_.empty())
      return lists_;
    DLC_ASSIGN(made_, ask("tokens", ".tokens",
                          {"--form=cache", "--special-tokens=" + documents_}));
    DLC_ASSIGN(lists_, readMadeTokens(made_->path(), files_));
    return lists_;
  }
  Result<std::shared_ptr<const SpooledFile>> pack(int64_t length) const {
    std::vector<std::string> words{fmt::format("--length={}", length)};
    if (documents_ != "none")
      words.insert(words.end(),
                   {"--special-tokens", "--documents=" + documents_});
    return ask("pack", ".safetensors", std::move(words));
  }
  Result<std::string> hash(int threads) const override {
    DLC_ASSIGN(std::string all, hashesOfData(files_, threads));
    DLC_ASSIGN(const std::string tokenizer, hashData(tokenizer_, threads));
    all += "tokenizer " + tokenizer;
    return documents_ == "none" ? all : all + "\ndocuments " + documents_;
  }

private:
  Result<std::shared_ptr<const SpooledFile>>
  ask(const std::string &command, std::string ending,
      std::vector<std::string> words) const {
    SpoolJob job{.data = path_,
                 .command = command,
                 .words = std::move(words),
                 .places = {"--tokenizer=" + tokenizer_},
                 .files = files_,
                 .content = "",
                 .ending = std::move(ending)};

    DLC_ASSIGN(job.content, hash(coresOfProcess()));
    return spool(cacheFolder(""), job);
  }

  std::string path_;
  std::vector<std::string> files_;
  std::string tokenizer_, documents_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const SpooledFile> made_;
  mutable TokenLists lists_;
};

Result<std::shared_ptr<const TextFiles>>
openTextFiles(const std::string &path, const SampleOptions &options) {
  if (options.tokenizer.empty())
    return failed("'{}' is text: give --tokenizer=tokenizer.json, the model's",
                  path);
  DLC_ASSIGN(auto files, textFilesOf(path));
  return std::make_shared<const TextFiles>(path, std::move(files), options);
}

} // namespace

bool isText(const std::string &path, const SampleOptions &options) {
  return path.ends_with(kTxt) || (options.pack && path.ends_with(".jsonl")) ||
         (!options.tokenizer.empty() && isFolder(path));
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
  std::ranges::sort(files);
  if (files.empty())
    return failed("'{}' has no text, expected files .txt", path);
  return files;
} catch (const fs::filesystem_error &error) {
  return failed("cannot read the folder '{}': {}: '{}'", path,
                error.code().message(), error.path1().string());
}

Result<std::shared_ptr<const Source>> openText(const std::string &path,
                                               const SampleOptions &options) {
  DLC_ASSIGN(auto files, openTextFiles(path, options));
  if (!options.pack)
    return tokenSource(std::move(files));
  DLC_ASSIGN(auto made, files->pack(options.pack));
  const auto hash = [files,
                     length = options.pack](int n) -> Result<std::string> {
    DLC_ASSIGN(const std::string text, files->hash(n));
    return fmt::format("{}\nrows of {}", text, length);
  };
  return spooledArrays(std::move(made), path, {}, hash);
}

Result<TokenLists> tokensOfText(const std::string &path,
                                const SampleOptions &options) {
  DLC_ASSIGN(const auto files, openTextFiles(path, options));
  return files->open(options);
}

} // namespace dlc
