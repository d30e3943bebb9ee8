// SPDX-License-Identifier: Apache-2.0
// Replaces operators that ONNX defines by a function body, and old forms of
// operators, by nodes of the newest opset.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>

namespace dlc::import {

/// Metadata of nodes from standard bodies: one entry per enclosing body,
/// innermost first, with the body's operator.
constexpr char kPartOf[] = "dlc.part_of";

/// The standard defines `op` of ai.onnx by a function whose body depends only
/// on attributes.
bool hasStandardBody(const std::string &op);

/// Four steps convert file.nodes to the forms that rows support. The model is
/// unchanged: new nodes are in file.made; names of values are unique; names of
/// nodes begin with that of the replaced node. Each step returns the number of
/// nodes it replaced.

/// Converts nodes to opset kNewestOpset, and sets file.opset to it.
Result<int> upgradeNodes(OnnxFile &file);
/// Replaces nodes of com.microsoft for which there is a rule by ai.onnx's.
Result<int> replaceContrib(OnnxFile &file);
/// Replaces torch's masked_scatter by a choice between x and gathered elements.
Result<int> placeByMask(OnnxFile &file);
/// Expands the standard body of operators for which `isKnown` is false. Nodes
/// of bodies are charged to the budget.
Result<int>
expandStandardBodies(OnnxFile &file,
                     const std::function<bool(const std::string &)> &isKnown);

} // namespace dlc::import
