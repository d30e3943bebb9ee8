// SPDX-License-Identifier: Apache-2.0
// Commands of a plan that run generated kernels: what the kernels take is held
// against what the commands give.
#include "runtime/plan/Artifact.h"
#include "test/unit/TinyModel.h"

#include <gtest/gtest.h>

#include <functional>

using namespace dlc;
using namespace dlc::test;

namespace {

// The first program's first command as a kernel of 2 inputs of 16 and 4 bytes
// and one output of 8, over 5 items.
plan::Plan withKernel(const std::function<void(plan::Plan &)> &edit) {
  plan::Plan plan = tinyPlan();
  plan::Program &program = *plan.mutable_programs(0);
  const auto buffer = [&](int64_t elements) {
    plan::Buffer &made = *program.add_buffers();
    made = program.buffers(0);
    made.set_offset(0);
    made.mutable_type()->set_dtype(plan::F32);
    made.mutable_type()->clear_shape();
    made.mutable_type()->add_shape(elements);
    return static_cast<uint32_t>(program.buffers_size() - 1);
  };
  const uint32_t four = buffer(4), one = buffer(1), two = buffer(2);
  plan::Command &command = *program.mutable_commands(0);
  command.Clear();
  command.set_kind("kernel");
  command.add_inputs(four);
  command.add_inputs(one);
  command.add_outputs(two);
  plan::Attribute &extent = *command.add_attributes();
  extent.set_name("extent");
  extent.set_i(5);
  plan::Attribute &symbol = *command.add_attributes();
  symbol.set_name("symbol");
  symbol.set_s("fused");
  plan::Kernel &kernel = *plan.add_kernels();
  kernel.set_symbol("fused");
  kernel.add_inputs(16);
  kernel.add_inputs(4);
  kernel.add_outputs(8);
  kernel.set_size(5);
  edit(plan);
  return plan;
}

TEST(Verifier, HoldsKernelCommandsToTheirKernels) {
  const auto command = [](plan::Plan &p) {
    return p.mutable_programs(0)->mutable_commands(0);
  };
  const std::vector<std::pair<std::string, std::function<void(plan::Plan &)>>>
      edits = {
          {"", [](auto &) {}},
          {"", [](auto &p) { p.clear_kernels(); }}, // of an early version
          {"has 3 inputs, its kernel 2",
           [=](auto &p) { command(p)->add_inputs(0); }},
          {"has 0 outputs, its kernel 1",
           [=](auto &p) { command(p)->clear_outputs(); }},
          {"inputs 0 has 4 bytes, its kernel takes 16",
           [=](auto &p) { command(p)->set_inputs(0, command(p)->inputs(1)); }},
          {"outputs 0 has 4 bytes, its kernel takes 8",
           [=](auto &p) { command(p)->set_outputs(0, command(p)->inputs(1)); }},
          {"extent is 6, its kernel's is 5",
           [=](auto &p) { command(p)->mutable_attributes(0)->set_i(6); }},
          {"'other' is none of the plan's",
           [=](auto &p) { command(p)->mutable_attributes(1)->set_s("other"); }},
          {"kernel 'fused' has no name or is given twice",
           [](auto &p) { *p.add_kernels() = p.kernels(0); }},
      };
  for (const auto &[word, edit] : edits) {
    const Status status = verifyPlan(withKernel(edit));
    EXPECT_EQ(status.ok(), word.empty()) << status.message();
    EXPECT_NE(status.message().find(word), std::string::npos)
        << word << ": " << status.message();
  }
}

} // namespace
