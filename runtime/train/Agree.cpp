// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Agree.h"

#include <algorithm>

#include <cstdlib>

namespace dlc {

Status agree(Communicator &communicator, const Status &own) {
  // A lost peer cannot be reached.
  if (own.code() == Code::PeerLost || communicator.size() == 1)
    return own;
  std::string text = fmt::format("{} {}", int(own.code()), own.message());
  DLC_ASSIGN(std::vector<std::string> all, communicator.allGather(text));
  for (const std::string &other : all) {
    size_t space = other.find(' ');
    int code = std::atoi(other.c_str());
    if (code != 0) {
      // A rank that leaves now would be lost for ranks that have not received
      // the errors. After the barrier all have.
      if (communicator.barrier().ok())
        communicator.agreeToEnd();
      return Status(static_cast<Code>(code), other.substr(space + 1));
    }
  }
  return {};
}

Result<SignalRequest> SignalAgreement::ask(SignalRequest own, int64_t step) {
  constexpr double kSeconds = 0.2;
  if (communicator_.size() == 1)
    return own;
  pending_ = {own.stop, own.save || pending_.save, own.end || pending_.end,
              own.timed || pending_.timed};
  if (step < next_)
    return SignalRequest();
  const std::chrono::duration<double> passed = Clock::now() - last_;
  const int64_t steps = std::max<int64_t>(1, step - agreedAt_);
  const double ahead =
      kSeconds * double(steps) / std::max(passed.count(), 1e-9);
  // At most twice the last distance: one fast step is weak evidence.
  const double limit = 2.0 * double(steps);
  // Counts of ranks: one per stop signal, save requested, end requested, rank
  // 0's clock expired; and rank 0's number of steps until the next exchange.
  constexpr size_t kSave = kStopSignals.size(), kEnd = kSave + 1,
                   kTimed = kEnd + 1, kAhead = kTimed + 1;
  int64_t values[kAhead + 1] = {};
  for (size_t i = 0; i < kStopSignals.size(); ++i)
    values[i] = pending_.stop == kStopSignals[i];
  values[kSave] = pending_.save;
  values[kEnd] = pending_.end;
  values[kTimed] = pending_.timed;
  if (communicator_.rank() == 0)
    values[kAhead] = int64_t(std::clamp(ahead, 1.0, limit));
  DLC_TRY(communicator_.allReduce(values, std::size(values), DType::I64,
                                  ReduceOp::Sum));
  pending_ = {};
  agreedAt_ = step;
  last_ = Clock::now();
  next_ = always_ ? 0 : step + values[kAhead];
  SignalRequest all{0, values[kSave] > 0, values[kEnd] > 0, values[kTimed] > 0};
  for (size_t i = kStopSignals.size(); i-- > 0;)
    if (values[i] > 0)
      all.stop = kStopSignals[i];
  return all;
}

} // namespace dlc
