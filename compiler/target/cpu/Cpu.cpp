// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/Cpu.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/target/cpu/ConvWays.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"

#include <limits>

using namespace mlir;

namespace dlc {
namespace {

/// The runtime's batch norm sees this rank's batch alone.
bool isOfAllRanks(Operation *op) { return op->hasAttr(ir::kNormBucket); }

/// Who computes what is fixed on a CPU, but for convolutions.
class Cpu final : public Target {
public:
  explicit Cpu(const TargetOptions &options)
      : cpu(options.cpu), convError(options.convError) {}

  StringRef name() const override { return "cpu"; }
  LoweringTraits lowering() const override { return {}; }

  bool chooses(StringRef row) const override { return row == "conv"; }
  Ways waysOf(ir::PlaceableInterface op) const override {
    if (isa<ir::AttentionOp, ir::AttentionBackwardOp>(op))
      return attention();
    if (op.placedAs() == "conv")
      return waysOfConv(op, convError == "fast");
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
  /// Products and softmax keep the scores, and compute less.
  static Ways attention() {
    const char *why = "a CPU computes it as products and softmax";
    return {{By::Decomposed}, {By::Library, why}, {By::Generated, why}};
  }

  std::string cpu, convError;
};

} // namespace

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options) {
  return std::make_shared<Cpu>(options);
}

void addCpuOptions(OptionTable &table, TargetOptions &o) {
  table
      .text("model.cpu", o.cpu, "NAME",
            "CPU that kernels are compiled for; native: this machine's")
      .only("model.target", {"cpu"});
  table
      .choice("model.conv-error", o.convError, {"fast", "direct"},
              "rounding of 3x3 convolutions by Winograd's products on a CPU; "
              "fast: at most twice that of direct sums, five times in the "
              "filters' gradient; direct: less than theirs, twice in the "
              "gradient")
      .only("model.target", {"cpu"});
}

} // namespace dlc
