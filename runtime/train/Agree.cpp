#include "runtime/train/Agree.h"

#include <algorithm>

#include <cstdlib>

namespace dlc {

Status agree(Communicator &communicator, const Status &own) {
  // A lost peer cannot be told anything.
  if (own.code() == Code::PeerLost || communicator.size() == 1)
    return own;
  std::string text =
      fmt::format("{} {}", static_cast<int>(own.code()), own.message());
  DLC_ASSIGN(std::vector<std::string> all, communicator.allGather(text));
  for (const std::string &other : all) {
    size_t space = other.find(' ');
    int code = std::atoi(other.c_str());
    if (code != 0)
      return Status(static_cast<Code>(code), other.substr(space + 1));
  }
  return {};
}

Result<int> SignalAgreement::ask(int own, int64_t step) {
  constexpr double kSeconds = 0.2;
  if (communicator_.size() == 1)
    return own;
  if (step < next_)
    return 0;
  const std::chrono::duration<double> passed = Clock::now() - last_;
  const int64_t steps = std::max<int64_t>(1, step - agreedAt_);
  const double ahead =
      kSeconds * static_cast<double>(steps) / std::max(passed.count(), 1e-9);
  // At most twice as far as the last time: one quick step proves little.
  const double limit = 2.0 * static_cast<double>(steps);
  int64_t values[] = {own != 0, own, 0};
  if (communicator_.rank() == 0)
    values[2] = static_cast<int64_t>(std::clamp(ahead, 1.0, limit));
  DLC_TRY(communicator_.allReduce(values, 3, DType::I64, ReduceOp::Sum));
  agreedAt_ = step;
  last_ = Clock::now();
  next_ = step + values[2];
  return values[0] ? static_cast<int>(values[1] / values[0]) : 0;
}

} // namespace dlc
