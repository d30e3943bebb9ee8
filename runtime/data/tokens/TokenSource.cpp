// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokens/TokenSource.h"

#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/Philox.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/SampleOptions.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace dlc {
namespace {

class TokenWindows {
public:
  TokenWindows(TokenLists files, int64_t length)
      : files_(std::move(files)), length_(length) {
    for (const auto &file : files_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) +
                      std::max<int64_t>(0, file.count() - 1) / length_);
  }

  int64_t count() const { return ends_.back(); }
  int64_t length() const { return length_; }

  // Reads window `row`, shifted by `ahead` tokens.
  void read(int64_t row, const TrainingPass *pass, int64_t ahead,
            int64_t *to) const {
    const auto [file, first] = placeOf(row, pass);
    file->read(first + ahead, length_, to);
  }

  // The window's file, and its first token there.
  std::pair<const TokenFile *, int64_t>
  placeOf(int64_t row, const TrainingPass *pass) const {
    const auto end = std::ranges::upper_bound(ends_, row);
    const auto at = size_t(end - ends_.begin());
    const TokenFile *file = &files_[at];
    const int64_t window = row - (at ? ends_[at - 1] : 0);
    return {file, std::min(window * length_ + (pass ? offsetOf(*pass) : 0),
                           file->count() - 1 - length_)};
  }

private:
  int64_t offsetOf(const TrainingPass &pass) const {
    constexpr uint64_t kStream = 0x746f6b656e73; // unique random number stream
    const PhiloxBlock drawn = philox(pass.seed, uint64_t(pass.epoch), kStream);
    return int64_t((uint64_t(drawn[1]) << 32 | drawn[0]) % uint64_t(length_));
  }

  TokenLists files_;
  int64_t length_;
  std::vector<int64_t> ends_; // cumulative windows by file
};

class WindowRows final : public RowReader {
public:
  WindowRows(std::shared_ptr<const TokenWindows> windows, int64_t ahead)
      : windows_(std::move(windows)), ahead_(ahead) {}
  Status read(int64_t row, const TrainingPass *pass,
              std::byte *to) const override {
    windows_->read(row, pass, ahead_, reinterpret_cast<int64_t *>(to));
    return {};
  }
  std::string placeOf(int64_t row, const TrainingPass *pass) const override {
    const auto [file, first] = windows_->placeOf(row, pass);
    return fmt::format("tokens {} to {} of '{}'", first + ahead_,
                       first + ahead_ + windows_->length() - 1, file->path());
  }

private:
  std::shared_ptr<const TokenWindows> windows_;
  int64_t ahead_;
};

// Files of tokens.
class BinFiles final : public TokenFiles {
public:
  BinFiles(std::string path, std::vector<std::string> files)
      : path_(std::move(path)), files_(std::move(files)) {}

  std::string name() const override { return path_; }
  Result<TokenLists> open(const SampleOptions &options) const override {
    return openTokenFiles(files_, tokenWidthFrom(options.tokens));
  }
  Result<std::string> hash(int threads) const override {
    return hashesOfData(files_, threads);
  }

private:
  std::string path_;
  std::vector<std::string> files_;
};

class TokenSource final : public Source {
public:
  TokenSource(std::shared_ptr<const TokenFiles> files,
              std::shared_ptr<const TokenWindows> windows)
      : files_(std::move(files)), windows_(std::move(windows)) {}

  std::string name() const override { return files_->name(); }
  std::vector<std::string> keys() const override { return {"x", "y"}; }
  Result<Array> head(const std::string &key) const override {
    if (!has(key))
      return noSuchArray(*this, key);
    if (!windows_)
      return Array{DType::I64, {0}, {}};
    return Array{DType::I64, {windows_->count(), windows_->length()}, {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    if (!has(key))
      return noSuchArray(*this, key);
    if (!windows_)
      return failed("'{}' contains tokens; the sample length comes from a "
                    "model, and there is none",
                    name());
    return std::make_shared<const WindowRows>(windows_, key == "y" ? 1 : 0);
  }
  Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput> inputs,
         const SampleOptions &options) const override {
    const std::vector<int64_t> &sample = *shapeOfFirst(inputs);
    if (sample.size() != 1 || sample[0] < 1)
      return failed("'{}' has tokens, which cannot be samples of shape [{}], "
                    "expected [T]",
                    name(), fmt::join(sample, ", "));
    DLC_ASSIGN(TokenLists files, files_->open(options));
    int64_t tokens = 0;
    for (const auto &file : files)
      tokens += file.count();
    auto windows =
        std::make_shared<const TokenWindows>(std::move(files), sample[0]);
    if (windows->count() == 0)
      return failed("'{}' has {} tokens, expected at least {} contiguous ones: "
                    "the model reads {}, and each needs a next token",
                    name(), tokens, sample[0] + 1, sample[0]);
    return std::make_shared<const TokenSource>(files_, windows);
  }
  Result<std::string> hash(int threads) const override {
    DLC_ASSIGN(const std::string all, files_->hash(threads));
    return sha256(std::as_bytes(std::span(all)));
  }

private:
  std::shared_ptr<const TokenFiles> files_;
  std::shared_ptr<const TokenWindows> windows_; // null before shaped()
};

constexpr uint64_t kHeaderBytes = 256 * 4;

struct Kind {
  int32_t magic, version;
  TokenWidth width;
  std::string_view name;
};
constexpr Kind kKinds[] = {{20240520, 1, TokenWidth::Bits16, "uint16"},
                           {20240801, 7, TokenWidth::Bits32, "uint32"}};

std::string_view nameOf(TokenWidth width) {
  return kKinds[width == TokenWidth::Bits16 ? 0 : 1].name;
}

int32_t headerField(const MappedFile &file, size_t field) {
  int32_t value;
  std::memcpy(&value, file.bytes().data() + field * sizeof value, sizeof value);
  return value;
}

const Kind *kindOf(const MappedFile &file) {
  if (file.size() >= kHeaderBytes)
    for (const Kind &kind : kKinds)
      if (headerField(file, 0) == kind.magic)
        return &kind;
  return nullptr;
}

template <class T>
void widen(const std::byte *from, int64_t count, int64_t *to) {
  for (int64_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, from + size_t(i) * sizeof token, sizeof token);
    to[i] = int64_t(token);
  }
}

} // namespace

std::shared_ptr<const Source>
tokenSource(std::shared_ptr<const TokenFiles> files) {
  return std::make_shared<const TokenSource>(std::move(files), nullptr);
}

std::shared_ptr<const Source> tokenSource(std::string path,
                                          std::vector<std::string> files) {
  return tokenSource(
      std::make_shared<const BinFiles>(std::move(path), std::move(files)));
}

std::optional<TokenWidth> tokenWidthFrom(std::string_view name) {
  for (const Kind &kind : kKinds)
    if (name == kind.name)
      return kind.width;
  return std::nullopt;
}

Result<TokenFile> TokenFile::open(const std::string &path,
                                  std::optional<TokenWidth> width) {
  DLC_ASSIGN(MappedFile mapped, MappedFile::open(path));
  const auto shared = std::make_shared<const MappedFile>(std::move(mapped));
  const MappedFile &file = *shared;
  const Kind *kind = kindOf(file);
  if (!kind && !width)
    return failed("'{}' has tokens and no header that tells their type: give "
                  "--tokens=uint16, as nanoGPT writes them, or uint32",
                  path);
  const TokenWidth own = kind ? kind->width : *width;
  const auto size = uint64_t(own);
  if (!kind) {
    if (file.size() % size != 0)
      return failed("'{}' has {} bytes, not a whole number of {} tokens", path,
                    file.size(), nameOf(own));
    return TokenFile(path, shared, 0, int64_t(file.size() / size), own);
  }
  if (width && *width != own)
    return failed("'{}' has a header with token type {}, found --tokens={}",
                  path, kind->name, nameOf(*width));
  if (headerField(file, 1) != kind->version)
    return failed("'{}' has version {}, expected {}", path,
                  headerField(file, 1), kind->version);
  const int64_t count = headerField(file, 2);
  if (count < 0 || uint64_t(count) * size != file.size() - kHeaderBytes)
    return failed("'{}' claims {} tokens of {} bytes, but has {} bytes of "
                  "tokens: is the file truncated?",
                  path, count, size, file.size() - kHeaderBytes);
  return TokenFile(path, shared, kHeaderBytes, count, own);
}

Result<TokenLists> openTokenFiles(const std::vector<std::string> &paths,
                                  std::optional<TokenWidth> width) {
  TokenLists lists;
  for (const std::string &path : paths) {
    DLC_ASSIGN(TokenFile file, TokenFile::open(path, width));
    lists.push_back(std::move(file));
  }
  return lists;
}

void TokenFile::read(int64_t first, int64_t count, int64_t *to) const {
  const std::byte *from =
      file_->bytes().data() + offset_ + uint64_t(first) * uint64_t(width_);
  if (width_ == TokenWidth::Bits16)
    widen<uint16_t>(from, count, to);
  else
    widen<uint32_t>(from, count, to);
}

} // namespace dlc
