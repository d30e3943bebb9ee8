// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/forecast/Network.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dlc::forecast {
namespace {

// NCCL's latencies in seconds: of a call, and of a step within a node (NVLink)
// and across nodes, by algorithm; the share of the bandwidth left by the
// protocol's flags.
struct Protocol {
  double ringCall, ringInside, ringAcross;
  double treeCall, treeInside, treeAcross;
  double ringShare, treeShare;
};
constexpr Protocol kProtocols[] = {
    // For small messages: a flag per 4 bytes.
    {6.6e-6, 0.6e-6, 2.7e-6, 6.8e-6, 0.6e-6, 5.0e-6, 0.5, 0.92 / 3.8},
    // 120 of 128 bytes are data.
    {14e-6, 1.9e-6, 4.0e-6, 14e-6, 1.25e-6, 8.5e-6, 0.92, 0.92 * 0.9375},
    {8.4e-6, 3.4e-6, 14e-6, 8.4e-6, 4.0e-6, 14e-6, 1.0, 0.92},
};
// What a tuned library reaches of a link's data sheet, and what the channels do
// by which it gives bytes to a switch: 16 of 20 GB/s at 450 GB/s, one of which
// the model leaves out.
constexpr double kOfLink = 0.8, kOfSwitch = 320.0 / 450 * 15 / 16;
// In seconds, of a switch's sum, and of a step between switches.
constexpr double kNvls = 25e-6, kNvlsAcross = 20.9e-6;

struct Shape {
  double ranks, nodes, perNode;
};

Shape shapeOf(const Network &network, int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  const double nodes =
      ranks <= network.node ? 1 : n / static_cast<double>(network.node);
  return {n, nodes, n / nodes};
}

// A ring leaves a node through one card: as many rings as cards, each with a
// share of the bytes, use all cards.
double slowest(const Network &network, const Shape &s) {
  return kOfLink * (s.nodes > 1
                        ? std::min(network.inside, network.across * s.perNode)
                        : network.inside);
}

// `rounds` = 2 for an all-reduce, 1 for half of it.
double ring(const Network &network, const Shape &s, double bytes, double rounds,
            const Protocol &p) {
  const double steps = rounds * (s.ranks - 1), far = rounds * (s.nodes - 1);
  return p.ringCall + (steps - far) * p.ringInside + far * p.ringAcross +
         rounds * (s.ranks - 1) / s.ranks * bytes /
             (slowest(network, s) * p.ringShare);
}

double tree(const Network &network, const Shape &s, double bytes,
            const Protocol &p) {
  return p.treeCall +
         2 * ((s.perNode - 1) * p.treeInside +
              std::log2(s.nodes) * p.treeAcross) +
         2 * bytes / (slowest(network, s) * p.treeShare);
}

double hierarchical(const Network &network, const Shape &s, double bytes,
                    const Protocol &p) {
  const Network within{network.node, network.inside, 0, 0},
      between{1, network.across, network.across, 0};
  const Shape node{s.perNode, 1, s.perNode}, nodes{s.nodes, s.nodes, 1};
  return 2 * ring(within, node, bytes, 1, p) +
         ring(between, nodes, bytes / s.perNode, 2, p);
}

// Both halves at once: what goes up to the switch and what comes down. Two
// nodes use their cards both ways.
double nvls(const Network &network, const Shape &s, double bytes) {
  const double inside = 2 * network.nvls * kOfSwitch * network.inside,
               across =
                   kOfLink * network.across * s.perNode * (s.nodes > 2 ? 1 : 2),
               bandwidth = s.nodes > 1 ? std::min(inside, across) : inside;
  return kNvls + 2 * std::log2(s.nodes) * kNvlsAcross +
         2 * (s.ranks - 1) / s.ranks * bytes / bandwidth;
}

void take(Collective &best, double seconds, std::string_view algorithm) {
  if (best.algorithm.empty() || seconds < best.seconds)
    best = {seconds, algorithm};
}

// A ring over sockets: full bandwidth of links, one latency per step.
Collective overSockets(const Network &network, const Shape &s, double bytes,
                       double rounds) {
  const double bandwidth =
      s.nodes > 1 ? std::min(network.inside, network.across) : network.inside;
  return {rounds * (s.ranks - 1) *
              (network.socketLatency + bytes / s.ranks / bandwidth),
          "ring"};
}

} // namespace

Status checkRanks(const Network &network, int64_t ranks, int64_t group) {
  if (ranks > network.node && ranks % network.node != 0)
    return usageError("{} ranks do not fill nodes of {}", ranks, network.node);
  if (group > 0 && ranks % group != 0)
    return usageError("--zero-group={} does not divide {} ranks", group, ranks);
  if (group > 0 && ranks > network.node && network.node % group != 0 &&
      group % network.node != 0)
    return usageError("--zero-group={} neither divides nodes of {} nor fills "
                      "them",
                      group, network.node);
  return {};
}

Network amongGroups(const Network &network, int64_t group) {
  Network among = network;
  among.node = std::max<int64_t>(1, network.node / group);
  return among;
}

Collective allReduce(const Network &network, int64_t ranks, double bytes) {
  if (ranks < 2)
    return {};
  const Shape s = shapeOf(network, ranks);
  if (network.socketLatency > 0)
    return overSockets(network, s, bytes, 2);
  Collective best;
  for (const Protocol &p : kProtocols) {
    take(best, ring(network, s, bytes, 2, p), "ring");
    take(best, tree(network, s, bytes, p), "tree");
    if (s.nodes > 1 && s.perNode > 1)
      take(best, hierarchical(network, s, bytes, p), "hierarchical");
  }
  if (network.nvls > 0 &&
      s.perNode > 2) // two have nothing to share a switch for
    take(best, nvls(network, s, bytes), s.nodes > 1 ? "nvls-tree" : "nvls");
  return best;
}

Collective scatterOrGather(const Network &network, int64_t ranks,
                           double bytes) {
  if (ranks < 2)
    return {};
  const Shape s = shapeOf(network, ranks);
  if (network.socketLatency > 0)
    return overSockets(network, s, bytes, 1);
  Collective best;
  for (const Protocol &p : kProtocols)
    take(best, ring(network, s, bytes, 1, p), "ring");
  return best;
}

Link linkOf(std::string_view gpu) {
  static constexpr std::pair<std::string_view, Link> kLinks[] = {
      {"A100", {300e9, 0}},    {"A40", {32e9, 0}},      {"L40S", {32e9, 0}},
      {"H100", {450e9, 0.85}}, {"H200", {450e9, 0.85}}, {"B200", {900e9, 0.74}},
  };
  for (const auto &[name, link] : kLinks)
    if (name == gpu)
      return link;
  return {};
}

Result<double> parseBandwidth(std::string_view text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"Kbps", 125}, {"Mbps", 125e3}, {"Gbps", 125e6}, {"Tbps", 125e9},
      {"kB/s", 1e3}, {"MB/s", 1e6},   {"GB/s", 1e9},   {"TB/s", 1e12},
  };
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && std::isfinite(number) && number > 0)
    for (const auto &[unit, bytes] : kUnits)
      if (text.substr(static_cast<size_t>(end - text.data())) == unit)
        return number * bytes;
  return usageError("expected a bandwidth such as 400Gbps or 50GB/s, found "
                    "'{}'",
                    text);
}

} // namespace dlc::forecast
