// SPDX-License-Identifier: Apache-2.0
// What every file of the compiler includes, parsed once for all of them
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
