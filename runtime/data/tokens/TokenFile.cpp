// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokens/TokenFile.h"

#include <cstring>

namespace dlc {
namespace {

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
