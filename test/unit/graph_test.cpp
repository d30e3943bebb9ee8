// SPDX-License-Identifier: Apache-2.0
// runtime/plan/graph: who reads what of whom, by ranges of memory.
#include "runtime/plan/graph/LastWriters.h"
#include "runtime/plan/graph/ProgramGraph.h"
#include "test/unit/TinyModel.h"

#include <gtest/gtest.h>

#include <random>

using namespace dlc;
using namespace dlc::test;
using plan::ProgramGraph;

namespace {

// A byte at a time.
TEST(LastWriters, AgreeWithPlainLoops) {
  std::mt19937 random(1);
  constexpr size_t kBytes = 40;
  for (int round = 0; round < 200; ++round) {
    plan::LastWriters writers;
    std::vector<int> plain(kBytes, -1);
    for (int who = 0; who < 30; ++who) {
      size_t begin = random() % kBytes, end = random() % (kBytes + 1);
      if (begin > end)
        std::swap(begin, end);
      std::set<int> expected, found;
      for (size_t i = begin; i < end; ++i)
        if (plain[i] >= 0)
          expected.insert(plain[i]);
      writers.read(begin, end, found);
      ASSERT_EQ(found, expected) << begin << " to " << end;
      const bool gaps = random() % 3 == 0;
      if (gaps)
        writers.writeGaps(begin, end, who);
      else
        writers.write(begin, end, who);
      for (size_t i = begin; i < end; ++i)
        if (!gaps || plain[i] < 0)
          plain[i] = who;
    }
  }
}

std::vector<std::string> edgesOf(const ProgramGraph &graph) {
  std::vector<std::string> edges;
  for (const auto &[from, to, label] : graph.edges)
    edges.push_back(graph.nodes[size_t(from)].name + " > " +
                    graph.nodes[size_t(to)].name + ": " + label);
  std::sort(edges.begin(), edges.end());
  return edges;
}

using Lines = std::vector<std::string>;

TEST(ProgramGraph, AReadMayBeginInTheMiddleOfWhatWasWritten) {
  PlanBuilder b;
  plan::Program &program = b.program("predict");
  const uint32_t x = b.scratch(program, plan::F32, {4});
  b.port(*program.mutable_inputs(), "x", x);
  const uint64_t place = b.place(2, 1024);
  const uint32_t left = b.buffer(program, 2, place, plan::F32, {4});
  const uint32_t right = b.buffer(program, 2, place + 16, plan::F32, {4});
  const uint32_t both = b.buffer(program, 2, place, plan::F32, {8});
  const uint32_t middle = b.buffer(program, 2, place + 8, plan::F32, {4});
  const uint32_t y = b.scratch(program, plan::BF16, {4});
  b.command(program, "copy", {x}, {left});
  b.command(program, "copy", {x}, {right});
  b.command(program, "add", {middle}, {y});
  b.command(program, "relu", {both}, {both});
  b.command(program, "add", {right}, {y});
  b.port(*program.mutable_outputs(), "y", y);
  EXPECT_EQ(edgesOf(plan::graphOf(b.plan, program)),
            Lines({"add5 > y: bf16 [4]", "copy1 > add3: f32 [4]",
                   "copy1 > relu4: f32 [8]", "copy2 > add3: f32 [4]",
                   "copy2 > relu4: f32 [8]", "relu4 > add5: f32 [4]",
                   "x > copy1: f32 [4]", "x > copy2: f32 [4]"}));
}

TEST(ProgramGraph, OfTheTinyModelsStep) {
  const plan::Plan plan = tinyPlan(2);
  const ProgramGraph graph = plan::graphOf(plan, plan.programs(0));
  const Lines edges = edgesOf(graph);
  const auto has = [&](const std::string &edge) {
    return std::find(edges.begin(), edges.end(), edge) != edges.end();
  };
  EXPECT_TRUE(has("input > matmul1: f32 [2, 4]")) << edges[0];
  EXPECT_TRUE(has("w > matmul4: f32 [4]"));
  EXPECT_TRUE(has("wait3 > matmul4: f32 [1, 4]"));
  EXPECT_TRUE(has("copy5 > matmul6: f32 [1, 4]")); // not from state w any more
  EXPECT_FALSE(has("w > matmul6: f32 [4]"));
  for (const auto &[from, to, label] : graph.edges)
    EXPECT_LT(from, to);
  for (const ProgramGraph::Node &node : graph.nodes)
    EXPECT_EQ(node.part,
              node.name == "lr" || node.name == "rate" || node.name == "y"
                  ? ProgramGraph::Part::Update
                  : ProgramGraph::Part::Forward)
        << node.name; // its loss is that of the moved parameter
}

TEST(ProgramGraph, TellsForwardFromBackwardAndUpdate) {
  PlanBuilder b;
  const uint64_t w = b.state("w", "param", {4});
  plan::Program &program = b.program("train_step");
  const uint32_t x = b.scratch(program, plan::F32, {4}),
                 w0 = b.buffer(program, 0, w, plan::F32, {4}),
                 loss = b.scratch(program, plan::F32, {}),
                 dw = b.scratch(program, plan::F32, {4});
  b.port(*program.mutable_inputs(), "x", x);
  b.command(program, "forward", {x, w0}, {loss});
  b.command(program, "backward", {x, w0}, {dw});
  b.command(program, "sgd", {w0, dw}, {w0});
  b.port(*program.mutable_outputs(), "loss", loss);
  std::map<std::string, ProgramGraph::Part> parts;
  for (const auto &node : plan::graphOf(b.plan, program).nodes)
    parts[node.name] = node.part;
  using Part = ProgramGraph::Part;
  EXPECT_EQ(parts, (std::map<std::string, Part>{{"x", Part::Forward},
                                                {"w", Part::Forward},
                                                {"forward1", Part::Forward},
                                                {"loss", Part::Forward},
                                                {"backward2", Part::Backward},
                                                {"sgd3", Part::Update}}));
}

} // namespace
