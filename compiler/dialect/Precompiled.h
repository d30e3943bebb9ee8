// SPDX-License-Identifier: Apache-2.0
// Headers that all files of the compiler include; precompiled once
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
