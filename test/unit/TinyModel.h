// SPDX-License-Identifier: Apache-2.0
// A model made by hand, for tests without the compiler. It takes x [2, 4] and
// labels y [2] (0 or 1) a step; its one parameter moves by a tenth of the sum
// of the samples (the mean over ranks of it):
//   w += 0.1 * (x[0] + x[1])        loss = sum(w)        lr = 0.25
//   eval: row_loss = sum(x[i]), row_correct = x[i][0]    predict: x + w
// It has an average ("ema/w", never moved) and, in "step", nothing.
#pragma once

#include "runtime/plan/Artifact.h"

#include "runtime/base/files/Safetensors.h"
#include "runtime/plan/plan.pb.h"
#include "test/support/PlanParts.h"

#include <string>
#include <vector>

namespace dlc::test {

class PlanBuilder : public PlanParts {
public:
  plan::Plan plan;

  PlanBuilder() {
    plan.set_version(kPlanVersion);
    plan.set_producer("test");
    plan.set_target("cpu");
    plan.set_cpu("any");
    plan.set_world_size(1);
    plan.set_batch(2);
    plan.set_loss("none");
    addRegion("state", plan::Region::STATE);
    addRegion("gradients", plan::Region::GRADIENT);
    addRegion("scratch", plan::Region::SCRATCH);
  }

  // Returns its place in region 0.
  uint64_t state(const std::string &name, const std::string &role,
                 std::vector<int64_t> shape, const std::string &of = "") {
    plan::State &state = *plan.add_states();
    state.set_name(name);
    state.set_role(role);
    state.set_of(of);
    state.set_trainable(role == "param");
    setType(*state.mutable_type(), plan::F32, shape);
    state.set_offset(place(0, 1024));
    return state.offset();
  }

  plan::Program &program(const std::string &name) {
    plan::Program &program = *plan.add_programs();
    program.set_name(name);
    return program;
  }

  // A buffer at a place, or at a new one.
  uint32_t buffer(plan::Program &program, uint32_t region, uint64_t offset,
                  plan::DType type, std::vector<int64_t> shape) {
    plan::Buffer &buffer = *program.add_buffers();
    buffer.set_region(region);
    buffer.set_offset(offset);
    setType(*buffer.mutable_type(), type, shape);
    return static_cast<uint32_t>(program.buffers_size() - 1);
  }
  uint32_t scratch(plan::Program &program, plan::DType type,
                   std::vector<int64_t> shape) {
    return buffer(program, 2, place(2, 1024), type, shape);
  }

  plan::Command &command(plan::Program &program, const std::string &kind,
                         std::vector<uint32_t> inputs,
                         std::vector<uint32_t> outputs) {
    plan::Command &command = *program.add_commands();
    command.set_kind(kind);
    command.set_label(kind + std::to_string(program.commands_size()));
    for (uint32_t id : inputs)
      command.add_inputs(id);
    for (uint32_t id : outputs)
      command.add_outputs(id);
    return command;
  }

  uint64_t place(int region, uint64_t bytes) {
    plan::Region &r = *plan.mutable_regions(region);
    uint64_t offset = r.bytes();
    r.set_bytes(offset + bytes);
    return offset;
  }

private:
  void addRegion(const std::string &name, plan::Region::Kind kind) {
    plan::Region &region = *plan.add_regions();
    region.set_name(name);
    region.set_kind(kind);
  }
  static void setType(plan::TensorType &type, plan::DType dtype,
                      const std::vector<int64_t> &shape) {
    type.set_dtype(dtype);
    for (int64_t dim : shape)
      type.add_shape(dim);
  }
};

inline plan::Plan tinyPlan(int ranks = 1, int64_t batch = 2) {
  PlanBuilder b;
  b.plan.set_world_size(static_cast<uint32_t>(ranks));
  b.plan.set_batch(batch);
  const uint64_t w = b.state("w", "param", {4});
  b.state("ema/w", "ema", {4}, "w");
  const uint64_t tenth = b.state("tenth", "const", {1, batch});
  const uint64_t ones = b.state("ones", "const", {4, 1});
  const uint64_t eye = b.state("eye", "const", {4, 4});
  const uint64_t lr = b.state("rate", "const", {});

  plan::Program &train = b.program("train_step");
  uint32_t x = b.scratch(train, plan::F32, {batch, 4});
  uint32_t y = b.scratch(train, plan::I64, {batch});
  uint32_t tenthIn = b.buffer(train, 0, tenth, plan::F32, {1, batch});
  uint32_t gradient = b.buffer(train, 1, b.place(1, 1024), plan::F32, {1, 4});
  uint32_t moved = b.scratch(train, plan::F32, {1, 4});
  uint32_t wRow = b.buffer(train, 0, w, plan::F32, {1, 4});
  uint32_t wBias = b.buffer(train, 0, w, plan::F32, {4});
  uint32_t eyeIn = b.buffer(train, 0, eye, plan::F32, {4, 4});
  uint32_t onesIn = b.buffer(train, 0, ones, plan::F32, {4, 1});
  uint64_t lossPlace = b.place(2, 1024);
  uint32_t lossMatrix = b.buffer(train, 2, lossPlace, plan::F32, {1, 1});
  uint32_t loss = b.buffer(train, 2, lossPlace, plan::F32, {});
  b.command(train, "matmul", {tenthIn, x}, {gradient});
  if (ranks > 1) {
    auto &reduce = b.command(train, "all_reduce", {gradient}, {gradient});
    b.set(reduce, "bucket", 0);
    b.set(reduce, "op", "mean");
    b.set(b.command(train, "wait", {gradient}, {gradient}), "bucket", 0);
  }
  b.set(b.command(train, "matmul", {gradient, eyeIn, wBias}, {moved}),
        "has_bias", 1);
  b.command(train, "copy", {moved}, {wRow});
  b.command(train, "matmul", {wRow, onesIn}, {lossMatrix});
  b.port(*train.mutable_inputs(), "input", x);
  b.port(*train.mutable_inputs(), "y", y, 2);
  b.port(*train.mutable_outputs(), "loss", loss);
  b.port(*train.mutable_outputs(), "lr", b.buffer(train, 0, lr, plan::F32, {}));

  plan::Program &eval = b.program("eval_step");
  x = b.scratch(eval, plan::F32, {batch, 4});
  y = b.scratch(eval, plan::I64, {batch});
  onesIn = b.buffer(eval, 0, ones, plan::F32, {4, 1});
  uint64_t rowsPlace = b.place(2, 1024), hitsPlace = b.place(2, 1024);
  uint32_t rowMatrix = b.buffer(eval, 2, rowsPlace, plan::F32, {batch, 1});
  uint32_t rows = b.buffer(eval, 2, rowsPlace, plan::F32, {batch});
  // The first column of the unit matrix, spaced out: ones with three zeros.
  uint32_t first =
      b.buffer(eval, 0, b.state("first", "const", {4, 1}), plan::F32, {4, 1});
  uint32_t hitMatrix = b.buffer(eval, 2, hitsPlace, plan::F32, {batch, 1});
  uint32_t hits = b.buffer(eval, 2, hitsPlace, plan::F32, {batch});
  b.command(eval, "matmul", {x, onesIn}, {rowMatrix});
  b.command(eval, "matmul", {x, first}, {hitMatrix});
  b.port(*eval.mutable_inputs(), "input", x);
  b.port(*eval.mutable_inputs(), "y", y, 2);
  b.port(*eval.mutable_outputs(), "row_loss", rows);
  b.port(*eval.mutable_outputs(), "row_correct", hits);

  plan::Program &predict = b.program("predict");
  x = b.scratch(predict, plan::F32, {batch, 4});
  eyeIn = b.buffer(predict, 0, eye, plan::F32, {4, 4});
  wBias = b.buffer(predict, 0, w, plan::F32, {4});
  uint32_t out = b.scratch(predict, plan::F32, {batch, 4});
  b.set(b.command(predict, "matmul", {x, eyeIn, wBias}, {out}), "has_bias", 1);
  b.port(*predict.mutable_inputs(), "input", x);
  b.port(*predict.mutable_outputs(), "logits", out);
  return b.plan;
}

// The initial state: w and ema/w as given.
inline Status writeTinyState(const std::string &path, const plan::Plan &plan,
                             float w, float average) {
  std::map<std::string, std::vector<float>> values = {
      {"w", std::vector<float>(4, w)},
      {"ema/w", std::vector<float>(4, average)},
      {"tenth", std::vector<float>(static_cast<size_t>(plan.batch()), 0.1f)},
      {"ones", {1, 1, 1, 1}},
      {"eye", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {"first", {1, 0, 0, 0}},
      {"rate", {0.25f}}};
  // Two ranks with half the batch: each sums its part, and the mean halves it.
  for (float &value : values["tenth"])
    value *= static_cast<float>(plan.world_size());
  std::vector<NamedTensor> tensors;
  for (const plan::State &state : plan.states()) {
    auto &v = values.at(state.name());
    tensors.push_back(
        {state.name(),
         DType::F32,
         {state.type().shape().begin(), state.type().shape().end()},
         reinterpret_cast<const std::byte *>(v.data()),
         v.size() * sizeof(float)});
  }
  return writeSafetensors(path, tensors);
}

inline Status writeTinyModel(const std::string &path, int ranks = 1,
                             int64_t batch = 2) {
  plan::Plan plan = tinyPlan(ranks, batch);
  DLC_ASSIGN(ArtifactWriter writer, ArtifactWriter::create(path));
  DLC_TRY(writeTinyState(writer.folder() + "/state.safetensors", plan, 0, 7));
  return writer.finish(plan, "dlc compile tiny.onnx");
}

} // namespace dlc::test
