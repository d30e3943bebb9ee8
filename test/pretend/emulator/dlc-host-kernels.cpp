// SPDX-License-Identifier: Apache-2.0
// dlc-host-kernels: the kernels of an exec module as a library with which the
// stand-in driver runs them (DLC_STANDIN_KERNELS).
//   dlc-host-kernels x.mlir x.so [SM]
#include "HostKernels.h"

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cstdio>

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: dlc-host-kernels MODULE LIBRARY [SM]\n");
    return 2;
  }
  mlir::MLIRContext context;
  context.loadDialect<dlc::ir::DlcDialect, dlc::exec::ExecDialect,
                      mlir::func::FuncDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  std::string error =
      dlc::test::writeHostKernels(*module, argc > 3 ? argv[3] : "90", argv[2]);
  if (!error.empty())
    std::fprintf(stderr, "%s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
