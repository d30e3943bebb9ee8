// SPDX-License-Identifier: Apache-2.0
// What the graphs of cudnn-frontend share. Only for Cudnn.cpp.
#pragma once

#include "runtime/device/commands/Checks.h"

#include <functional>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace dlc {

namespace fe = cudnn_frontend;

// A graph whose plans can be serialised and restored. The frontend supports
// this only with a JSON library, which would double the compile time of this.
class PlanGraph : public fe::graph::Graph {
public:
  // Empty if the library does not support it, or the plan has no such engine.
  std::string textOf(int64_t plan) const {
    try {
      return plans.execution_plans[static_cast<size_t>(plan)]
          ->getJsonRepresentation();
    } catch (const std::exception &) {
      return "";
    }
  }
  fe::error_t buildFrom(cudnnHandle_t handle, const std::string &text) {
    return plans.build_plans(handle, text);
  }
  // Whether a run begins with copies or memsets, by the CUDA runtime.
  bool touchesMemory() const {
    return !cuda_graph_direct_population_eligible();
  }
  void release(int64_t plan) {
    plans.execution_plans[static_cast<size_t>(plan)].reset();
  }
};

// A graph of one command, and the addresses of its tensors by their index.
class GraphBuilder {
public:
  virtual ~GraphBuilder() = default;
  // Builds the graph. Throws std::exception if the library does.
  virtual Status build() = 0;

  PlanGraph graph;
  std::unordered_map<int64_t, void *> addresses;
  // Tensors that are written, or ranges of them.
  struct Output {
    int64_t number;
    size_t index;   // of the command's output
    int64_t offset; // bytes
  };
  std::vector<Output> outputs;

protected:
  using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
  using Sizes = std::vector<int64_t>;

  // Tensors have `type`, and are computed in f32, or in f64 if `type` is f64.
  GraphBuilder(const CommandSpec &spec, plan::DType type) : spec_(spec) {
    const auto compute =
        type == plan::F64 ? fe::DataType_t::DOUBLE : fe::DataType_t::FLOAT;
    graph.set_io_data_type(typeOfCudnn(type))
        .set_intermediate_data_type(compute)
        .set_compute_data_type(compute);
  }

  static fe::DataType_t typeOfCudnn(plan::DType type) {
    switch (type) {
    case plan::F16:
      return fe::DataType_t::HALF;
    case plan::BF16:
      return fe::DataType_t::BFLOAT16;
    case plan::F64:
      return fe::DataType_t::DOUBLE;
    default:
      return fe::DataType_t::FLOAT;
    }
  }
  // `offset`: elements before the first one.
  Tensor tensor(const char *name, const Operand &operand, const Sizes &dims,
                const Sizes &strides, int64_t offset = 0) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_uid(number(operand, offset))
                            .set_data_type(typeOfCudnn(typeOf(operand)))
                            .set_dim(dims)
                            .set_stride(strides));
  }
  void output(const Tensor &t, size_t index, const Sizes &dims,
              const Sizes &strides, int64_t offset = 0) {
    const Operand &operand = spec_.outputs[index];
    outputs.push_back(
        {number(operand, offset), index, bytesBefore(operand, offset)});
    t->set_output(true)
        .set_uid(outputs.back().number)
        .set_data_type(typeOfCudnn(typeOf(operand)))
        .set_dim(dims)
        .set_stride(strides);
  }

  const CommandSpec &spec_;

private:
  static int64_t bytesBefore(const Operand &operand, int64_t offset) {
    return offset * static_cast<int64_t>(elementSize(typeOf(operand)));
  }
  int64_t number(const Operand &operand, int64_t offset) {
    const auto number = static_cast<int64_t>(addresses.size()) + 1;
    addresses[number] = operand.data + bytesBefore(operand, offset);
    return number;
  }
};

// Makes a new builder for a command that outlives it.
using MakeBuilder =
    std::function<std::unique_ptr<GraphBuilder>(const CommandSpec &spec)>;

} // namespace dlc
