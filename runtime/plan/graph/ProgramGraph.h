// SPDX-License-Identifier: Apache-2.0
// A program as nodes and edges, for drawings.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc::plan {

struct ProgramGraph {
  // Part of a training step: computation of the loss, of gradients, of new
  // states. Other programs are all Forward.
  enum class Part { Forward, Backward, Update };
  enum class Kind { Op, State, Input, Output };

  struct Node {
    Kind kind = Kind::Op;
    Part part = Part::Forward;
    std::string name;  // of ONNX nodes, "a; b"; of a state, input or output
    std::string op;    // "conv", "kernel"; a state's role
    std::string type;  // type of its arithmetic: "f32", "bf16"
    std::string shape; // of its result: "[4, 8]"
    std::string by;    // "library", "generated", "decomposed"; empty: no
                       // choice was made, or none is needed
  };
  struct Edge {
    int from = 0, to = 0;
    std::string label; // the value read: "bf16 [4, 8]"
    bool operator==(const Edge &) const = default;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges; // unique; from < to: producers come first
};

// The graph of a program of a verified plan. Nodes are commands, states that
// are read before they are written, inputs and outputs. An edge connects the
// last command that wrote a byte to a command that reads it.
ProgramGraph graphOf(const Plan &plan, const Program &program);

} // namespace dlc::plan
