// SPDX-License-Identifier: Apache-2.0
// Plans made by hand, for tests without the compiler.
#pragma once

#include "runtime/plan/Artifact.h"
#include "runtime/plan/plan.pb.h"
#include "test/support/PlanParts.h"

#include <string>
#include <vector>

namespace dlc::test {

using Shape = std::vector<int64_t>;

// Region 0 state, 1 gradients, 2 scratch.
class PlanBuilder : public PlanParts {
public:
  PlanBuilder() {
    plan.set_version(kPlanVersion);
    plan.set_target("cpu");
    plan.set_world_size(1);
    plan.set_batch(1);
    for (auto [name, kind] : {std::pair("state", plan::Region::STATE),
                              std::pair("gradients", plan::Region::GRADIENT),
                              std::pair("scratch", plan::Region::SCRATCH)}) {
      plan::Region &region = *plan.add_regions();
      region.set_name(name);
      region.set_kind(kind);
      region.set_bytes(4096);
    }
  }

  static plan::TensorType type(plan::DType dtype, const Shape &shape) {
    plan::TensorType result;
    result.set_dtype(dtype);
    for (int64_t dim : shape)
      result.add_shape(dim);
    return result;
  }
  void addState(const std::string &name, uint64_t offset, const Shape &shape) {
    plan::State &state = *plan.add_states();
    state.set_name(name);
    state.set_role("param");
    *state.mutable_type() = type(plan::F32, shape);
    state.set_region(0);
    state.set_offset(offset);
  }
  plan::Program &addProgram(const std::string &name) {
    plan::Program &program = *plan.add_programs();
    program.set_name(name);
    return program;
  }
  static uint32_t addBuffer(plan::Program &program, uint32_t region,
                            uint64_t offset, const Shape &shape,
                            plan::DType dtype = plan::F32) {
    plan::Buffer &buffer = *program.add_buffers();
    buffer.set_region(region);
    buffer.set_offset(offset);
    *buffer.mutable_type() = type(dtype, shape);
    return static_cast<uint32_t>(program.buffers_size()) - 1;
  }
  static plan::Command &addCommand(plan::Program &program,
                                   const std::string &kind,
                                   const std::vector<uint32_t> &inputs,
                                   const std::vector<uint32_t> &outputs) {
    plan::Command &command = *program.add_commands();
    command.set_kind(kind);
    command.set_label(kind + "_label");
    for (uint32_t id : inputs)
      command.add_inputs(id);
    for (uint32_t id : outputs)
      command.add_outputs(id);
    return command;
  }

  plan::Plan plan;
};

} // namespace dlc::test
