#include "compiler/import/Budget.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/Checked.h"

namespace dlc::import {

struct Account {
  size_t allowed, bytes, steps; // in all, left, left
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

Status Budget::keep(size_t bytes, std::string_view what) {
  if (bytes > account->bytes)
    return badModel("{} needs {} bytes, {} are left of the import's budget of "
                    "{}; --import-budget=SIZE allows more",
                    what, bytes, account->bytes, roundBytes(account->allowed));
  account->bytes -= bytes;
  return {};
}

Status Budget::work(uint64_t steps, std::string_view what) {
  if (steps > account->steps)
    return badModel("{} takes {} steps, {} are left of the import's budget of "
                    "{}; --import-budget=SIZE allows more",
                    what, steps, account->steps, roundBytes(account->allowed));
  account->steps -= steps;
  return {};
}

} // namespace dlc::import
