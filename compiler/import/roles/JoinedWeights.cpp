// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Evidence.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <set>

namespace dlc::import {

constexpr int kJoinLooks = 128;

static bool isOfWeights(const std::string &value, const OnnxFile &file,
                        const ValueFlow &flow, int &looks) {
  static const std::set<std::string> arranging = {
      "Cast",  "Identity", "Reshape",   "Slice",
      "Split", "Squeeze",  "Transpose", "Unsqueeze"};
  if (--looks < 0)
    return false;
  if (file.weights.find(value)) // may be a Constant's, too
    return true;
  const onnx::NodeProto *maker = flow.maker(value);
  if (!maker)
    return false;
  if (maker->op_type() != "Concat")
    return arranging.count(maker->op_type()) && maker->input_size() &&
           isOfWeights(maker->input(0), file, flow, looks);
  return std::ranges::all_of(maker->input(), [&](const auto &part) {
    return isOfWeights(part, file, flow, looks);
  });
}

bool joinsWeights(const onnx::NodeProto &node, const OnnxFile &file,
                  const ValueFlow &flow) {
  int looks = kJoinLooks;
  return node.op_type() == "Concat" && node.output_size() == 1 &&
         isOfWeights(node.output(0), file, flow, looks);
}

} // namespace dlc::import
