// SPDX-License-Identifier: Apache-2.0
#include "Kernels.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "mlir/Parser/Parser.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dlc::test {

Kernels::Kernels(const std::string &text, const std::string &cpu,
                 unsigned optLevel) {
  mlir::MLIRContext context;
  context.loadDialect<ir::DlcDialect, exec::ExecDialect>();
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  std::string why;
  auto target = resolveCpuTarget(cpu, &why);
  if (!parsed || failed(target)) {
    ADD_FAILURE() << "cannot parse the module: " << why << "\n" << text;
    return;
  }
  llvm::SmallVector<char> so;
  EXPECT_TRUE(mlir::succeeded(scheduleKernels(*parsed)));
  CpuCodegenOptions options;
  options.optLevel = optLevel;
  if (failed(compileKernels(*parsed, *target, options, so))) {
    ADD_FAILURE() << "cannot compile the module\n" << text;
    return;
  }
  parsed->walk([&](exec::KernelOp k) {
    extents[k.getSymName().str()] = k.getScheduleAttr().getValue().extent();
  });
  std::string path = ::testing::TempDir() + "codegen-XXXXXX";
  int file = mkstemp(path.data());
  EXPECT_EQ(write(file, so.data(), so.size()), (ssize_t)so.size());
  close(file);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library) << dlerror();
  unlink(path.c_str());
}

Kernels::~Kernels() {
  if (library)
    dlclose(library);
}

Kernels::Function Kernels::find(const std::string &name) {
  auto f = library ? (Function)dlsym(library, name.c_str()) : nullptr;
  if (!f)
    ADD_FAILURE() << "no kernel " << name;
  return f;
}

void Kernels::runRaw(const std::string &name, std::vector<void *> args) {
  if (Function f = find(name))
    f(args.data(), 0, extent(name));
}

void Kernels::run(const std::string &name,
                  const std::vector<const Array *> &inputs,
                  const std::vector<Array *> &outputs) {
  Function f = find(name);
  if (!f)
    return;
  auto arguments = [&](std::vector<Array> &into) {
    std::vector<void *> args;
    for (const Array *a : inputs)
      args.push_back((void *)a->bytes.data());
    for (Array &a : into)
      args.push_back(a.bytes.data());
    return args;
  };
  std::vector<Array> whole, parts;
  for (Array *a : outputs) {
    std::fill(a->bytes.begin(), a->bytes.end(), 0xaa);
    whole.push_back(*a);
    parts.push_back(*a);
  }
  int64_t n = extent(name);
  auto args = arguments(whole);
  f(args.data(), 0, n);
  args = arguments(parts);
  for (int64_t end = n, step = 1; end > 0;
       end -= std::min(step, end), step = step * 2 % 7 + 1)
    f(args.data(), end - std::min(step, end), end);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(whole[i].bytes, parts[i].bytes)
        << name << ": output depends on the split";
    *outputs[i] = whole[i];
  }
}

} // namespace dlc::test
