// SPDX-License-Identifier: Apache-2.0
// What an import may spend on behalf of a file that nobody trusts.
#pragma once
#include "runtime/base/Status.h"
#include <cstdint>
#include <memory>
#include <string_view>

namespace dlc::import {

constexpr size_t kDefaultBudget = size_t(256) << 20;

/// Bytes taken from a budget, given back when this ends. Move-only.
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

/// One import's allowance, in bytes held at once and in work: a step (an
/// element computed) for every two bytes. Everything that allocates or loops
/// by a number that a model says, and not by the size of its files, asks here
/// first. Copies share the account. One thread.
class Budget {
public:
  explicit Budget(size_t bytes = kDefaultBudget);

  /// Allows as much more as a file of the model is long.
  void grow(size_t bytes);
  /// Bytes for as long as the lease lives. The errors (BadModel) begin with
  /// `what`, which needs them.
  Result<Lease> take(size_t bytes, std::string_view what);
  /// Bytes that are kept until the import ends.
  Status keep(size_t bytes, std::string_view what);
  Status work(uint64_t steps, std::string_view what);

private:
  std::shared_ptr<Account> account;
};

} // namespace dlc::import
