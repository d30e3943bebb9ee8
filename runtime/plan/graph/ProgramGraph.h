// SPDX-License-Identifier: Apache-2.0
// A program as nodes and edges, for pictures.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc::plan {

struct ProgramGraph {
  // Of a training step; other programs are all Forward. What the loss is
  // computed from; what gradients are; what states become.
  enum class Part { Forward, Backward, Update };
  enum class Kind { Op, State, Input, Output };

  struct Node {
    Kind kind = Kind::Op;
    Part part = Part::Forward;
    std::string name;  // of the ONNX nodes, "a; b"; of a state, input or output
    std::string op;    // "conv", "kernel"; a state's role
    std::string type;  // that it computes in: "f32", "bf16"
    std::string shape; // of its result: "[4, 8]"
    std::string by;    // "library", "generated", "decomposed"; empty: nobody is
                       // chosen, or nobody is needed
  };
  struct Edge {
    int from = 0, to = 0;
    std::string label; // what is read: "bf16 [4, 8]"
    bool operator==(const Edge &) const = default;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges; // each once; producers come first: from < to
};

// Of a plan that was verified and a program of it: a node a command
// (but those that may run instead of another), state that is read before it is
// written, input and output. An edge leads from each command that was the last
// to write any byte that another one reads.
ProgramGraph graphOf(const Plan &plan, const Program &program);

} // namespace dlc::plan
