// SPDX-License-Identifier: Apache-2.0
// How long a collective takes: a model of links, not a measurement.
//
// The form is that of NCCL's tuner (src/graph/tuning.cc of NCCL): a
// latency that grows with the steps of an algorithm, and bytes over a
// bandwidth; of the algorithms and protocols the fastest counts.
//   ring          2(n-1) steps, 2(n-1)/n of the bytes through every link; by
//                 several rings all cards of a node carry a share
//   tree          2(g-1 + log2(nodes)) steps, twice the bytes
//   nvls          the node's switch adds (NVLink SHARP): each GPU sends the
//                 bytes once and receives them once, both at the same time
//   nvls-tree     the same in each node, with 2 log2(nodes) steps between them
//   hierarchical  reduce-scatter within each node, a ring across nodes by each
//                 of its g GPUs with 1/g of the bytes, all-gather within
// for n ranks, g of them a node.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string_view>

namespace dlc::forecast {

// Bytes per second that a rank can send while it receives as many: to its
// neighbour in the node, and through its network card.
struct Network {
  int64_t node = 8; // ranks per node
  double inside = 0, across = 0;
  // Latency in seconds of a message between processes over sockets; 0: NCCL's
  // latencies are used.
  double socketLatency = 0;
  // jitter: standard deviation of a step's compute time, relative to it. input:
  // samples per second that a node prepares; 0: unlimited.
  double jitter = 0, input = 0;
  // What a node's switch that adds reaches of the links; 0: there is none.
  double nvls = 0;
};

struct Collective {
  double seconds = 0;
  std::string_view algorithm; // "ring", ...; empty for one rank
};

// Code::Usage unless all ranks are in one node, or fill nodes, and groups of
// `group` consecutive ranks divide both the ranks and a node, or consist of
// whole nodes; 0: no groups.
Status checkRanks(const Network &network, int64_t ranks, int64_t group = 0);
// The network between ranks with the same index in their groups.
Network amongGroups(const Network &network, int64_t group);

Collective allReduce(const Network &network, int64_t ranks, double bytes);
// A reduce-scatter or an all-gather of `bytes` in total.
Collective scatterOrGather(const Network &network, int64_t ranks, double bytes);

// A GPU's link within its node, bytes a second in a direction, of data sheets:
// NVLink where it has one, else PCIe 4.0; and Network's `nvls` of its switch.
// 0 for an unknown name.
struct Link {
  double bandwidth = 0, nvls = 0;
};
Link linkOf(std::string_view gpu);

// "400Gbps", "450GB/s": bits or bytes a second, as bytes. The error (Usage)
// has no context.
Result<double> parseBandwidth(std::string_view text);

} // namespace dlc::forecast
