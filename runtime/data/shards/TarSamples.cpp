// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/shards/TarSamples.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/pictures/Folder.h"
#include "runtime/data/shards/Tar.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace dlc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTar = ".tar";

struct ShardSample {
  uint64_t header = 0, offset = 0; // of the picture, in its shard
  uint32_t size = 0, shard = 0;
  int64_t label = -1;
};

class ShardPictures final : public Pictures {
public:
  using Pictures::labels_;
  std::string path;
  std::vector<std::shared_ptr<const MappedFile>> shards;
  std::vector<ShardSample> samples;

  std::string name() const override { return path; }
  int64_t count() const override { return int64_t(samples.size()); }
  std::string nameOf(int64_t index) const override {
    const ShardSample &sample = samples[size_t(index)];
    const MappedFile &shard = *shards[sample.shard];
    TarMember member;
    const auto found = TarReader(shard.bytes(), sample.header).next(member);
    return fmt::format("{}/{}", shard.path(),
                       found.ok() ? printable(member.name) : "?");
  }
  Result<SharedBytes> read(int64_t index) const override {
    const ShardSample &sample = samples[size_t(index)];
    const auto &shard = shards[sample.shard];
    return lentBytes(shard->bytes().subspan(sample.offset, sample.size), shard);
  }
  Result<std::string> hash() const override {
    Sha256 sum;
    const auto add = [&](const std::string &line) {
      sum.add(line.data(), line.size());
    };
    for (const auto &shard : shards)
      add(fmt::format("{} {}\n", shard->size(),
                      fs::path(shard->path()).filename().string()));
    for (const ShardSample &sample : samples)
      add(fmt::format("{} {}\n", sample.size, sample.label));
    return sum.digest();
  }
};

// "a/b.left.png" is sample b in a, with the extension "left.png".
std::pair<std::string, std::string> partsOf(const std::string &name) {
  const size_t slash = name.rfind('/');
  const size_t dot = name.find('.', slash == name.npos ? 0 : slash + 1);
  return dot == name.npos
             ? std::pair(name, std::string())
             : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

// Groups the members of one archive to samples.
class ShardIndexer {
public:
  ShardIndexer(ShardPictures &all, std::span<const std::byte> bytes)
      : all_(all), bytes_(bytes) {}

  Status run() {
    TarReader reader(bytes_);
    for (TarMember member;;) {
      DLC_ASSIGN(const bool found, reader.next(member));
      if (!found)
        return finish();
      DLC_TRY(add(member));
    }
  }

private:
  Status add(const TarMember &member) {
    auto [key, part] = partsOf(member.name);
    if (!isOpen_ || key != key_) {
      DLC_TRY(finish());
      sample_ = {};
      sample_.shard = uint32_t(all_.shards.size() - 1);
      key_ = key, others_.clear(), isOpen_ = true;
    }
    if (part == "cls")
      return readClass(member);
    if (!isPictureName("." + part)) {
      others_ += (others_.empty() ? "." : ", .") + part;
      return {};
    }
    if (sample_.offset)
      return failed("sample '{}' has two pictures", printable(key_));
    if (member.size > kMaxPictureFile)
      return failed("'{}' has {} bytes, expected at most {}",
                    printable(member.name), member.size, kMaxPictureFile);
    sample_.header = member.header;
    sample_.offset = member.offset;
    sample_.size = uint32_t(member.size);
    return {};
  }

  Status readClass(const TarMember &member) {
    if (sample_.label >= 0)
      return failed("sample '{}' has two classes", printable(key_));
    constexpr uint64_t kMost = 32;
    std::string_view text(reinterpret_cast<const char *>(bytes_.data()) +
                              member.offset,
                          std::min(member.size, kMost));
    const size_t last = text.find_last_not_of(" \r\n");
    const std::string_view digits =
        text.substr(0, last == text.npos ? 0 : last + 1);
    sample_.label = asNumber<int64_t>(digits).value_or(-1);
    if (sample_.label < 0 || member.size > kMost)
      return failed("'{}' holds '{}', expected a class: a number from 0",
                    printable(member.name), printable(digits));
    return {};
  }

  Status finish() {
    if (!isOpen_)
      return {};
    if (!sample_.offset)
      return failed("sample '{}' has no picture, expected .jpg, .jpeg, .png or "
                    ".webp{}",
                    printable(key_),
                    others_.empty() ? "" : ", found " + printable(others_));
    all_.samples.push_back(sample_);
    isOpen_ = false;
    return {};
  }

  ShardPictures &all_;
  std::span<const std::byte> bytes_;
  ShardSample sample_;
  std::string key_, others_;
  bool isOpen_ = false;
};

// Either all samples have a class, or none.
Status settleLabels(ShardPictures &all) {
  const auto hasLabel = [](const ShardSample &s) { return s.label >= 0; };
  const auto labelled = std::ranges::count_if(all.samples, hasLabel);
  if (labelled == 0)
    return {};
  const auto without = std::ranges::find_if_not(all.samples, hasLabel);
  if (without != all.samples.end())
    return failed("'{}' has no class (.cls), but {} of {} samples have one",
                  all.nameOf(without - all.samples.begin()), labelled,
                  all.samples.size());
  for (const ShardSample &sample : all.samples)
    all.labels_.push_back(sample.label);
  return {};
}

// The archives in a folder; empty if it has other training data.
std::vector<std::string> shardsIn(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.'))
      continue;
    if (entry.is_directory(error) || isPictureName(name))
      return {};
    if (name.ends_with(kTar))
      found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

bool isCompressed(const std::string &path) {
  constexpr std::array kEndings = {".tar.gz", ".tgz", ".tar.xz", ".tar.zst"};
  return std::ranges::any_of(
      kEndings, [&](const char *ending) { return path.ends_with(ending); });
}

} // namespace

bool isShards(const std::string &path) {
  return path.ends_with(kTar) || isCompressed(path) ||
         (isFolder(path) && !shardsIn(path).empty());
}

Result<std::vector<std::string>> shardsOf(const std::string &path) {
  if (isFolder(path))
    return shardsIn(path);
  return expandRange(path);
}

Result<std::shared_ptr<const Pictures>> openShards(const std::string &path) {
  if (isCompressed(path))
    return failed("'{}' is compressed: unpack it to a .tar, in which samples "
                  "are read where they are",
                  path);
  DLC_ASSIGN(const auto shards, shardsOf(path));
  auto all = std::make_shared<ShardPictures>();
  all->path = path;
  for (const std::string &shard : shards) {
    DLC_ASSIGN(MappedFile file, MappedFile::open(shard));
    all->shards.push_back(std::make_shared<const MappedFile>(std::move(file)));
    const auto bytes = all->shards.back()->bytes();
    DLC_TRY(ShardIndexer(*all, bytes).run().withContext("'{}'", shard));
    releaseMapped(bytes.data(), bytes.size());
  }
  DLC_TRY(mappedFilesStatus());
  if (all->samples.empty())
    return failed("'{}' has no samples", path);
  DLC_TRY(settleLabels(*all));
  return all;
}

} // namespace dlc
