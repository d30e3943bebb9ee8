// SPDX-License-Identifier: Apache-2.0
// How long a collective takes: a model of links, not a measurement.
//
// The form is that of NCCL's tuner (src/graph/tuning.cc of NCCL): a
// latency that grows with the steps of an algorithm, and bytes over a
// bandwidth; of the algorithms and protocols the fastest counts.
//   ring          2(n-1) steps, 2(n-1)/n of the bytes through every link;
//   several
//                 rings, so that all cards of a node carry a share
//   tree          2(g-1 + log2(nodes)) steps, twice the bytes
//   hierarchical  reduce-scatter within each node, a ring across nodes by each
//                 of its g GPUs with 1/g of the bytes, all-gather within
// for n ranks, g of them a node.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string_view>

namespace dlc::forecast {

// Bytes a second that a rank sends, and at once receives: to the next of its
// node, and by its own network card.
struct Network {
  int64_t node = 8; // ranks of a node
  double inside = 0, across = 0;
  // Seconds of a message between processes by sockets, in place of NCCL's
  // latencies; 0: those.
  double socketLatency = 0;
  // Of the ranks: the standard deviation of a step's compute time, as a share
  // of it; samples a second that a node prepares, 0: enough.
  double jitter = 0, input = 0;
};

struct Collective {
  double seconds = 0;
  std::string_view algorithm; // "ring", ...; empty for one rank
};

// Code::Usage unless all ranks are in one node, or fill nodes, and groups of so
// many consecutive ranks divide them and nodes, or are of whole nodes; 0: none.
Status checkRanks(const Network &network, int64_t ranks, int64_t group = 0);
// Of the ranks with one place in each group.
Network amongGroups(const Network &network, int64_t group);

Collective allReduce(const Network &network, int64_t ranks, double bytes);
// A reduce-scatter or an all-gather of so many bytes in all.
Collective scatterOrGather(const Network &network, int64_t ranks, double bytes);

// A GPU's link within its node, bytes a second in a direction, of data sheets:
// NVLink where it has one, else PCIe 4.0. 0 for an unknown name.
double linkOf(std::string_view gpu);

// "400Gbps", "450GB/s": bits or bytes a second, as bytes. The error (Usage)
// has no context.
Result<double> parseBandwidth(std::string_view text);

} // namespace dlc::forecast
