// SPDX-License-Identifier: Apache-2.0
// runtime/plan/Memory.h: what is needed when, from commands on buffers.
#include "runtime/plan/Memory.h"

#include <gtest/gtest.h>

using namespace dlc;

namespace {

// Region 0 is scratch; a buffer of n floats at an offset.
class Program {
public:
  plan::Plan plan;
  plan::Program &program = *plan.add_programs();

  Program() {
    plan::Region &region = *plan.add_regions();
    region.set_name("scratch");
    region.set_kind(plan::Region::SCRATCH);
    region.set_bytes(512);
    program.set_name("train_step");
    program.set_scratch_bytes(512);
  }
  uint32_t buffer(uint64_t offset, int64_t n) {
    plan::Buffer &buffer = *program.add_buffers();
    buffer.set_offset(offset);
    buffer.mutable_type()->set_dtype(plan::F32);
    buffer.mutable_type()->add_shape(n);
    return program.buffers_size() - 1;
  }
  void command(const char *label, std::vector<uint32_t> inputs,
               uint32_t output) {
    plan::Command &command = *program.add_commands();
    command.set_kind("kernel");
    command.set_label(label);
    for (uint32_t id : inputs)
      command.add_inputs(id);
    command.add_outputs(output);
  }
  ProgramMemory memory() { return memoryOf(plan, program); }
};

TEST(Memory, FollowsLives) {
  Program p;
  uint32_t x = p.buffer(0, 16), a = p.buffer(64, 32), b = p.buffer(192, 1),
           c = p.buffer(64, 16), view = p.buffer(64, 8);
  plan::Port &input = *p.program.add_inputs();
  input.set_name("x");
  input.set_buffer(x);
  p.command("a", {x}, a);    // 64 + 128
  p.command("b", {a, x}, b); // 64 + 128 + 64
  p.command("c", {b}, c);    // 64 + 64, in the place of a
  p.command("d", {view}, b); // reads a part of c
  ProgramMemory memory = p.memory();
  EXPECT_EQ(memory.bytes, 512);
  EXPECT_EQ(memory.live, 256);
  EXPECT_EQ(memory.peak, 1);
  EXPECT_EQ(memory.liveAt, (std::vector<uint64_t>{192, 256, 128, 128}));
  ASSERT_EQ(memory.alive.size(), 3);
  EXPECT_EQ(memory.alive[0].node, "a");
  EXPECT_EQ(memory.alive[0].bytes, 128);
  EXPECT_EQ(memory.alive[1].node, "x");
  EXPECT_EQ(memory.alive[1].from, -1);
  EXPECT_EQ(memory.alive[1].to, 1);
  EXPECT_EQ(memory.alive[2].node, "b");
}

TEST(Memory, KeepsOutputsToTheEnd) {
  Program p;
  uint32_t y = p.buffer(0, 16), a = p.buffer(64, 16), b = p.buffer(128, 16);
  p.program.add_outputs()->set_buffer(y);
  p.command("y", {}, y);
  p.command("a", {}, a);
  p.command("b", {a}, b);
  EXPECT_EQ(p.memory().live, 192);
  EXPECT_EQ(p.memory().peak, 2);
}

TEST(Memory, WritingOverAnOperandIsOneTensor) {
  Program p;
  uint32_t a = p.buffer(0, 16);
  p.command("a", {}, a);
  p.command("b", {a}, a);
  EXPECT_EQ(p.memory().live, 64);
}

// It is not the device's, and neither is it counted as such.
TEST(Memory, ShowsWhatIsOnTheHost) {
  Program p;
  plan::Region &host = *p.plan.add_regions();
  host.set_name("host");
  host.set_kind(plan::Region::HOST);
  host.set_bytes(1 << 20);
  plan::Command &command = *p.program.add_commands();
  command.set_kind("offload");
  command.set_bytes(4 << 20);
  EXPECT_EQ(totalBytes(p.plan), 512u);
  EXPECT_EQ(hostBytes(p.plan), 1u << 20);
  const std::string table = memoryTable(p.plan, 1);
  EXPECT_NE(table.find("on the host      1.00 MiB  pinned, not counted: 1 "
                       "tensors of 2.00 MiB are copied there and back"),
            std::string::npos)
      << table;
}

TEST(Memory, TableNamesNodes) {
  Program p;
  plan::State &state = *p.plan.add_states();
  state.set_role("moment");
  state.mutable_type()->set_dtype(plan::F32);
  state.mutable_type()->add_shape(1 << 20);
  p.command("/conv1/Conv", {}, p.buffer(0, 16));
  p.command("/relu/Relu", {}, p.buffer(64, 4));
  std::string table = memoryTable(p.plan, 1);
  EXPECT_NE(table.find("moment         4.00 MiB"), std::string::npos) << table;
  EXPECT_NE(table.find("f32 [16]"), std::string::npos) << table;
  EXPECT_NE(table.find("/conv1/Conv"), std::string::npos) << table;
}

} // namespace
