// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/graph/ProgramGraph.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/graph/Commands.h"
#include "runtime/plan/graph/LastWriters.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

namespace dlc::plan {
namespace {

using Node = ProgramGraph::Node;
using Kind = ProgramGraph::Kind;
using Section = ProgramGraph::Part;

std::string typeText(const TensorType &type) {
  const auto dtype = dtypeOf(type.dtype());
  return dtype ? std::string(dlc::nameOf(*dtype)) : "";
}

std::string shapeText(const TensorType &type) {
  return fmt::format("[{}]", fmt::join(type.shape(), ", "));
}

class PlanGraph {
public:
  PlanGraph(const Plan &plan, const Program &program)
      : plan_(plan), program_(program),
        writers_(static_cast<size_t>(plan.regions_size())),
        states_(writers_.size()) {
    for (int s = 0; s < plan.states_size(); ++s) {
      const State &state = plan.states(s);
      states_[state.region()].emplace(state.offset(), s);
    }
  }

  ProgramGraph build() {
    for (const Port &port : program_.inputs()) {
      const Buffer &b = bufferAt(port.buffer());
      write(b, add({Kind::Input, Section::Forward, port.name(), "input",
                    typeText(b.type()), shapeText(b.type()), ""}));
    }
    for (const Command &command : program_.commands())
      addCommand(command);
    for (const Port &port : program_.outputs()) {
      const Buffer &b = bufferAt(port.buffer());
      const std::set<int> from = read(b);
      link(from,
           add({Kind::Output, Section::Forward, port.name(), "output",
                typeText(b.type()), shapeText(b.type()), ""}),
           b.type());
    }
    setParts();
    return std::move(graph_);
  }

private:
  const Buffer &bufferAt(uint32_t id) const {
    return program_.buffers(static_cast<int>(id));
  }
  int add(Node node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  static uint64_t endOf(const Buffer &b) {
    return b.offset() + bytesOf(b.type()).value_or(0);
  }
  void write(const Buffer &b, int node) {
    writers_[b.region()].write(b.offset(), endOf(b), node);
  }

  // Who wrote what is read; states that have not been written yet become nodes.
  std::set<int> read(const Buffer &b) {
    std::set<int> from;
    for (const auto &[begin, s] : statesIn(b))
      if (!touched_.contains(s)) {
        const State &state = plan_.states(s);
        touched_.insert(s);
        const int node =
            add({Kind::State, Section::Forward, state.name(), state.role(),
                 typeText(state.type()), shapeText(state.type()), ""});
        writers_[b.region()].writeGaps(
            begin, begin + bytesOf(state.type()).value_or(0), node);
      }
    writers_[b.region()].read(b.offset(), endOf(b), from);
    return from;
  }
  std::map<uint64_t, int> statesIn(const Buffer &b) const {
    const std::map<uint64_t, int> &all = states_[b.region()];
    auto at = all.upper_bound(b.offset());
    if (at != all.begin())
      --at;
    std::map<uint64_t, int> found;
    for (; at != all.end() && at->first < endOf(b); ++at)
      if (at->first + bytesOf(plan_.states(at->second).type()).value_or(0) >
          b.offset())
        found.insert(*at);
    return found;
  }

  void link(const std::set<int> &from, int to, const TensorType &type) {
    for (const int node : from) {
      // A range that is read may cover several states.
      const Node &n = graph_.nodes[static_cast<size_t>(node)];
      edges_.try_emplace({node, to},
                         n.kind == Kind::State
                             ? n.type + " " + n.shape
                             : typeText(type) + " " + shapeText(type));
    }
  }

  void addCommand(const Command &command) {
    std::vector<std::pair<std::set<int>, const TensorType *>> reads;
    for (const uint32_t id : command.inputs())
      reads.emplace_back(read(bufferAt(id)), &bufferAt(id).type());
    Node node;
    node.name = command.label();
    node.op = command.kind();
    node.by = command.kind() == "kernel" ? "generated" : "library";
    const TensorType *computes = nullptr;
    if (command.outputs_size() > 0) {
      computes = &bufferAt(command.outputs(0)).type();
      node.shape = shapeText(*computes);
    }
    if (command.kind() != "kernel" && !reads.empty() &&
        isFloating(*reads.front().second))
      computes = reads.front().second;
    node.type = computes ? typeText(*computes) : "";
    const int at = add(std::move(node));
    for (const auto &[from, type] : reads)
      link(from, at, *type);
    for (const uint32_t id : command.outputs()) {
      const Buffer &b = bufferAt(id);
      write(b, at);
      for (const auto &[begin, s] : statesIn(b)) {
        touched_.insert(s);
        updates_.insert(at);
      }
    }
  }

  // The forward part of a step is what its loss is computed from.
  void setParts() {
    for (const auto &[ends, label] : edges_) {
      graph_.edges.push_back({ends.first, ends.second, label});
      successors_[ends.first].push_back(ends.second);
    }
    const std::string_view kind = kindOf(program_);
    if (kind != kTrain && kind != kStart && kind != "accumulate_step")
      return;
    std::vector<char> forward(graph_.nodes.size());
    for (size_t i = forward.size(); i-- > 0;) {
      Node &node = graph_.nodes[i];
      forward[i] = node.kind == Kind::Output && node.name == "loss";
      for (const int next : successors_[static_cast<int>(i)])
        forward[i] = forward[i] || forward[static_cast<size_t>(next)];
      const bool isGradient = node.kind == Kind::Op && !node.name.empty() &&
                              !updates_.contains(static_cast<int>(i));
      if (!forward[i])
        node.part = isGradient ? Section::Backward : Section::Update;
    }
  }

  const Plan &plan_;
  const Program &program_;
  std::vector<LastWriters> writers_;            // by region
  std::vector<std::map<uint64_t, int>> states_; // by region, by begin
  std::set<int> touched_;                       // states read or written
  std::set<int> updates_;                       // nodes that write states
  std::map<std::pair<int, int>, std::string> edges_;
  std::map<int, std::vector<int>> successors_;
  ProgramGraph graph_;
};

} // namespace

ProgramGraph graphOf(const Plan &plan, const Program &program) {
  return PlanGraph(plan, program).build();
}

} // namespace dlc::plan
