// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/Budget.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/numbers/Checked.h"

namespace dlc::import {

struct Account {
  size_t allowed, bytes, steps; // total, remaining, remaining
};

Lease::~Lease() {
  if (account)
    account->bytes += bytes;
}

Budget::Budget(size_t bytes)
    : account(std::make_shared<Account>(Account{bytes, bytes, bytes / 2})) {}

void Budget::grow(size_t bytes) {
  auto add = [](size_t &count, size_t more) {
    count = checkedAdd(count, more).value_or(SIZE_MAX);
  };
  add(account->allowed, bytes);
  add(account->bytes, bytes);
  add(account->steps, bytes / 2);
}

Result<Lease> Budget::take(size_t bytes, std::string_view what) {
  Lease lease;
  DLC_TRY(keep(bytes, what));
  lease.account = account;
  lease.bytes = bytes;
  return lease;
}

/// Subtracts `wanted` from `left`; the error is "WHAT needs 5 bytes, ...".
static Status spend(size_t &left, uint64_t wanted, size_t allowed,
                    std::string_view what, std::string_view need,
                    std::string_view unit) {
  if (wanted > left)
    return badModel("{} {} {} {}, but {} are left of the import's budget of "
                    "{}; --import-budget=SIZE raises it",
                    what, need, wanted, unit, left, roundBytes(allowed));
  left -= wanted;
  return {};
}

Status Budget::keep(size_t bytes, std::string_view what) {
  return spend(account->bytes, bytes, account->allowed, what, "needs", "bytes");
}

Status Budget::work(uint64_t steps, std::string_view what) {
  return spend(account->steps, steps, account->allowed, what, "takes", "steps");
}

} // namespace dlc::import
