// SPDX-License-Identifier: Apache-2.0
// The user's preferences on how ops are computed.
#pragma once

#include "runtime/base/options/Pattern.h"

namespace dlc {

class OptionTable;

/// A rule of --place: [REGEX:]OP=BY.
struct PlaceRule {
  std::string text;
  std::optional<Pattern> nodes; // unset: all nodes
  std::string op;               // a name of placeNames()
  std::string by;               // as ir::stringifyBy names it

  /// Code::Usage, with the expected form.
  static Result<PlaceRule> parse(const std::string &text);
};

/// The names of ops in --place.
std::vector<std::string> placeNames();

/// The way in which the user wants an op to be computed.
struct Wish {
  enum Refusal { Silent, Remark, Error };
  std::string by;    // as in a rule; "any": also ways with a caveat
  Refusal ifRefused; // how a refusal is reported
  std::string text;  // "--attention=library"
  std::string wayOut;
};

/// Options that choose how ops are computed; their rows are in Wishes.cpp.
struct Wishes {
  /// --attention=auto|library|generated|off. library: by the device's library;
  /// generated: by dlc's own kernels; off: as products and softmax, with the
  /// scores stored. auto: library with --amp if the device prefers it and
  /// supports the attention, else off.
  std::string attention = "auto";
  /// --matmul=auto|library|generated: how products of 16-bit floats, and on
  /// GPUs convolutions of one tap, are computed; auto: by the way with the
  /// shorter predicted time.
  std::string matmul = "auto";
  /// --matmul-epilogues=auto|all|off: whether the library's products also
  /// compute activations and sums, if that is predicted to be faster; auto:
  /// except where there is a caveat.
  std::string epilogues = "auto";
  /// --norm=auto|library|generated: how batch and layer norm are computed.
  /// library: by the library if it has an engine for it; auto: generated,
  /// because these kernels fuse with neighbouring ops.
  std::string norm = "auto";
  /// --place=[REGEX:]OP=BY,...: rules that precede all of these options, for
  /// ops of nodes whose names match; the first matching rule applies.
  std::vector<std::string> place;
  /// --explain-placement: prints for each op how it is computed and why.
  bool explain = false;

  /// The preference of the option for `row`, a name of placeNames().
  std::optional<Wish> general(std::string_view row) const;

  void addTo(OptionTable &table);
};

} // namespace dlc
