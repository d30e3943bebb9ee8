// SPDX-License-Identifier: Apache-2.0
// The exec dialect: the step as commands on buffers at fixed offsets. A plan is
// the serialised form of it.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialect/Schedule.h"
#include "compiler/dialect/Threads.h"

#include "compiler/dialect/ExecDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/ExecOps.h.inc"
