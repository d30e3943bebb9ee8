// SPDX-License-Identifier: Apache-2.0
// test/codegen's Kernels on the emulated GPU: its tests judge this code
// generator, too.
#include "Emulator.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cuda/codegen/Compile.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "mlir/Parser/Parser.h"
#include "test/codegen/Kernels.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

namespace dlc::test {

struct Kernels::Gpu {
  std::unique_ptr<Emulator> emulator;
  std::map<std::string, exec::Threads> threads;

  void run(const std::string &name, const std::vector<void *> &args,
           Order order) {
    const exec::Threads &m = threads.at(name);
    std::string error = emulator->run(name, m.grid, m.block, args, order);
    EXPECT_EQ(error, "");
  }
};

/// Older CPUs stand for the oldest SM, so that both forms of bf16 are tried.
Kernels::Kernels(const std::string &text, const std::string &cpu, unsigned) {
  mlir::MLIRContext context;
  context.loadDialect<ir::DlcDialect, exec::ExecDialect>();
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  std::string why;
  auto sm = cuda::findSm(cpu == "native" ? "90" : "80", why);
  if (!parsed || failed(sm)) {
    ADD_FAILURE() << "cannot parse the module: " << why << "\n" << text;
    return;
  }
  gpu = std::make_shared<Gpu>();
  EXPECT_TRUE(mlir::succeeded(scheduleKernels(*parsed)) &&
              mlir::succeeded(cuda::mapThreads(*parsed)));
  parsed->walk([&](exec::KernelOp k) {
    if (!k.getThreads())
      return;
    const std::string name = k.getSymName().str();
    gpu->threads.emplace(name, k.getThreadsAttr().getValue());
    extents[name] = k.getScheduleAttr().getValue().extent();
  });
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto code = cuda::emitKernels(*parsed, *llvmContext);
  auto machine = cuda::createTargetMachine(*sm);
  if (!code || !machine) {
    ADD_FAILURE() << "cannot compile the module\n" << text;
    return;
  }
  cuda::optimize(*code, *machine);
  gpu->emulator =
      std::make_unique<Emulator>(std::move(llvmContext), std::move(code), why);
  EXPECT_EQ(why, "");
}

Kernels::~Kernels() = default;

void Kernels::runRaw(const std::string &name, std::vector<void *> args) {
  gpu->run(name, args, Order::Forward);
}

void Kernels::run(const std::string &name,
                  const std::vector<const Array *> &inputs,
                  const std::vector<Array *> &outputs) {
  std::vector<Guarded> in;
  for (const Array *a : inputs)
    in.emplace_back(a->bytes.data(), a->bytes.size());
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    std::vector<Guarded> out;
    for (const Array *a : outputs)
      out.emplace_back(nullptr, a->bytes.size());
    std::vector<void *> args;
    for (const auto *list : {&in, &out})
      for (const Guarded &g : *list)
        args.push_back(g.data());
    gpu->run(name, args, order);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<uint8_t> bytes(out[i].data(), out[i].data() + out[i].size());
      if (order != Order::Forward) {
        EXPECT_EQ(outputs[i]->bytes, bytes)
            << name << ": output depends on the order of threads";
      }
      outputs[i]->bytes = bytes;
    }
  }
}

} // namespace dlc::test
