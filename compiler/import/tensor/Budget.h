// SPDX-License-Identifier: Apache-2.0
// Limits memory and work of an import, since files are untrusted.
#pragma once
#include "runtime/base/Status.h"
#include <cstdint>
#include <memory>
#include <string_view>

namespace dlc::import {

constexpr size_t kDefaultBudget = size_t(256) << 20;

/// Bytes taken from a budget, returned on destruction. Move-only.
class Lease {
public:
  Lease() = default;
  Lease(Lease &&other) noexcept { swap(other); }
  Lease &operator=(Lease &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Lease();

private:
  friend class Budget;
  void swap(Lease &other) noexcept {
    std::swap(account, other.account);
    std::swap(bytes, other.bytes);
  }
  std::shared_ptr<struct Account> account;
  size_t bytes = 0;
};

/// An import's limit of live bytes and of work, which is one step (a computed
/// element) per two bytes. All code that allocates or loops by a number from
/// the model, rather than by the size of its files, must charge it first.
/// Copies share one account. Not thread-safe.
class Budget {
public:
  explicit Budget(size_t bytes = kDefaultBudget);

  /// Raises the limit by the size of a file of the model.
  void grow(size_t bytes);
  /// Takes bytes until the lease ends. Errors (Code::BadModel) begin with
  /// `what`, which needs the bytes.
  Result<Lease> take(size_t bytes, std::string_view what);
  /// Takes bytes until the import ends.
  Status keep(size_t bytes, std::string_view what);
  Status work(uint64_t steps, std::string_view what);

private:
  std::shared_ptr<Account> account;
};

} // namespace dlc::import
