// SPDX-License-Identifier: Apache-2.0
// Capture of streams into graphs, with its rules, and graphs as work.
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/State.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <algorithm>
#include <utility>

namespace dlc::standin {
namespace {

std::set<const GraphExec *> executables;
std::map<CUgraph, std::shared_ptr<Nodes>> owned;

// For each node, which nodes come before it on some path.
std::vector<std::vector<bool>> ancestors(const Nodes &nodes) {
  std::vector<std::vector<bool>> before(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    before[i].resize(nodes.size());
    for (size_t parent : nodes[i].before) {
      before[i][parent] = true;
      for (size_t j = 0; j < parent; ++j)
        if (before[parent][j])
          before[i][j] = true;
    }
  }
  return before;
}

bool conflict(const Node &a, const Node &b, const void **where) {
  for (const Access &x : a.accesses)
    for (const Access &y : b.accesses) {
      const auto *p = static_cast<const std::byte *>(x.data);
      const auto *q = static_cast<const std::byte *>(y.data);
      if ((x.writes || y.writes) && p < q + y.bytes && q < p + x.bytes) {
        *where = std::max(p, q);
        return true;
      }
    }
  return false;
}

void checkRaces(const Nodes &nodes,
                const std::vector<std::vector<bool>> &before) {
  const void *where = nullptr;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!before[i][j] && conflict(nodes[i], nodes[j], &where))
        violation(CUDA_SUCCESS,
                  fmt::format("race in a graph: {} and {} touch {} and nothing "
                              "orders them",
                              nodes[j].name, nodes[i].name, placeOf(where)));
}

} // namespace

int &captures() {
  thread_local int count = 0;
  return count;
}

bool capturing() { return captures() > 0; }

CUresult checkNotCapturing(const char *call) {
  return captures() == 0
             ? CUDA_SUCCESS
             : violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                         fmt::format("{} while a stream is captured", call));
}

CUresult beginCapture(Stream *stream, bool thisThreadOnly) {
  if (!isLive(stream) || stream->capture)
    return violation(CUDA_ERROR_ILLEGAL_STATE,
                     "capture begins on a stream that is captured");
  if (!thisThreadOnly)
    return violation(CUDA_ERROR_NOT_SUPPORTED,
                     "a capture that restricts other threads");
  stream->capture = std::make_shared<Session>();
  stream->capture->origin = stream;
  stream->capture->streams.insert(stream);
  stream->tips.clear();
  ++captures();
  return CUDA_SUCCESS;
}

CUresult endCapture(Stream *stream, CUgraph *graph) {
  if (!isLive(stream) || !stream->capture || stream->capture->origin != stream)
    return violation(CUDA_ERROR_ILLEGAL_STATE,
                     "capture ends on a stream where it did not begin");
  const auto session = stream->capture;
  const std::vector<size_t> tips = stream->tips;
  for (Stream *joined : session->streams) {
    joined->capture = nullptr;
    joined->tips.clear();
  }
  session->open = false;
  --captures();
  const Nodes nodes = std::move(session->nodes); // events may keep the session
  const auto before = ancestors(nodes);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (std::none_of(tips.begin(), tips.end(),
                     [&](size_t tip) { return tip == i || before[tip][i]; }))
      return violation(
          CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
          fmt::format("capture ends, but nothing waits for {}", nodes[i].name));
  checkRaces(nodes, before);
  auto result = std::make_shared<Nodes>(nodes);
  *graph = reinterpret_cast<CUgraph>(result.get());
  owned[*graph] = std::move(result);
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraph graph, GraphExec **executable) {
  const auto nodes = owned.find(graph);
  if (nodes == owned.end())
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such graph");
  *executable = new GraphExec{nodes->second};
  executables.insert(*executable);
  return CUDA_SUCCESS;
}

size_t nodesOf(GraphExec *executable) {
  return executables.count(executable) ? executable->nodes->size() : 0;
}

CUresult runNodes(const Nodes &nodes) {
  std::vector<bool> done(nodes.size());
  for (size_t count = 0; count < nodes.size(); ++count) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!done[i] &&
          std::all_of(nodes[i].before.begin(), nodes[i].before.end(),
                      [&](size_t before) { return done[before]; }))
        ready.push_back(i);
    const size_t next = ready[choose(ready.size())];
    CUresult result = injectedInto(nodes[next].name);
    if (result == CUDA_SUCCESS)
      result = nodes[next].run();
    if (result != CUDA_SUCCESS)
      return result;
    done[next] = true;
  }
  return CUDA_SUCCESS;
}

CUresult launch(GraphExec *executable, Stream *stream) {
  if (!executables.count(executable))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such graph");
  std::vector<Access> accesses;
  for (const Node &node : *executable->nodes)
    for (const Access &access : node.accesses) {
      const Block *block = blockOf(access.data);
      if (!block)
        return violation(
            CUDA_ERROR_ILLEGAL_ADDRESS,
            fmt::format("{} of a graph has a bad address", node.name));
      accesses.push_back(access);
    }
  return enqueue(
      stream, "graph", [nodes = executable->nodes] { return runNodes(*nodes); },
      std::move(accesses));
}

CUresult destroyGraph(CUgraph graph) {
  return owned.erase(graph)
             ? CUDA_SUCCESS
             : violation(CUDA_ERROR_INVALID_HANDLE, "no such graph");
}

CUresult destroyExecutable(GraphExec *executable) {
  if (!executables.erase(executable))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such graph");
  delete executable;
  return CUDA_SUCCESS;
}

} // namespace dlc::standin
