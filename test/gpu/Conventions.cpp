// SPDX-License-Identifier: Apache-2.0
// Where vendors' words leave open what is computed.
#include "runtime/base/process/SharedLibrary.h"
#include "runtime/plan/Types.h"
#include "test/gpu/Trial.h"
#include "test/support/Elements.h"

#include <cudnn.h>

#include <cmath>

namespace dlc::test {
namespace {

Status checked(const char *what, cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS
             ? Status()
             : failed("{}: status {}", what, static_cast<int>(status));
}

// The running variance of the numbers 0 and 2, where it was 0 before and the
// new one counts alone: 1 of the population, 2 of the sample.
Result<float> runningVariance() {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libcudnn.so.9"}, "asked for its variance"));
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnSetStream) setStream = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnCreateTensorDescriptor) makeTensor = nullptr;
  decltype(&::cudnnSetTensor4dDescriptor) setTensor = nullptr;
  decltype(&::cudnnBatchNormalizationForwardTraining) normalize = nullptr;
  DLC_TRY(library.bind(create, "cudnnCreate", "9", "9.0"));
  DLC_TRY(library.bind(setStream, "cudnnSetStream", "9", "9.0"));
  DLC_TRY(library.bind(destroy, "cudnnDestroy", "9", "9.0"));
  DLC_TRY(library.bind(makeTensor, "cudnnCreateTensorDescriptor", "9", "9.0"));
  DLC_TRY(library.bind(setTensor, "cudnnSetTensor4dDescriptor", "9", "9.0"));
  DLC_TRY(library.bind(normalize, "cudnnBatchNormalizationForwardTraining", "9",
                       "9.0"));
  DLC_TRY(gpu().makeCurrent());
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t images = nullptr, channel = nullptr;
  DLC_TRY(checked("cudnnCreate", create(&handle)));
  DLC_TRY(
      checked("cudnnSetStream", setStream(handle, gpu().context().compute())));
  DLC_TRY(checked("images", makeTensor(&images)));
  DLC_TRY(checked("channel", makeTensor(&channel)));
  DLC_TRY(checked("images", setTensor(images, CUDNN_TENSOR_NCHW,
                                      CUDNN_DATA_FLOAT, 2, 1, 1, 1)));
  DLC_TRY(checked("channel", setTensor(channel, CUDNN_TENSOR_NCHW,
                                       CUDNN_DATA_FLOAT, 1, 1, 1, 1)));
  // x, y, scale, bias, running mean and variance, saved mean and deviation: a
  // row of this, which is zero, each.
  constexpr size_t kRow = 64;
  DLC_ASSIGN(std::byte * memory, gpu().allocate(8 * 4 * kRow, "variance"));
  const auto row = [&](size_t i) { return memory + i * 4 * kRow; };
  const float x[] = {0, 2}, one = 1, zero = 0;
  DLC_TRY(gpu().upload(row(0), x, sizeof x));
  DLC_TRY(gpu().upload(row(2), &one, sizeof one));
  DLC_TRY(gpu().synchronize());
  DLC_TRY(
      checked("cudnnBatchNormalizationForwardTraining",
              normalize(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, images,
                        row(0), images, row(1), channel, row(2), row(3), 1.0,
                        row(4), row(5), 1e-5, row(6), row(7))));
  float variance = 0;
  DLC_TRY(gpu().download(&variance, row(5), sizeof variance));
  DLC_TRY(gpu().synchronize());
  DLC_TRY(checked("cudnnDestroy", destroy(handle)));
  return variance;
}

} // namespace

Ordered runningVarianceFacts() {
  const auto variance = runningVariance();
  if (!variance)
    return {{"missing", variance.status().message()}};
  const double v = *variance;
  return {{"of_0_and_2", v},
          {"form", std::fabs(v - 1) < 1e-3   ? "biased: of the population, n"
                   : std::fabs(v - 2) < 1e-3 ? "unbiased: of the sample, n - 1"
                                             : "neither"}};
}

// x times one with a GELU behind it, against both forms.
Ordered geluFacts(plan::DType type) {
  constexpr int64_t kCount = 1024, kColumns = 8;
  Trial trial("matmul");
  trial.in(type, {kCount, kColumns});
  trial.in(type, {kColumns, kColumns});
  trial.out(type, {kCount, kColumns});
  trial.attribute("activation").set_s("gelu_tanh");
  const DType element = *plan::dtypeOf(type);
  const auto upload = [&](size_t input, auto &&value) {
    const Operand &to = trial.input(input);
    std::vector<std::byte> content(*plan::bytesOf(*to.type));
    for (uint64_t i = 0; i < content.size() / sizeOf(element); ++i)
      writeElement(element, content.data(), static_cast<int64_t>(i),
                   value(static_cast<int64_t>(i)));
    return gpu().upload(to.data, content.data(), content.size());
  };
  // Multiples of 1/128, which halves hold, once in each row; the unit matrix.
  const auto x = [](int64_t i) {
    return static_cast<double>(i / kColumns - kCount / 2) / 128;
  };
  Status status = upload(0, x);
  if (status.ok())
    status = upload(
        1, [](int64_t i) { return i / kColumns == i % kColumns ? 1.0 : 0.0; });
  auto bound = trial.bind();
  std::vector<std::byte> y(*plan::bytesOf(*trial.output(0).type));
  if (bound && status.ok())
    status = (*bound)->enqueue();
  if (bound && status.ok())
    status = gpu().download(y.data(), trial.output(0).data, y.size());
  if (!bound || !status.ok())
    return {{"missing", (bound ? status : bound.status()).message()}};
  double fromTanh = 0, fromErf = 0;
  for (int64_t i = 0; i < kCount * kColumns; ++i) {
    const double v = x(i), found = readElement(element, y.data(), i);
    const double tanh =
        v / 2 *
        (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    const double erf = v / 2 * (1 + std::erf(v * 0.7071067811865476));
    fromTanh += std::fabs(found - tanh) / (kCount * kColumns);
    fromErf += std::fabs(found - erf) / (kCount * kColumns);
  }
  return {{"from_tanh", fromTanh},
          {"from_erf", fromErf},
          {"form", fromTanh < fromErf ? "tanh" : "erf"}};
}

} // namespace dlc::test
