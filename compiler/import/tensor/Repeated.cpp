// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/ExternalData.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc::import {
namespace {

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
