#include "runtime/exec/Reports.h"
#include "runtime/plan/Types.h"

#include <cstring>

namespace dlc {
namespace {

uint64_t sizeOf(const Operand &operand) {
  return plan::bytesOf(*operand.type).value_or(0);
}

template <class T> double read(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

// Of ranges that the host sees, whose work is done when it was enqueued.
class HostReadback final : public Readback {
public:
  HostReadback(std::span<const Operand> ranges, uint64_t bytes)
      : ranges_(ranges), slots_(kUnread, std::vector<std::byte>(bytes)) {}

  Status post() override {
    if (posted_ - collected_ == kUnread)
      return usageError("{} reports wait to be read, expected at most {}",
                        kUnread, kUnread - 1);
    std::byte *to = slots_[posted_++ % kUnread].data();
    for (const Operand &range : ranges_) {
      std::memcpy(to, range.data, sizeOf(range));
      to += sizeOf(range);
    }
    return {};
  }
  Status collect(std::span<std::byte> to) override {
    if (posted_ == collected_)
      return usageError("there is no report to read");
    const std::vector<std::byte> &slot = slots_[collected_++ % kUnread];
    std::memcpy(to.data(), slot.data(), slot.size());
    return {};
  }

private:
  std::span<const Operand> ranges_;
  std::vector<std::vector<std::byte>> slots_;
  uint64_t posted_ = 0, collected_ = 0;
};

} // namespace

Result<double> scalarOf(const plan::TensorType &type, const std::byte *data) {
  const uint64_t bytes = plan::bytesOf(type).value_or(0);
  if (type.dtype() == plan::F32 && bytes == sizeof(float))
    return read<float>(data);
  if (type.dtype() == plan::F64 && bytes == sizeof(double))
    return read<double>(data);
  return failed("it is not a float scalar");
}

Result<std::unique_ptr<Reports>> Reports::create(Device &device,
                                                 const Program &program) {
  std::vector<Operand> outputs;
  uint64_t bytes = 0;
  constexpr std::byte kNothing[sizeof(double)] = {};
  for (const plan::Port &port : program.plan().outputs()) {
    outputs.push_back(program.buffer(port.buffer()));
    DLC_TRY(scalarOf(*outputs.back().type, kNothing)
                .status()
                .withContext(fmt::format("{}: output '{}'",
                                         program.plan().name(), port.name())));
    bytes += sizeOf(outputs.back());
  }
  std::unique_ptr<Reports> reports(new Reports(std::move(outputs)));
  reports->copy_.resize(bytes);
  DLC_ASSIGN(reports->readback_, device.readback(reports->outputs_));
  if (!reports->readback_)
    reports->readback_ =
        std::make_unique<HostReadback>(reports->outputs_, bytes);
  return reports;
}

Status Reports::collect(std::span<double> values) {
  DLC_TRY(readback_->collect(copy_));
  const std::byte *at = copy_.data();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    DLC_ASSIGN(values[i], scalarOf(*outputs_[i].type, at));
    at += sizeOf(outputs_[i]);
  }
  return {};
}

} // namespace dlc
