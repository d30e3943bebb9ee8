// matmul: a @ b (+ bias) by oneDNN. Its overhead is 0.4 us a call, so that
// small products need no loops of our own.
#include "runtime/device/cpu/Activation.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/plan/Attributes.h"

#include <numeric>

namespace dlc {
namespace {

using dnnl::memory;

// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]; batch
// dimensions are aligned, 1 where broadcast.
struct Product {
  Shape batchA, batchB, batchY;
  int64_t m, n, k;
  bool transA, transB;
};

int64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

Shape batchOf(const Shape &shape, size_t rank) {
  Shape batch(rank - shape.size(), 1);
  batch.insert(batch.end(), shape.begin(), shape.end() - 2);
  return batch;
}

Result<Product> productOf(const CommandSpec &spec, bool hasBias) {
  const Shape a = shapeOf(spec.inputs[0]), b = shapeOf(spec.inputs[1]);
  if (a.size() < 2 || b.size() < 2)
    return corrupt(
        spec, fmt::format("operands have ranks {} and {}, expected at least 2",
                          a.size(), b.size()));
  Product p;
  p.transA = plan::intAttribute(spec.command, "trans_a", 0);
  p.transB = plan::intAttribute(spec.command, "trans_b", 0);
  const auto row = [](const Shape &s, bool trans) {
    return trans ? s[s.size() - 1] : s[s.size() - 2];
  };
  p.m = row(a, p.transA), p.k = row(a, !p.transA), p.n = row(b, !p.transB);
  if (row(b, p.transB) != p.k)
    return corrupt(spec, fmt::format("a contracts {} elements and b {}", p.k,
                                     row(b, p.transB)));
  const size_t rank = std::max(a.size(), b.size());
  p.batchA = batchOf(a, rank), p.batchB = batchOf(b, rank);
  for (size_t i = 0; i < rank - 2; ++i) {
    if (p.batchA[i] != p.batchB[i] && p.batchA[i] != 1 && p.batchB[i] != 1)
      return corrupt(spec,
                     fmt::format("batch dimensions {} and {} do not broadcast",
                                 p.batchA[i], p.batchB[i]));
    p.batchY.push_back(p.batchA[i] == 1 ? p.batchB[i] : p.batchA[i]);
  }
  Shape y = p.batchY;
  y.insert(y.end(), {p.m, p.n});
  DLC_TRY(expectShape(spec, spec.outputs[0], y, "y"));
  if (hasBias)
    DLC_TRY(expectShape(spec, spec.inputs[2], {p.n}, "bias"));
  return p;
}

// Fewer dimensions for the library: rows of all batches are one matrix's where
// b is shared, equal batches are one.
void simplify(Product &p) {
  if (count(p.batchB) == 1 && !p.transA) {
    p.m *= count(p.batchA);
    p.batchA = p.batchB = p.batchY = {};
  } else if (p.batchA == p.batchB || count(p.batchA) == 1 ||
             count(p.batchB) == 1) {
    p.batchA = {count(p.batchA)}, p.batchB = {count(p.batchB)},
    p.batchY = {count(p.batchY)};
  }
}

// Row-major [batch..., rows, columns], stored transposed or not.
memory::desc matrix(const Shape &batch, int64_t rows, int64_t columns,
                    bool transposed, plan::DType type) {
  memory::dims dims = batch, strides(batch.size() + 2);
  dims.insert(dims.end(), {rows, columns});
  const size_t rank = dims.size();
  strides[rank - 2] = transposed ? 1 : columns;
  strides[rank - 1] = transposed ? rows : 1;
  int64_t stride = rows * columns;
  for (size_t i = rank - 2; i-- > 0; stride *= dims[i])
    strides[i] = stride;
  return {dims, onednnType(type), strides};
}

void build(OnednnCommand &command, const CommandSpec &spec, const Product &p,
           bool hasBias) {
  const auto a = matrix(p.batchA, p.m, p.k, p.transA, typeOf(spec.inputs[0]));
  const auto b = matrix(p.batchB, p.k, p.n, p.transB, typeOf(spec.inputs[1]));
  const auto y = matrix(p.batchY, p.m, p.n, false, typeOf(spec.outputs[0]));
  const auto bias = hasBias ? matrix(Shape(p.batchY.size(), 1), 1, p.n, false,
                                     typeOf(spec.inputs[2]))
                            : memory::desc();
  const dnnl::matmul::primitive_desc desc(onednnEngine(), a, b, bias, y,
                                          onednnEpilogue(spec));
  const memory ma = command.source(a, spec.inputs[0]),
               mb = command.source(b, spec.inputs[1]);
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

// Offset of the matrix that batch `index` of y uses in an operand with these
// batch dimensions.
int64_t matrixIndex(int64_t index, const Shape &batchY, const Shape &batch) {
  int64_t result = 0, stride = 1;
  for (size_t i = batchY.size(); i-- > 0; index /= batchY[i]) {
    result += batch[i] == 1 ? 0 : index % batchY[i] * stride;
    stride *= batch[i];
  }
  return result;
}

std::unique_ptr<Command> reference(const CommandSpec &spec, Product p,
                                   bool hasBias) {
  const Elements a(spec.inputs[0]), b(spec.inputs[1]), bias(spec.inputs.back()),
      y(spec.outputs[0]);
  return makeReference([=, activation = activationOf(spec)] {
    for (int64_t batch = 0; batch < count(p.batchY); ++batch) {
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

constexpr Kind kKinds[] = {{"matmul", bindMatmul}};

} // namespace

std::span<const Kind> matmulKinds() { return kKinds; }

} // namespace dlc
