#include "compiler/target/cpu/Cpu.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"

#include <limits>

using namespace mlir;

namespace dlc {
namespace {

/// Nothing is chosen by predicted times on a CPU: who computes what is fixed.
class Cpu final : public Target {
public:
  explicit Cpu(std::string cpu) : cpu(std::move(cpu)) {}

  StringRef name() const override { return "cpu"; }
  LoweringTraits lowering() const override { return {}; }

  /// Products and softmax keep the scores, and compute less.
  bool prefersAttention() const override { return false; }
  std::optional<std::string> whyNoAttention(By, RankedTensorType,
                                            const ir::AttentionDims &,
                                            bool) const override {
    return "a CPU computes it as products and softmax";
  }
  void fitCall(ir::AttentionOp) const override {}
  std::optional<std::string> whyNoNormCall(Operation *) const override {
    return std::nullopt;
  }

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
  std::string cpu;
};

} // namespace

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options) {
  return std::make_shared<Cpu>(options.cpu);
}

void addCpuOptions(OptionTable &table, TargetOptions &o) {
  table
      .text("model.cpu", o.cpu, "NAME",
            "the CPU that kernels are made for; native is this one")
      .only("model.target", {"cpu"});
}

} // namespace dlc
