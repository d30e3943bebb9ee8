// SPDX-License-Identifier: Apache-2.0
// Headers that all files of the code generators include; precompiled once
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "compiler/dialect/Precompiled.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/IR/Module.h"
