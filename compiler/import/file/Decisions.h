// SPDX-License-Identifier: Apache-2.0
// What the import decided about a model's tensors, and why.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dlc::import {

enum class Role {
  Param,   // trained
  Buffer,  // running statistics of batch norm: moved by the step, not trained
  Constant // neither
};

/// One line of `dlc inspect`: "b.0.ln2.weight: parted from b.0.ln1.weight,
/// ...".
struct Decision {
  std::string tensor; // an initializer, or the value that a node gives
  std::string kind;   // parted, tied, named, constant, unfolded, restored,
                    // joined, as it is, lost, untrained, number, padding, zero
  // row, filled, fixed, kept, trained, fresh, by names, untied, unnamed,
  // detached, straight through, one node, per sample, of a node, apart,
  // overlapping, by role, quantized
  std::string text;       // what and why
  bool warn = false;      // it may train otherwise than the source model
  std::string named = {}; // what the warning says; "": the tensor
  /// Its elements are parameters of the source, in another tensor: updates by
  /// element are the same, those by tensor (norms, matrices, shapes) are not.
  bool regrouped = false;
  std::string_view repair = {}; // that decided it (repair/Repair.h), if one did
  std::vector<std::string> of = {}; // parameters of the source behind it
};

/// What to say of a model beside its decisions.
struct Remark {
  std::string text;
  bool warn = false;
};

struct DecisionReport {
  std::string summary; // one line of what was undone, "" if there is nothing
  std::vector<std::string> warnings; // a line for each kind of what could not
};
DecisionReport report(const std::vector<Decision> &decisions);

} // namespace dlc::import
