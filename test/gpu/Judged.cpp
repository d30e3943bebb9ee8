// The cases of test/device on the GPU.
#include "test/device/Fixture.h"
#include "test/gpu/Gpu.h"

#include <set>

namespace dlc::test {

// Sums in other orders, and convolutions by transformed tiles.
const double kSlack = 5;

namespace {

// Tensors of a case in device memory.
class OnGpu {
public:
  explicit OnGpu(std::vector<Tensor> &tensors) : tensors_(tensors) {
    for (Tensor &tensor : tensors) {
      auto memory = gpu().allocate(tensor.raw().size(), "tensor");
      EXPECT_TRUE(memory.ok()) << memory.status().message();
      operands_.push_back({*memory, tensor.operand().type});
    }
  }
  const std::vector<Operand> &operands() const { return operands_; }
  Status upload() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      DLC_TRY(gpu().upload(operands_[i].data, tensors_[i].raw().data(),
                           tensors_[i].raw().size()));
    return {};
  }
  Status download() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      DLC_TRY(gpu().download(tensors_[i].operand().data, operands_[i].data,
                             tensors_[i].raw().size()));
    return {};
  }

private:
  std::vector<Tensor> &tensors_;
  std::vector<Operand> operands_;
};

Status runOnGpu(const Case &c, std::vector<Tensor> &inputs,
                std::vector<Tensor> &outputs) {
  const plan::Command command = makeCommand(c.kind, c.attributes);
  OnGpu in(inputs), out(outputs);
  DLC_TRY(in.upload());
  DLC_TRY(out.upload()); // NaN, so that what is not written shows
  DLC_ASSIGN(auto bound, gpu().bind({command, in.operands(), out.operands()}));
  DLC_TRY(bound->enqueue());
  DLC_TRY(out.download());
  return gpu().synchronize();
}

} // namespace

// An activation that a library lacks is never asked of it by the compiler; what
// a library's version cannot do, or has no norm for on this GPU, its user is
// told.
std::optional<std::vector<Tensor>> runJudged(const Case &c, plan::DType type,
                                             int) {
  auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
  const Status status = runOnGpu(c, inputs, outputs);
  const auto says = [&](const char *words) {
    return status.message().find(words) != std::string::npos;
  };
  const bool lacks = status.code() == Code::Incompatible &&
                     (says("has no activation") || says("update cuDNN") ||
                      says("--norm=generated"));
  static std::set<std::string> told;
  if (lacks && told.insert(status.message()).second)
    fmt::print("not compared: {}\n", status.message());
  EXPECT_TRUE(lacks || status.ok()) << status.message();
  if (!status.ok())
    return std::nullopt;
  return outputs;
}

} // namespace dlc::test
