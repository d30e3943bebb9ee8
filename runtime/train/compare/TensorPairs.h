// SPDX-License-Identifier: Apache-2.0
// Which results of two programs are the same tensor of the model.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace dlc {

// A result of a command.
struct ResultPlace {
  int command = 0, output = 0;
  auto operator<=>(const ResultPlace &) const = default;
};

struct ResultPair {
  ResultPlace a, b;
};

// Results of floats that both programs compute of the same nodes, on the same
// side of the loss, with the same dimensions in some order. Those that are
// states have none: one command may update many, in an order of its plan's.
struct ResultPairs {
  // Both have as many by the same nodes and operations: the first of one is the
  // first of the other, and so on.
  std::vector<ResultPair> certain; // in the order of a
  // Where they fuse or round differently: of a result of b, those of a that
  // share a node with it; which of them it is, if any, its values say.
  std::map<ResultPlace, std::vector<ResultPlace>> possible;
  int resultsA = 0, resultsB = 0; // all of floats; collectives have none
};

// The names of nodes in a command's label, "conv1; relu1".
std::vector<std::string> nodesOfLabel(const std::string &label);

ResultPairs pairResults(const plan::Plan &planA, const plan::Program &a,
                        const plan::Plan &planB, const plan::Program &b);

} // namespace dlc
