// SPDX-License-Identifier: Apache-2.0
// dlc-gradcheck FILE...: checks every function of the files (Case.h says how
// they are written).
//   1. autodiff's gradients agree with central differences of the function
//   itself,
//   2. the decomposed step gives the same loss and gradients,
//   3. both give the numbers that the file states.
// All in f64 on the interpreter. Prints a line per function; exits with 1 when
// one fails.
#include "compiler/lower/Lower.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Gradients.h"
#include "passes/Passes.h"
#include "test/ops/Case.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace dlc::reference;

namespace {

/// Of a tensor with this many elements only some are moved.
constexpr size_t kSampled = 1000;
constexpr double kStep = 1e-5, kTolerance = 1e-6, kSameTolerance = 1e-9,
                 kHalfTolerance = 1e-7;

/// The largest difference relative to the tensor's largest element (at least
/// 1); NaN counts as infinite.
double distance(const Tensor &a, const Tensor &b) {
  if (a.shape != b.shape)
    return INFINITY;
  double scale = 1, worst = 0;
  for (double v : a.data)
    scale = std::fmax(scale, std::fabs(v));
  for (size_t i = 0; i < a.data.size(); ++i) {
    double d = std::fabs(a.data[i] - b.data[i]);
    worst = std::isnan(d) ? INFINITY : std::fmax(worst, d);
  }
  return worst / scale;
}

class Check {
public:
  explicit Check(func::FuncOp f) : test(f) {}

  bool run() {
    auto module = test.trainStep();
    PassManager autodiff(module->getContext());
    autodiff.addPass(dlc::createAutodiff());
    if (failed(autodiff.run(*module)))
      return report("autodiff failed");
    auto plain = step(*module);
    if (failed(plain))
      return report("not interpreted");
    PassManager lower(module->getContext());
    module->walk([](dlc::ir::PlaceableInterface op) {
      if (isa<dlc::ir::DecomposableInterface>(*op))
        op.setBy(dlc::ir::By::Decomposed);
    });
    lower.addNestedPass<func::FuncOp>(dlc::createDecompose());
    lower.addNestedPass<func::FuncOp>(dlc::createSplitReductions());
    lower.addPass(createCanonicalizerPass());
    lower.addPass(createCSEPass());
    if (failed(lower.run(*module)))
      return report("decomposition failed");
    auto lowered = step(*module);
    if (failed(lowered))
      return report("decomposition not interpreted");
    compareWithFile(*plain);
    if (!test.function->hasAttr("dlc.kink"))
      compareWithDifferences(*plain);
    compareDecomposed(*plain, *lowered);
    return report("");
  }

private:
  FailureOr<Outcome> step(ModuleOp module) {
    auto f = module.lookupSymbol<func::FuncOp>("train_step");
    return interpret(f, test.inputs(), test.states());
  }
  Tensor gradient(const Outcome &o, unsigned argument) {
    auto found = o.gradients.find(stateName(argument));
    return found == o.gradients.end() ? Tensor(test.arguments[argument].shape)
                                      : found->second;
  }
  void expect(double found, double tolerance, const Twine &what) {
    if (!(found <= tolerance))
      failures +=
          (" " + what + " differs by " + Twine(std::to_string(found))).str() +
          ";";
  }

  void compareWithDifferences(const Outcome &o) {
    for (unsigned a = 0; a < test.arguments.size(); ++a) {
      if (!test.isFloat(a))
        continue;
      std::vector<Tensor> at = test.arguments;
      Tensor differences = gradient(o, a);
      size_t n = at[a].data.size();
      for (size_t i = 0; i < n; i += n < kSampled ? 1 : n / 8) {
        double x = at[a].data[i];
        at[a].data[i] = x + kStep;
        auto high = test.loss(at);
        at[a].data[i] = x - kStep;
        auto low = test.loss(at);
        at[a].data[i] = x;
        differences.data[i] = (*high - *low) / (2 * kStep);
      }
      double d = distance(differences, gradient(o, a));
      worst = std::fmax(worst, d);
      expect(d, kTolerance, "gradient of argument " + Twine(a));
      ++checked;
    }
  }
  void compareDecomposed(const Outcome &o, const Outcome &lowered) {
    // Halves decompose in f32, to which constants are rounded.
    const bool hasHalf =
        llvm::any_of(test.function.getArgumentTypes(), [](Type t) {
          return dlc::ir::isHalf(getElementTypeOrSelf(t));
        });
    const double tolerance = hasHalf ? kHalfTolerance : kSameTolerance;
    double d = distance(o.results[0], lowered.results[0]);
    expect(d, tolerance, "decomposed loss");
    for (unsigned a = 0; a < test.arguments.size(); ++a)
      if (test.isFloat(a)) {
        d = std::fmax(d, distance(gradient(o, a), gradient(lowered, a)));
        expect(d, tolerance, "decomposed gradient " + Twine(a));
      }
    decomposed = d;
  }
  void compareWithFile(const Outcome &o) {
    func::FuncOp f = test.function;
    for (unsigned a = 0; a < test.arguments.size(); ++a)
      if (auto e = expected(f.getArgAttrDict(a), "dlc.gradient")) {
        expect(distance(*e, gradient(o, a)), kTolerance,
               "stated gradient of argument " + Twine(a));
        ++checked;
      }
    auto forward = interpret(f, test.arguments, {});
    for (unsigned r = 0; r < f.getNumResults(); ++r)
      if (auto e = expected(f.getResultAttrDict(r), "dlc.value")) {
        expect(distance(*e, forward->results[r]), kTolerance,
               "stated value of result " + Twine(r));
        ++checked;
      }
  }

  bool report(StringRef why) {
    failures += why;
    if (why.empty() && !checked)
      failures += " nothing to check";
    bool ok = failures.empty();
    llvm::outs() << (ok ? "ok      " : "FAILED  ")
                 << llvm::left_justify(test.function.getSymName(), 36)
                 << llvm::format("gradient %.1e  decomposed %.1e", worst,
                                 decomposed)
                 << (ok ? "" : "  ") << failures << "\n";
    return ok;
  }

  Case test;
  double worst = 0, decomposed = 0;
  int checked = 0;
  std::string failures;
};

bool checkFile(StringRef path, MLIRContext &context) {
  auto module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return false;
  bool ok = true;
  int functions = 0;
  for (auto f : module->getOps<func::FuncOp>()) {
    ok &= Check(f).run();
    ++functions;
  }
  if (!functions)
    llvm::errs() << path << ": no function to check\n";
  return ok && functions;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<dlc::ir::DlcDialect, func::FuncDialect>();
  dlc::registerGradients(registry);
  dlc::registerDecompositions(registry);
  MLIRContext context(registry);
  bool ok = argc > 1;
  for (int i = 1; i < argc; ++i)
    ok &= checkFile(argv[i], context);
  return !ok;
}
