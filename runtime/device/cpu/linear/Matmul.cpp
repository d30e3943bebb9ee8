// SPDX-License-Identifier: Apache-2.0
// matmul: a @ b (+ bias) by oneDNN. Its overhead is 0.4 us per call, so small
// products need no loops of dlc's own.
#include "runtime/device/commands/Activation.h"
#include "runtime/device/commands/Product.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

using dnnl::memory;

// Row-major [batch..., rows, columns], stored transposed or not; `padding`
// unused elements follow each row (each column, if transposed).
memory::desc matrix(const Shape &batch, int64_t rows, int64_t columns,
                    bool transposed, plan::DType type, int64_t padding = 0) {
  memory::dims dims = batch, strides(batch.size() + 2);
  dims.insert(dims.end(), {rows, columns});
  const size_t rank = dims.size();
  strides[rank - 2] = transposed ? 1 : columns + padding;
  strides[rank - 1] = transposed ? rows + padding : 1;
  int64_t stride =
      transposed ? columns * (rows + padding) : rows * (columns + padding);
  for (size_t i = rank - 2; i-- > 0; stride *= dims[i])
    strides[i] = stride;
  return {dims, onednnType(type), strides};
}

// oneDNN's AVX2 products do not pack operands where 1/m + 1/n >= 0.0038. If
// such an operand is contiguous along m or n and its rows, one per k, are a
// multiple of 2 KiB apart, they map to few sets of the L1 cache: a Zen 3
// reaches 35 to 65 GFLOP/s instead of 90. A copy with padded rows costs 0.2 ns
// per element, which must be amortised over the element's `other` products.
int64_t paddingOf(const Product &p, bool alongK, int64_t row, int64_t other) {
  constexpr int64_t kLine = 16, kFloats = 512; // of a line, of 2 KiB
  const bool packs = 1.0 / double(p.m) + 1.0 / double(p.n) < 0.0038;
  if (alongK || packs || row % kFloats || onednnHasAvx512())
    return 0;
  return other < (row % (2 * kFloats) ? 64 : 8) ? 0 : kLine;
}

void build(OnednnCommand &command, const CommandSpec &spec, const Product &p,
           bool hasBias) {
  const plan::DType typeA = typeOf(spec.inputs[0]),
                    typeB = typeOf(spec.inputs[1]);
  const auto a = matrix(p.batchA, p.m, p.k, p.transA, typeA,
                        paddingOf(p, !p.transA, p.m, p.n));
  const auto b = matrix(p.batchB, p.k, p.n, p.transB, typeB,
                        paddingOf(p, p.transB, p.n, p.m));
  const auto y = matrix(p.batchY, p.m, p.n, false, typeOf(spec.outputs[0]));
  const auto bias = hasBias ? matrix(Shape(p.batchY.size(), 1), 1, p.n, false,
                                     typeOf(spec.inputs[2]))
                            : memory::desc();
  const dnnl::matmul::primitive_desc desc(onednnEngine(), a, b, bias, y,
                                          onednnEpilogue(spec));
  const auto operand = [&](size_t i, const memory::desc &stored,
                           const memory::desc &wanted) {
    return command.input(command.source(stored, spec.inputs[i]), wanted);
  };
  const memory ma = operand(0, matrix(p.batchA, p.m, p.k, p.transA, typeA), a),
               mb = operand(1, matrix(p.batchB, p.k, p.n, p.transB, typeB), b);
  const memory my = command.result(y, spec.outputs[0]);
  if (hasBias)
    command.add(dnnl::matmul(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, ma},
                 {DNNL_ARG_WEIGHTS, mb},
                 {DNNL_ARG_BIAS, command.source(bias, spec.inputs[2])},
                 {DNNL_ARG_DST, my}});
  else
    command.add(
        dnnl::matmul(desc), desc.scratchpad_desc(),
        {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, my}});
}

std::unique_ptr<Command> reference(const CommandSpec &spec, Product p,
                                   bool hasBias) {
  const Elements a(spec.inputs[0]), b(spec.inputs[1]), bias(spec.inputs.back()),
      y(spec.outputs[0]);
  return makeReference([=, activation = activationOf(spec)] {
    for (int64_t batch = 0; batch < countOf(p.batchY); ++batch) {
      const int64_t a0 = matrixIndex(batch, p.batchY, p.batchA) * p.m * p.k;
      const int64_t b0 = matrixIndex(batch, p.batchY, p.batchB) * p.k * p.n;
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = hasBias ? bias[j] : 0;
          for (int64_t k = 0; k < p.k; ++k)
            sum += a[a0 + (p.transA ? k * p.m + i : i * p.k + k)] *
                   b[b0 + (p.transB ? j * p.k + k : k * p.n + j)];
          y.set((batch * p.m + i) * p.n + j, activate(activation, sum));
        }
    }
  });
}

Result<std::unique_ptr<Command>> bindMatmul(CpuDevice &device,
                                            const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, 2 + hasBias, 1));
  DLC_TRY(expectFloats(spec));
  auto product = productOf(spec, hasBias);
  if (!product)
    return product.status();
  if (wantsReference(spec))
    return reference(spec, *product, hasBias);
  simplify(*product);
  return buildOnednn(device, spec, [&](OnednnCommand &command) {
    build(command, spec, *product, hasBias);
  });
}

constexpr Kind kMatmulKinds[] = {{"matmul", bindMatmul}};

} // namespace

std::span<const Kind> matmulKinds() { return kMatmulKinds; }

} // namespace dlc
