// SPDX-License-Identifier: Apache-2.0
#include "Guarded.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <utility>

namespace dlc::test {
namespace {

constexpr size_t kPage = 4096;

/// The size of each array, by its address.
std::map<uint8_t *, size_t> &living() {
  static std::map<uint8_t *, size_t> all;
  return all;
}

} // namespace

/// The array ends at a page that cannot be accessed; before it lie less than 16
/// bytes, then such a page, too.
Guarded::Guarded(const void *content, size_t bytes) : bytes(bytes) {
  size_t room = (bytes + 15) / 16 * 16, pages = (room + kPage - 1) / kPage;
  mapped = (pages + 2) * kPage;
  mapping = static_cast<char *>(
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapping == MAP_FAILED ||
      (pages &&
       mprotect(mapping + kPage, pages * kPage, PROT_READ | PROT_WRITE)))
    std::abort();
  if (pages)
    std::memset(mapping + kPage, 0xff, pages * kPage);
  begin = reinterpret_cast<uint8_t *>(mapping + (pages + 1) * kPage - room);
  living()[begin] = bytes;
  if (!bytes)
    return;
  content ? (void)std::memcpy(begin, content, bytes)
          : (void)std::memset(begin, 0xaa, bytes);
}
Guarded::Guarded(Guarded &&o) noexcept
    : mapping(o.mapping), mapped(o.mapped), bytes(o.bytes), begin(o.begin) {
  o.mapping = nullptr;
}
Guarded &Guarded::operator=(Guarded &&o) noexcept {
  std::swap(mapping, o.mapping);
  std::swap(mapped, o.mapped);
  std::swap(bytes, o.bytes);
  std::swap(begin, o.begin);
  return *this;
}
Guarded::~Guarded() {
  if (!mapping)
    return;
  living().erase(begin);
  munmap(mapping, mapped);
}

std::optional<std::span<uint8_t>> Guarded::around(const void *address) {
  auto *at = static_cast<uint8_t *>(const_cast<void *>(address));
  auto next = living().upper_bound(at);
  if (next == living().begin())
    return {};
  const auto [begin, bytes] = *std::prev(next);
  if (at > begin + bytes)
    return {};
  return std::span(begin, bytes);
}

} // namespace dlc::test
