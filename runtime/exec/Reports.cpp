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
