// SPDX-License-Identifier: Apache-2.0
// Finds results of two programs that are the same tensor of the model.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace dlc {

// Identifies a result of a command.
struct ResultPlace {
  int command = 0, output = 0;
  auto operator<=>(const ResultPlace &) const = default;
};

struct ResultPair {
  ResultPlace a, b;
};

// Floating-point results of both programs that come from the same nodes, on the
// same side of the loss, with the same dimensions in any order. States are
// excluded: one command may update several, in its plan's order.
struct ResultPairs {
  // Both programs have equally many results for the same nodes and operations,
  // which are paired in order.
  std::vector<ResultPair> certain; // in the order of a
  // Programs that fuse or round differently: for each result of b the results
  // of a that share a node; the values decide which of them matches, if any.
  std::map<ResultPlace, std::vector<ResultPlace>> possible;
  int resultsA = 0, resultsB = 0; // floating-point, without collectives
};

// The names of nodes in a command's label, such as "conv1; relu1".
std::vector<std::string> nodesOfLabel(const std::string &label);

ResultPairs pairResults(const plan::Plan &planA, const plan::Program &a,
                        const plan::Plan &planB, const plan::Program &b);

} // namespace dlc
