// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/Reports.h"
#include "runtime/plan/Types.h"

#include <cstring>

namespace dlc {

template <class T> static double read(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

Result<double> scalarOf(const TensorView &view) {
  if (view.type->dtype() == plan::F32 && view.bytes == sizeof(float))
    return read<float>(view.data);
  if (view.type->dtype() == plan::F64 && view.bytes == sizeof(double))
    return read<double>(view.data);
  return failed("it is not a float scalar");
}

namespace {

// For devices without readbacks whose memory the host cannot access: copies
// after the run.
class Downloads final : public Readback {
public:
  Downloads(Device &device, std::vector<Operand> ranges)
      : device_(device), ranges_(std::move(ranges)) {
    for (Slot &slot : slots_)
      for (const Operand &range : ranges_) {
        slot.bytes.emplace_back(plan::bytesOf(*range.type).value_or(0));
        slot.places.push_back(slot.bytes.back().data());
      }
  }

  Status post() override {
    Slot &slot = slots_[posted_ % kUnread];
    for (size_t i = 0; i < ranges_.size(); ++i)
      DLC_TRY(device_.download(slot.bytes[i].data(), ranges_[i].data,
                               slot.bytes[i].size()));
    ++posted_;
    return {};
  }
  Result<std::span<std::byte *const>> collect() override {
    if (collected_ == posted_)
      return usageError("nothing was posted that is not collected");
    return std::span<std::byte *const>(slots_[collected_++ % kUnread].places);
  }

private:
  struct Slot {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::byte *> places;
  };
  Device &device_;
  std::vector<Operand> ranges_;
  Slot slots_[kUnread];
  uint64_t posted_ = 0, collected_ = 0;
};

} // namespace

Result<std::unique_ptr<Reports>> Reports::create(Device &device,
                                                 const Program &program) {
  auto reports = std::make_unique<Reports>();
  std::vector<Operand> outputs;
  for (const plan::Port &port : program.plan().outputs()) {
    outputs.push_back(program.buffer(port.buffer()));
    const Operand &output = outputs.back();
    reports->views_.push_back({output.type, device.hostPointer(output.data),
                               plan::bytesOf(*output.type).value_or(0)});
  }
  DLC_ASSIGN(reports->readback_, device.readback(outputs));
  if (!reports->readback_ && !device.isHost())
    reports->readback_ =
        std::make_unique<Downloads>(device, std::move(outputs));
  return reports;
}

Status Reports::post() { return readback_ ? readback_->post() : Status(); }

Result<std::span<const TensorView>> Reports::collect() {
  if (readback_) {
    DLC_ASSIGN(const auto places, readback_->collect());
    for (size_t i = 0; i < views_.size(); ++i)
      views_[i].data = places[i];
  }
  return std::span<const TensorView>(views_);
}

} // namespace dlc
