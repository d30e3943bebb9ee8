// SPDX-License-Identifier: Apache-2.0
// What users say about who computes what.
#pragma once

#include "runtime/base/options/Pattern.h"

namespace dlc {

class OptionTable;

/// One word of --place: [REGEX:]OP=BY.
struct PlaceRule {
  std::string text;
  std::optional<Pattern> nodes; // none: all of them
  std::string op;               // a name of placeNames()
  std::string by;               // as ir::stringifyBy says

  /// Code::Usage says what was expected.
  static Result<PlaceRule> parse(const std::string &text);
};

/// What --place may call ops.
std::vector<std::string> placeNames();

/// How an op is to be computed, if the user says so.
struct Wish {
  enum Refusal { Silent, Remark, Error };
  std::string by;    // as a rule's; "any": also what has a caveat
  Refusal ifRefused; // how it is said
  std::string text;  // "--attention=library"
  std::string wayOut;
};

/// Who computes what: each member is an option, a row in Wishes.cpp.
struct Wishes {
  /// --attention=auto|library|generated|off. library: by the device's;
  /// generated: by kernels of our own; off: as products and softmax, scores
  /// kept. auto: library with --amp on a device that prefers that, where it
  /// can, else off.
  std::string attention = "auto";
  /// --matmul=auto|library|generated: who computes products of halves; auto:
  /// who is predicted to be faster.
  std::string matmul = "auto";
  /// --matmul-epilogues=auto|all|off: whether products of the library do
  /// activations and sums, too, where that is predicted to be faster; auto:
  /// without what has a caveat.
  std::string epilogues = "auto";
  /// --norm=auto|library|generated: who computes batch and layer norm. library:
  /// the library where it has an engine; auto: generated, as these kernels fuse
  /// with what stands around them.
  std::string norm = "auto";
  /// --place=[REGEX:]OP=BY,...: before all of these, for ops of the nodes that
  /// the expression is found in; the first that fits counts.
  std::vector<std::string> place;
  /// --explain-placement: a line an op, who computes it and why.
  bool explain = false;

  /// What the option for `row`, a name of placeNames(), says.
  std::optional<Wish> general(std::string_view row) const;

  void addTo(OptionTable &table);
};

} // namespace dlc
