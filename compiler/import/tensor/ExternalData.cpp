// SPDX-License-Identifier: Apache-2.0
#define OPENSSL_API_COMPAT 10100 // SHA1_Init and its like
#include "compiler/import/tensor/ExternalData.h"
#include "onnx-ml.pb.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/ParseNumber.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/openat2.h>
#include <openssl/sha.h>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dlc::import {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

struct Keys {
  std::string location, checksum;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<Keys> readKeys(const onnx::TensorProto &tensor) {
  Keys keys;
  std::set<std::string> seen;
  for (const auto &entry : tensor.external_data()) {
    const std::string &key = entry.key(), &value = entry.value();
    if (!seen.insert(key).second)
      return badModel("tensor '{}': external data key '{}' is given twice",
                      tensor.name(), key);
    const auto number = asNumber<uint64_t>(value);
    if (key == "location")
      keys.location = value;
    else if (key == "checksum")
      keys.checksum = value;
    else if (key != "offset" && key != "length")
      return badModel("tensor '{}': unknown external data key '{}'; expected "
                      "location, offset, length or checksum",
                      tensor.name(), key);
    else if (!number)
      return badModel("tensor '{}': external data {} '{}' is not a number of "
                      "bytes",
                      tensor.name(), key, value);
    else if (key == "offset")
      keys.offset = *number;
    else
      keys.length = number;
  }
  return keys;
}

/// Why a location cannot be below the model's folder, or nullptr.
const char *refusal(const std::string &location) {
  if (location.empty())
    return "is missing";
  if (location.find('\0') != std::string::npos)
    return "contains a zero byte";
  if (location.front() == '/')
    return "is absolute";
  for (const auto &part : std::filesystem::path(location))
    if (part == "..")
      return "contains '..'";
  return nullptr;
}

/// Opens each path component separately, without following links, for kernels
/// without openat2.
int openStepwise(int folder, const std::string &location) {
  std::filesystem::path path(location);
  int current = dup(folder);
  for (const auto &part : path.parent_path()) {
    int next = openat(current, part.c_str(), kOpenFlags | O_DIRECTORY);
    int error = errno;
    close(current);
    errno = error;
    if ((current = next) < 0)
      return -1;
  }
  int file = openat(current, path.filename().c_str(), kOpenFlags);
  int error = errno;
  close(current);
  errno = error;
  return file;
}

int openBeneath(int folder, const std::string &location) {
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int file = syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how));
  if (file < 0 && (errno == ENOSYS || errno == EPERM))
    return openStepwise(folder, location);
  return file;
}

std::string sha1(std::string_view bytes) {
  SHA_CTX hash; // does not allocate
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1_Init(&hash);
  SHA1_Update(&hash, bytes.data(), bytes.size());
  SHA1_Final(digest, &hash);
  std::string text;
  for (unsigned char byte : digest)
    text += fmt::format("{:02x}", byte);
  return text;
}

constexpr size_t kBlock = size_t(2) << 20; // whole pages

std::string blockOf(std::string_view element, size_t bytes) {
  std::string block;
  block.reserve(bytes);
  while (block.size() < bytes)
    block += element;
  return block;
}

/// An anonymous file with one block; -1, with errno, on failure.
int blockFile(std::string_view element) {
  const std::string block = blockOf(element, kBlock);
  const int file = memfd_create("dlc-repeated", MFD_CLOEXEC);
  for (size_t done = 0; file >= 0 && done < block.size();) {
    const ssize_t written =
        write(file, block.data() + done, block.size() - done);
    if (written < 0 && errno != EINTR) {
      close(file);
      return -1;
    }
    done += size_t(std::max<ssize_t>(written, 0));
  }
  return file;
}

} // namespace

Result<std::shared_ptr<MappedData>> MappedData::map(int fd, size_t size,
                                                    const std::string &name) {
  Result<const std::byte *> data = static_cast<const std::byte *>(nullptr);
  if (size > 0)
    data = mapFile(fd, size, name);
  close(fd);
  if (!data.ok())
    return badModel("{}", data.status().message());
  return std::make_shared<MappedData>(*data, size);
}

MappedData::~MappedData() {
  if (data)
    unmapFile(data, size);
}

ExternalData::ExternalData(std::string path, Budget budget)
    : modelPath(std::move(path)), budget(std::move(budget)) {}

ExternalData::~ExternalData() {
  if (folder >= 0)
    close(folder);
}

Result<std::shared_ptr<MappedData>>
ExternalData::open(const std::string &location, const std::string &tensor) {
  if (const char *why = refusal(location))
    return badModel("tensor '{}': external data location '{}' {}; expected a "
                    "path relative to the model's folder",
                    tensor, location, why);
  if (auto it = files.find(location); it != files.end())
    return it->second;
  auto parent = std::filesystem::path(modelPath).parent_path();
  if (parent.empty())
    parent = ".";
  if (folder < 0)
    folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int file = folder < 0 ? -1 : openBeneath(folder, location);
  if (file < 0 && (errno == ELOOP || errno == EXDEV))
    return badModel("tensor '{}': external data '{}' is or passes a symbolic "
                    "link; put the file itself beside the model",
                    tensor, location);
  if (file < 0)
    return badModel("tensor '{}': cannot open external data '{}' in '{}': {}",
                    tensor, location, parent.string(), std::strerror(errno));
  struct stat info {};
  fstat(file, &info);
  std::string wrong;
  if (!S_ISREG(info.st_mode))
    wrong = fmt::format("{}, not a regular file", kindOfFile(info.st_mode));
  else if (info.st_nlink > 1)
    wrong = "a hard link to another file";
  if (!wrong.empty()) {
    close(file);
    return badModel("tensor '{}': external data '{}' is {}", tensor, location,
                    wrong);
  }
  auto mapped = MappedData::map(file, info.st_size, location);
  if (mapped.ok()) {
    files[location] = *mapped;
    unused[location] = info.st_size;
    budget.grow(info.st_size);
  }
  return mapped;
}

Result<ExternalData::Range> ExternalData::find(const onnx::TensorProto &tensor,
                                               size_t expected) {
  DLC_ASSIGN(auto keys, readKeys(tensor));
  if (keys.length && *keys.length != expected)
    return badModel("tensor '{}': external data length is {}, expected {} for "
                    "its shape and type",
                    tensor.name(), *keys.length, expected);
  DLC_ASSIGN(auto file, open(keys.location, tensor.name()));
  std::string_view bytes = file->bytes();
  if (keys.offset > bytes.size() || expected > bytes.size() - keys.offset)
    return badModel("tensor '{}': external data range [{}, +{}) is outside "
                    "'{}' of {} bytes",
                    tensor.name(), keys.offset, expected, keys.location,
                    bytes.size());
  size_t &left = unused[keys.location];
  size_t shared = expected - std::min(expected, left);
  left -= expected - shared;
  DLC_TRY(
      budget.keep(shared, fmt::format("tensor '{}', whose bytes in '{}' other "
                                      "tensors have, too,",
                                      tensor.name(), keys.location)));
  if (!keys.checksum.empty()) {
    std::string &digest = digests[keys.location];
    if (digest.empty())
      digest = sha1(bytes);
    if (digest != keys.checksum)
      return badModel("tensor '{}': SHA-1 of '{}' is {}, expected {}",
                      tensor.name(), keys.location, digest, keys.checksum);
  }
  return Range{bytes.substr(keys.offset, expected), file};
}

Result<std::shared_ptr<const void>> repeated(std::string_view element,
                                             size_t bytes) {
  if (bytes <= kBlock) {
    auto held = std::make_shared<std::string>(blockOf(element, bytes));
    return std::shared_ptr<const void>(held, held->data());
  }
  const size_t size = (bytes + kBlock - 1) / kBlock * kBlock;
  const int file = blockFile(element);
  void *memory = file < 0
                     ? MAP_FAILED
                     : mmap(nullptr, size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool isMapped = memory != MAP_FAILED;
  for (size_t at = 0; isMapped && at < size; at += kBlock)
    isMapped = mmap(static_cast<char *>(memory) + at, kBlock, PROT_READ,
                    MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  const int error = errno;
  if (file >= 0)
    close(file);
  if (!isMapped) {
    if (memory != MAP_FAILED)
      munmap(memory, size);
    return failed("cannot map {} bytes: {}", bytes, std::strerror(error));
  }
  return std::shared_ptr<const void>(
      memory, [size](void *mapped) { munmap(mapped, size); });
}

} // namespace dlc::import
