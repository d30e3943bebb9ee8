// SPDX-License-Identifier: Apache-2.0
#include "ProductEpilogues.h"
#include "runtime/device/commands/Epilogue.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

class Loops {
public:
  Loops(const CommandSpec &spec, const Product &product,
        const Epilogue &epilogue)
      : p(product), e(epilogue), a(spec.inputs[0]), b(spec.inputs[1]),
        y(spec.outputs[0]) {}

  void operator()() const {
    std::vector<double> sums(
        static_cast<size_t>(e.sum == Epilogue::Sum::OfA   ? p.m
                            : e.sum == Epilogue::Sum::OfB ? p.n
                                                          : 0));
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double value = e.bias ? Elements(*e.bias)[j] : 0;
        for (int64_t k = 0; k < p.k; ++k)
          value += atA(i, k) * atB(k, j);
        if (e.kept)
          Elements(*e.kept).set(i * p.n + j, value);
        y.set(i * p.n + j, e.kept ? activate(e.activation, value) : value);
      }
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      for (int64_t k = 0; k < p.k; ++k)
        sums[i] += e.sum == Epilogue::Sum::OfA ? atA(at, k) : atB(k, at);
      Elements(*e.biasGradient).set(at, sums[i]);
    }
  }

private:
  double atA(int64_t i, int64_t k) const {
    return a[p.transA ? k * p.m + i : i * p.k + k];
  }
  double atB(int64_t k, int64_t j) const {
    return b[p.transB ? j * p.k + k : k * p.n + j];
  }

  Product p;
  Epilogue e;
  Elements a, b, y;
};

template <int kInputs, int kOutputs>
Result<std::unique_ptr<Command>> bind(CpuDevice &, const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, kInputs + hasBias, kOutputs));
  DLC_ASSIGN(Product product, productOf(spec, hasBias));
  simplify(product);
  DLC_ASSIGN(const Epilogue epilogue, epilogueOf(spec, product));
  return makeReference(Loops(spec, product, epilogue));
}

constexpr Kind kKinds[] = {{"matmul_activation", bind<2, 2>},
                           {"matmul_bias_backward", bind<2, 2>}};

} // namespace

std::span<const Kind> productEpilogues() { return kKinds; }

} // namespace dlc
