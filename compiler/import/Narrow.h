// SPDX-License-Identifier: Apache-2.0
// Number types that a program holds in a wider one: INT8, INT16 and UINT16 in
// i32, UINT32 and UINT64 in i64, types of 2 and 4 bits in i32, floats of 8 and
// 4 bits in f32. Their values are always those that the type has.
#pragma once
#include "compiler/import/rows/Rows.h"
#include <unordered_map>

namespace onnx {
class GraphProto;
}

namespace dlc::import {

class TypeCheck;

/// The ONNX types of values that are held in a wider type.
using NarrowTypes = std::unordered_map<std::string, int>;

/// Of the graph's inputs and initializers.
NarrowTypes narrowTypes(const onnx::GraphProto &graph);

/// After `node` has been built: notes its results of narrow types, and brings
/// them back into the type's range where its operator may leave it.
LogicalResult narrowResults(const Node &node, const TypeCheck &types,
                            NarrowTypes &narrow);

} // namespace dlc::import
