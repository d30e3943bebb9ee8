// SPDX-License-Identifier: Apache-2.0
// Decisions of the import about a model's tensors, with their reasons.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dlc::import {

enum class Role {
  Param,   // trained
  Buffer,  // running statistics of batch norm: updated by the step, not trained
  Constant // neither
};

/// One line of `dlc inspect`: "b.0.ln2.weight: parted from b.0.ln1.weight,
/// ...".
struct Decision {
  std::string tensor; // an initializer, or the result of a node
  std::string kind;   // parted, tied, named, constant, unfolded, restored,
                    // joined, as it is, lost, untrained, number, padding, zero
  // row, filled, fixed, kept, trained, fresh, untied, unnamed,
  // detached, straight through, one node, per sample, of a node, apart,
  // overlapping, by role, quantized
  std::string text;       // the decision and its reason
  bool warn = false;      // training may differ from the source model's
  std::string named = {}; // subject of the warning; "": the tensor
  /// Its elements are parameters of the source, grouped into other tensors:
  /// elementwise updates are the same, updates per tensor (norms, matrices,
  /// shapes) are not.
  bool regrouped = false;
  std::string_view repair = {};     // repair (repair/Repair.h), if any
  std::vector<std::string> of = {}; // parameters of the source in it
};

/// Messages about a model besides its decisions.
struct Remark {
  std::string text;
  bool warn = false;
};

struct DecisionReport {
  std::string summary;               // one line about what was restored, or ""
  std::vector<std::string> warnings; // a line for each kind of failure
};
DecisionReport report(const std::vector<Decision> &decisions);

} // namespace dlc::import
