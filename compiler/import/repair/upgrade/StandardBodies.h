// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX itself defines by other operators, and old forms of
// operators: both become nodes of the newest opset.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>

namespace dlc::import {

/// A note on nodes of a standard body, once a body that they are in, the
/// innermost first: its operator.
constexpr char kPartOf[] = "dlc.part_of";

/// The standard defines `op` of ai.onnx by a function whose body depends only
/// on attributes.
bool hasStandardBody(const std::string &op);

/// Three steps give file.nodes the form that rows read. The model stays as it
/// is: new nodes are the file's, `made`; names of values are unique, those of
/// nodes begin with the name of the one they come from. Each returns how many
/// nodes it replaced.

/// The form that nodes have in opset kNewestOpset, which is the file's then.
Result<int> upgradeNodes(OnnxFile &file);
/// Nodes of ai.onnx for those of com.microsoft that rules know.
Result<int> replaceContrib(OnnxFile &file);
/// A standard body where `isKnown` does not know the operator. Nodes of bodies
/// are charged to the budget.
Result<int>
expandStandardBodies(OnnxFile &file,
                     const std::function<bool(const std::string &)> &isKnown);

} // namespace dlc::import
