// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dlc::test {

/// A host array whose ends are guarded: an access beyond them ends the process
/// with a message.
class Guarded {
public:
  Guarded(const void *content, size_t bytes); // null: filled with 0xaa
  ~Guarded();
  Guarded(Guarded &&other) noexcept;
  Guarded &operator=(Guarded &&other) noexcept;
  Guarded(const Guarded &) = delete;
  uint8_t *data() const { return begin; }
  size_t size() const { return bytes; }

  /// The living array that an address is in, or at whose end it is.
  static std::optional<std::span<uint8_t>> around(const void *address);

private:
  char *mapping;
  size_t mapped, bytes;
  uint8_t *begin;
};

} // namespace dlc::test
