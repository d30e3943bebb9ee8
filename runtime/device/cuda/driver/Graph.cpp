// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Graph.h"

namespace dlc {
namespace {

class Graph final : public Command {
public:
  Graph(const GpuContext &context, CUgraph graph, CUgraphExec executable)
      : context_(context), graph_(graph), executable_(executable) {}
  ~Graph() override {
    context_.driver().cuGraphExecDestroy(executable_);
    context_.driver().cuGraphDestroy(graph_);
  }

  Status enqueue() override {
    return context_.check(
        context_.driver().cuGraphLaunch(executable_, context_.compute()),
        "cuGraphLaunch");
  }

private:
  const GpuContext &context_;
  CUgraph graph_;
  CUgraphExec executable_;
};

} // namespace

// Restricts only this thread: a watchdog may query events meanwhile.
Status beginGraph(const GpuContext &context) {
  return context.check(
      context.driver().cuStreamBeginCapture(
          context.compute(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture");
}

Result<std::unique_ptr<Command>> endGraph(const GpuContext &context) {
  const Driver &driver = context.driver();
  CUgraph graph = nullptr;
  DLC_TRY(context.check(driver.cuStreamEndCapture(context.compute(), &graph),
                        "cuStreamEndCapture"));
  CUgraphExec executable = nullptr;
  const Status status =
      context.check(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
                    "cuGraphInstantiateWithFlags");
  if (!status.ok()) {
    driver.cuGraphDestroy(graph);
    return status;
  }
  return std::make_unique<Graph>(context, graph, executable);
}

} // namespace dlc
