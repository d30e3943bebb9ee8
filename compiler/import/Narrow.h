// SPDX-License-Identifier: Apache-2.0
// Number types that a program stores in a wider type: INT8, INT16 and UINT16 in
// i32, UINT32 and UINT64 in i64, 2 and 4 bit types in i32, 8 and 4 bit floats
// in f32. Stored values are always representable in the narrow type.
#pragma once
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include <unordered_map>

namespace dlc::import {

class TypeCheck;

/// ONNX types of values that are stored in a wider type, by name.
using NarrowTypes = std::unordered_map<std::string, int>;

/// Narrow types of the graph's inputs and initializers.
NarrowTypes narrowTypes(const onnx::GraphProto &graph);

/// Called after `node` is built: records the narrow types of its results, and
/// wraps or saturates results where the operator may leave the type's range.
LogicalResult narrowResults(const Node &node, const TypeCheck &types,
                            NarrowTypes &narrow);

} // namespace dlc::import
