// SPDX-License-Identifier: Apache-2.0
// What every file of the code generators includes, parsed once for all of them
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "compiler/dialect/Precompiled.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/IR/Module.h"
