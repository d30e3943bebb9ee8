#include "Check.h"
#include "Emulator.h"

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/codegen/cuda/Compile.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/codegen/cuda/Mapping.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <unistd.h>

namespace dlc::test {
namespace {

using Bytes = std::vector<uint8_t>;

int64_t bytesOf(mlir::Type t) { return (t.getIntOrFloatBitWidth() + 7) / 8; }

double read(mlir::Type t, const uint8_t *at) {
  auto as = [&](auto v) {
    std::memcpy(&v, at, sizeof v);
    return v;
  };
  if (t.isF32())
    return as(float());
  if (t.isF64())
    return as(double());
  if (t.isF16())
    return static_cast<double>(as(_Float16()));
  if (t.isBF16()) {
    uint32_t bits = uint32_t(as(uint16_t())) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  }
  return t.isInteger(64)   ? double(as(int64_t()))
         : t.isInteger(32) ? double(as(int32_t()))
                           : double(as(uint8_t()));
}

void write(mlir::Type t, uint8_t *at, double v) {
  auto as = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  if (t.isF32())
    as(float(v));
  else if (t.isF64())
    as(v);
  else if (t.isF16())
    as(_Float16(v));
  else if (t.isBF16()) {
    float f = float(v);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    as(uint16_t(bits >> 16));
  } else if (t.isInteger(64))
    as(int64_t(v));
  else if (t.isInteger(32))
    as(int32_t(v));
  else
    as(uint8_t(v));
}

/// Units in the last place of the type, relative.
double precision(mlir::Type t) {
  return t.isBF16() ? 0x1p-7 : t.isF16() ? 0x1p-9 : t.isF64() ? 1e-12 : 2e-5;
}

struct Argument {
  mlir::Type element;
  int64_t count;
  int64_t size() const { return count * bytesOf(element); }
};

struct Kernel {
  std::string name;
  std::vector<Argument> inputs, outputs;
  int64_t extent;
  cuda::Mapping map;
};

Argument argumentOf(mlir::Value v) {
  auto type = ir::tensorType(v);
  return {type.getElementType(), type.getNumElements()};
}

Bytes randomInput(const Argument &a, bool positive, std::mt19937 &random) {
  std::uniform_real_distribution<> real(positive ? 0.1 : -2.0, 2.0);
  Bytes bytes(a.size());
  for (int64_t i = 0; i < a.count; ++i) {
    double v = llvm::isa<mlir::FloatType>(a.element) ? real(random)
               : a.element.isInteger(1)              ? double(random() % 2)
                                                     : double(random() % 7);
    write(a.element, &bytes[i * bytesOf(a.element)], v);
  }
  return bytes;
}

/// Inputs whose last bits differ: what the outputs then change by is what
/// rounding may change them by.
void nudge(const Argument &a, uint8_t *bytes, std::mt19937 &random) {
  if (!a.element.isF32() && !a.element.isF64())
    return;
  std::uniform_real_distribution<> real(-1e-6, 1e-6);
  for (int64_t i = 0; i < a.count; ++i) {
    uint8_t *at = bytes + i * bytesOf(a.element);
    write(a.element, at, read(a.element, at) * (1 + real(random)));
  }
}

class Checker {
public:
  Checker(mlir::ModuleOp module, int64_t mostElements) : module(module) {
    module.walk([&](exec::KernelOp op) {
      std::string why;
      auto graph = KernelGraph::build(op.getBody(), why);
      if (!graph)
        return report.errors.push_back(op.getSymName().str() + ": " + why);
      Kernel k{op.getSymName().str(),
               {},
               {},
               scheduleKernel(*graph).extent,
               cuda::mapKernel(*graph)};
      for (mlir::Value v : op.getBody().getArguments())
        k.inputs.push_back(argumentOf(v));
      for (mlir::Value v : op.getBody().front().getTerminator()->getOperands())
        k.outputs.push_back(argumentOf(v));
      int64_t most = 0;
      for (const auto *list : {&k.inputs, &k.outputs})
        for (const Argument &a : *list)
          most = std::max(most, a.count);
      if (most <= mostElements)
        kernels.push_back(std::move(k));
    });
  }
  ~Checker() {
    if (library)
      dlclose(library);
  }

  CheckReport run(const std::string &sm) {
    if (compileForCpu() && compileForGpu(sm))
      for (const Kernel &k : kernels)
        for (bool positive : {true, false})
          check(k, positive);
    report.kernels = kernels.size();
    return std::move(report);
  }

private:
  bool fail(const std::string &what) {
    report.errors.push_back(what);
    return false;
  }

  bool compileForCpu() {
    auto target = resolveCpuTarget("native");
    llvm::SmallVector<char> so;
    CpuCodegenOptions options;
    options.optLevel = 1;
    if (failed(target) || failed(compileKernels(module, *target, options, so)))
      return fail("the kernels do not compile for the CPU");
    char path[] = "/tmp/dlc-emulate-XXXXXX";
    int file = mkstemp(path);
    bool written = ::write(file, so.data(), so.size()) == (ssize_t)so.size();
    close(file);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    return written && library ? true : fail("the CPU's kernels do not load");
  }

  bool compileForGpu(const std::string &number) {
    std::string why;
    auto sm = cuda::findSm(number, why);
    if (failed(sm))
      return fail(why);
    auto context = std::make_unique<llvm::LLVMContext>();
    auto code = cuda::emitKernels(module, *context);
    auto machine = cuda::createTargetMachine(*sm);
    if (!code || !machine)
      return fail("the kernels do not compile for the GPU");
    cuda::optimize(*code, *machine);
    emulator =
        std::make_unique<Emulator>(std::move(context), std::move(code), why);
    return why.empty() ? true : fail(why);
  }

  void check(const Kernel &k, bool positive) {
    std::mt19937 random(positive ? 1 : 2);
    std::vector<Guarded> inputs;
    for (const Argument &a : k.inputs) {
      Bytes bytes = randomInput(a, positive, random);
      inputs.emplace_back(bytes.data(), bytes.size());
    }
    auto outputs = [&] {
      std::vector<Guarded> made;
      for (const Argument &a : k.outputs)
        made.emplace_back(nullptr, a.size());
      return made;
    };
    auto arguments = [&](std::vector<Guarded> &to) {
      std::vector<void *> all;
      for (const Guarded &g : inputs)
        all.push_back(g.data());
      for (const Guarded &g : to)
        all.push_back(g.data());
      return all;
    };
    std::vector<Guarded> want = outputs(), got = outputs();
    auto f = reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(
        dlsym(library, k.name.c_str()));
    f(arguments(want).data(), 0, k.extent);
    for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
      std::vector<Guarded> now = outputs();
      std::string error =
          emulator->run(k.name, k.map.grid, k.map.block, arguments(now), order);
      ++report.runs;
      if (!error.empty()) {
        fail(error);
        return;
      }
      if (order == Order::Forward)
        got = std::move(now);
      else
        for (size_t i = 0; i < got.size(); ++i)
          if (std::memcmp(got[i].data(), now[i].data(), got[i].size())) {
            fail(k.name + ": output " + std::to_string(i) +
                 " depends on the order of threads");
            return;
          }
    }
    std::vector<Guarded> nudged = outputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      nudge(k.inputs[i], inputs[i].data(), random);
    f(arguments(nudged).data(), 0, k.extent);
    for (size_t i = 0; i < got.size(); ++i)
      compare(k, i, want[i].data(), nudged[i].data(), got[i].data());
  }

  /// Relative to the value, or to the largest one, as sums may cancel; where a
  /// small change of the inputs is amplified, so are errors of rounding.
  void compare(const Kernel &k, size_t output, const uint8_t *want,
               const uint8_t *nudged, const uint8_t *got) {
    const Argument &a = k.outputs[output];
    double largest = 0;
    int64_t step = bytesOf(a.element);
    for (int64_t i = 0; i < a.count; ++i)
      if (double w = read(a.element, want + i * step); std::isfinite(w))
        largest = std::max(largest, std::fabs(w));
    bool exact = !llvm::isa<mlir::FloatType>(a.element);
    for (int64_t i = 0; i < a.count; ++i) {
      double w = read(a.element, want + i * step),
             g = read(a.element, got + i * step);
      if (w == g || (std::isnan(w) && std::isnan(g)))
        continue;
      double most = precision(a.element) * std::fabs(w) + 1e-5 * largest +
                    8 * std::fabs(read(a.element, nudged + i * step) - w);
      if (!exact && std::fabs(w - g) <= most)
        continue;
      fail(k.name + ": output " + std::to_string(output) + " element " +
           std::to_string(i) + " of " + std::to_string(a.count) + " is " +
           std::to_string(g) + ", the CPU's is " + std::to_string(w));
      return;
    }
  }

  mlir::ModuleOp module;
  std::vector<Kernel> kernels;
  void *library = nullptr;
  std::unique_ptr<Emulator> emulator;
  CheckReport report;
};

} // namespace

CheckReport checkKernels(const std::string &text, const std::string &sm,
                         int64_t mostElements) {
  mlir::MLIRContext context;
  context.loadDialect<ir::DlcDialect, exec::ExecDialect,
                      mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {0, 0, {"the module cannot be parsed"}};
  return Checker(*module, mostElements).run(sm);
}

} // namespace dlc::test
