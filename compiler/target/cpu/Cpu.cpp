// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/Cpu.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/kernel/ConvKernel.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"

#include <limits>

using namespace mlir;

namespace dlc {
namespace {

/// The runtime's batch norm sees this rank's batch alone.
bool isOfAllRanks(Operation *op) { return op->hasAttr(ir::kNormBucket); }

/// Nothing is chosen by predicted times on a CPU: who computes what is fixed,
/// but for convolutions of few channels a group.
class Cpu final : public Target {
public:
  explicit Cpu(std::string cpu) : cpu(std::move(cpu)) {}

  StringRef name() const override { return "cpu"; }
  LoweringTraits lowering() const override { return {}; }

  bool chooses(StringRef row) const override { return row == "conv"; }
  Ways waysOf(ir::PlaceableInterface op) const override {
    if (isa<ir::AttentionOp, ir::AttentionBackwardOp>(op))
      return attention();
    if (op.placedAs() == "conv")
      return conv(op);
    if (isOfAllRanks(op))
      return {{By::Decomposed}};
    return isa<ir::LibraryInterface>(*op) ? Ways{{By::Library}}
                                          : Ways{{By::Decomposed}};
  }
  Ways waysOfAttention(const ir::AttentionDims &, Type) const override {
    return attention();
  }
  Ways waysOfEpilogue(ir::MatmulOp, Operation *, Value) const override {
    return {{By::Decomposed}};
  }
  void fitCall(ir::AttentionOp) const override {}

  double streaming(double) const override { return 0; }
  double libraryProduct(const ProductShape &, double) const override {
    return 0;
  }
  double generatedProduct(const ProductShape &, double, OperandCost,
                          OperandCost) const override {
    return std::numeric_limits<double>::infinity();
  }

  Result<CompiledKernels> generate(ModuleOp module,
                                   plan::Plan &plan) const override {
    std::string why;
    auto target = resolveCpuTarget(cpu, &why);
    if (mlir::failed(target))
      return usageError("--cpu: {}", why);
    SmallVector<char> code;
    if (mlir::failed(
            compileKernels(module, *target, CpuCodegenOptions(), code)))
      return failed("the kernels cannot be compiled");
    plan.set_cpu(target->cpu);
    for (const std::string &feature : target->features)
      plan.add_cpu_features(feature);
    CompiledKernels result;
    if (!code.empty())
      result.files["kernels.so"] = {code.begin(), code.end()};
    return result;
  }

private:
  /// oneDNN computes gradients of halves in plain loops where groups have one
  /// channel, and pads groups of few to a vector's width. GFLOP/s of it and of
  /// generated kernels, 3x3 at 28x28, one busy thread of a Xeon with AVX-512:
  ///   channels a group       2          3          4          8
  ///   f32 forward         7 /  6    10 /  6    20 /  9    31 /  9
  ///       data            5 / 13     8 /  5    17 /  8    24 /  9
  ///       filter          4 /  5    11 /  4    15 / 10    35 / 11
  ///   bf16 forward        2 /  5     2 /  2     6 /  7    14 /  7
  ///       data            2 /  6     2 /  2     5 /  6    12 /  5
  ///       filter          1 /  5     1 /  4     2 /  5    11 /  3
  /// One group of few channels has few results for vectors.
  static Ways conv(Operation *op) {
    Way ours{By::Generated, whyNoConvKernel(op)};
    if (!ours.whyNot.empty())
      return {{By::Library}, ours};
    const ConvKernel kernel = convKernel(op);
    const bool isHalfFilter = kernel.kind == ConvKernel::Filter &&
                              ir::isHalf(ir::elementType(op->getResult(0)));
    const bool isGrouped = kernel.channels > kernel.own;
    return isGrouped && kernel.planes() <= (isHalfFilter ? 4 : 2)
               ? Ways{ours, {By::Library}}
               : Ways{{By::Library}, ours};
  }
  /// Products and softmax keep the scores, and compute less.
  static Ways attention() {
    const char *why = "a CPU computes it as products and softmax";
    return {{By::Decomposed}, {By::Library, why}, {By::Generated, why}};
  }

  std::string cpu;
};

} // namespace

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options) {
  return std::make_shared<Cpu>(options.cpu);
}

void addCpuOptions(OptionTable &table, TargetOptions &o) {
  table
      .text("model.cpu", o.cpu, "NAME",
            "CPU that kernels are compiled for; native: this machine's")
      .only("model.target", {"cpu"});
}

} // namespace dlc
