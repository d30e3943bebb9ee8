// SPDX-License-Identifier: Apache-2.0
// A case of Fixture.h on a device whose memory the host may not see.
#pragma once

#include "test/device/Fixture.h"

namespace dlc::test {

// Tensors of a case in device memory.
class OnDevice {
public:
  OnDevice(Device &device, std::vector<Tensor> &tensors)
      : device_(device), tensors_(tensors) {
    for (Tensor &tensor : tensors) {
      auto memory = device.allocate(tensor.raw().size(), "tensor");
      EXPECT_TRUE(memory.ok()) << memory.status().message();
      operands_.push_back({*memory, tensor.operand().type});
    }
  }
  const std::vector<Operand> &operands() const { return operands_; }
  Status upload() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      DLC_TRY(device_.upload(operands_[i].data, tensors_[i].raw().data(),
                             tensors_[i].raw().size()));
    return {};
  }
  Status download() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      DLC_TRY(device_.download(tensors_[i].operand().data, operands_[i].data,
                               tensors_[i].raw().size()));
    return {};
  }

private:
  Device &device_;
  std::vector<Tensor> &tensors_;
  std::vector<Operand> operands_;
};

inline Status runOn(Device &device, const Case &c, std::vector<Tensor> &inputs,
                    std::vector<Tensor> &outputs) {
  const plan::Command command = makeCommand(c.kind, c.attributes);
  OnDevice in(device, inputs), out(device, outputs);
  DLC_TRY(in.upload());
  DLC_TRY(out.upload()); // NaN, so that what is not written shows
  DLC_ASSIGN(auto bound, device.bind({command, in.operands(), out.operands()}));
  DLC_TRY(bound->enqueue());
  DLC_TRY(out.download());
  return device.synchronize();
}

} // namespace dlc::test
