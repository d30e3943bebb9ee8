// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cublaslt/ProductApart.h"
#include "runtime/base/process/Log.h"
#include "runtime/device/cuda/Kinds.h"

#include <cstring>
#include <mutex>

namespace dlc {
namespace {

// A product that the library has no algorithm for together with the sum over
// rows that comes with it: the product without it, then a row of ones times the
// rows. No gradient of an activation is taken apart: that would want a kernel.
class Apart final : public Command {
public:
  static Result<std::unique_ptr<Command>>
  bind(CudaDevice &device, const CommandSpec &spec, const Epilogue &epilogue) {
    std::unique_ptr<Apart> apart(new Apart);
    DLC_TRY(apart->open(device, spec, epilogue));
    return std::unique_ptr<Command>(std::move(apart));
  }
  Status enqueue() override {
    DLC_TRY(product_->enqueue());
    return sum_->enqueue();
  }

private:
  Status open(CudaDevice &device, const CommandSpec &spec, const Epilogue &e) {
    plain_ = spec.command;
    if (e.sum != Epilogue::Sum::OfResult)
      plain_.set_kind("matmul");
    productIn_ = {spec.inputs.begin(), spec.inputs.end()};
    productOut_ = {spec.outputs[0]};
    const CommandSpec product{plain_, productIn_, productOut_};
    DLC_ASSIGN(product_, device.bind(product));
    const Operand &rows = e.sum == Epilogue::Sum::OfA   ? spec.inputs[0]
                          : e.sum == Epilogue::Sum::OfB ? spec.inputs[1]
                                                        : spec.outputs[0];
    return openSum(device, rows, *e.biasGradient);
  }
  Status openSum(CudaDevice &device, const Operand &rows,
                 const Operand &result) {
    const Shape shape = shapeOf(rows);
    const int64_t columns = shape.back(),
                  count = columns ? countOf(shape) / columns : 0;
    const auto addType = [&](plan::TensorType &type, int64_t m, int64_t n) {
      type.set_dtype(typeOf(rows));
      type.add_shape(m);
      type.add_shape(n);
    };
    addType(onesType_, 1, count);
    addType(rowsType_, count, columns);
    addType(sumType_, 1, columns);
    DLC_ASSIGN(const CUdeviceptr ones, onesOn(device, typeOf(rows), count));
    summing_.set_kind("matmul");
    summing_.set_label(plain_.label());
    sumIn_ = {{reinterpret_cast<std::byte *>(ones), &onesType_},
              {rows.data, &rowsType_}};
    sumOut_ = {{result.data, &sumType_}};
    const CommandSpec sum{summing_, sumIn_, sumOut_};
    DLC_ASSIGN(sum_, device.bind(sum));
    return {};
  }
  static Result<CUdeviceptr> onesOn(CudaDevice &device, plan::DType type,
                                    int64_t count) {
    const size_t size = elementSize(type);
    const float one = 1;
    const uint16_t half = type == plan::F16 ? 0x3c00 : 0x3f80;
    std::vector<std::byte> content(size * static_cast<size_t>(count));
    for (size_t at = 0; at < content.size(); at += size)
      std::memcpy(content.data() + at,
                  size == 4 ? static_cast<const void *>(&one) : &half, size);
    DLC_ASSIGN(const CUdeviceptr ones,
               device.memoryPool().reserve(content.size(), "ones for sums"));
    DLC_TRY(device.upload(reinterpret_cast<std::byte *>(ones), content.data(),
                          content.size()));
    return ones;
  }

  plan::Command plain_, summing_;
  plan::TensorType onesType_, rowsType_, sumType_;
  std::vector<Operand> productIn_, productOut_, sumIn_, sumOut_;
  std::unique_ptr<Command> product_, sum_;
};

} // namespace

Result<std::unique_ptr<Command>> bindProductApart(CudaDevice &device,
                                                  const CommandSpec &spec,
                                                  const Epilogue &epilogue,
                                                  const Status &why) {
  auto apart = Apart::bind(device, spec, epilogue);
  if (!apart.ok() && apart.status().code() == Code::Incompatible)
    return why;
  static std::once_flag once;
  if (apart.ok())
    std::call_once(once, [&] {
      info("{}: here and elsewhere the sum over rows is a product of its own",
           why.message().substr(0, why.message().rfind("; compile with")));
    });
  return apart;
}

} // namespace dlc
