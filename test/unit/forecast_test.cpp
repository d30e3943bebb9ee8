// SPDX-License-Identifier: Apache-2.0
// The model of links by hand-made numbers, and a step whose lanes are known.
#include "runtime/base/files/Files.h"
#include "runtime/plan/forecast/Forecast.h"
#include "runtime/plan/forecast/HostLink.h"
#include "runtime/plan/forecast/ScratchPeaks.h"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

namespace dlc::forecast {
namespace {

Network sockets(double latency, double bandwidth) {
  Network network;
  network.node = 1;
  network.inside = network.across = bandwidth;
  network.socketLatency = latency;
  return network;
}

Network gpus() {
  Network network;
  network.inside = 450e9;
  network.across = 50e9;
  return network;
}

TEST(Forecast, ARingOfSockets) {
  const Network network = sockets(1e-3, 1e6);
  EXPECT_EQ(allReduce(network, 1, 1e6).seconds, 0);
  // Two rounds of n - 1 steps, each of a message of 1/n of the bytes.
  EXPECT_NEAR(allReduce(network, 4, 4e6).seconds, 6 * (1e-3 + 1), 1e-9);
  EXPECT_NEAR(scatterOrGather(network, 4, 4e6).seconds, 3 * (1e-3 + 1), 1e-9);
}

TEST(Forecast, AlgorithmsByBytesAndRanks) {
  const Network network = gpus();
  // All bytes go twice, less one share, through a link at 0.8 of its rate.
  EXPECT_NEAR(allReduce(network, 8, 1e10).seconds, 1.75 * 1e10 / 360e9, 1e-3);
  EXPECT_EQ(allReduce(network, 8, 1e10).algorithm, "ring");
  // Few bytes at many ranks: 2046 steps of a ring take longer than a tree's.
  EXPECT_EQ(allReduce(network, 1024, 4).algorithm, "tree");
  EXPECT_LT(allReduce(network, 1024, 4).seconds, 200e-6);
  // Cards that are slow for the node's link carry a share each.
  Network slow = network;
  slow.across = 1.25e9;
  EXPECT_GT(allReduce(slow, 16, 1e9).seconds,
            allReduce(network, 16, 1e9).seconds);
  double before = 0;
  for (int64_t ranks : {2, 4, 8, 16, 64, 1024}) {
    const double seconds = allReduce(network, ranks, 1e8).seconds;
    EXPECT_GT(seconds, before);
    before = seconds;
  }
}

TEST(Forecast, ASwitchThatAdds) {
  Network network = gpus();
  network.nvls = linkOf("H100").nvls;
  // 450 GB/s * 0.711 * 15/16 * 0.85 * 2 = 510 GB/s: 1.75 of 1 GB, and 25 us.
  const Collective node = allReduce(network, 8, 1e9);
  EXPECT_EQ(node.algorithm, "nvls");
  EXPECT_NEAR(node.seconds, 25e-6 + 1.75 * 1e9 / 510e9, 1e-6);
  EXPECT_LT(node.seconds, allReduce(gpus(), 8, 1e9).seconds);
  // Few bytes do not pay for it.
  EXPECT_EQ(allReduce(network, 8, 1000).algorithm, "ring");
  // Eight cards of 50 GB/s a node, at 0.8, one way: 320 GB/s; 3 levels.
  const Collective nodes = allReduce(network, 64, 1e10);
  EXPECT_EQ(nodes.algorithm, "nvls-tree");
  EXPECT_NEAR(nodes.seconds, 25e-6 + 6 * 20.9e-6 + 2 * 63.0 / 64 * 1e10 / 320e9,
              1e-6);
  // Two nodes send both ways, so that the switch is the bound.
  EXPECT_NEAR(allReduce(network, 16, 1e10).seconds,
              25e-6 + 2 * 20.9e-6 + 2 * 15.0 / 16 * 1e10 / 510e9, 1e-6);
  // One card a node has nobody to share the switch with.
  network.node = 1;
  EXPECT_EQ(allReduce(network, 8, 1e9).algorithm, "ring");
  network.node = 2;
  EXPECT_EQ(allReduce(network, 2, 1e9).algorithm, "ring");
}

TEST(Forecast, RanksFillNodes) {
  EXPECT_TRUE(checkRanks(gpus(), 5).ok());
  EXPECT_TRUE(checkRanks(gpus(), 24).ok());
  EXPECT_EQ(checkRanks(gpus(), 12).code(), Code::Usage);
  for (const int64_t group : {1, 4, 8, 16})
    EXPECT_TRUE(checkRanks(gpus(), 32, group).ok()) << group;
  EXPECT_EQ(checkRanks(gpus(), 16, 3).code(), Code::Usage);
  EXPECT_EQ(checkRanks(gpus(), 24, 12).code(), Code::Usage);
}

// Ranks with one place in each group: four, two and one of each node.
TEST(Forecast, NetworkAmongGroups) {
  for (const auto &[group, node] : {std::pair{2, 4}, {4, 2}, {8, 1}, {16, 1}})
    EXPECT_EQ(amongGroups(gpus(), group).node, node);
}

TEST(Forecast, Bandwidths) {
  EXPECT_EQ(parseBandwidth("400Gbps").value(), 50e9);
  EXPECT_EQ(parseBandwidth("450GB/s").value(), 450e9);
  EXPECT_EQ(parseBandwidth("1.5Mbps").value(), 187500);
  for (const char *text : {"", "10", "Gbps", "-1Gbps", "0Gbps", "nanGbps",
                           "infGbps", "10 Gbps", "10Gb", "1e999Gbps"})
    EXPECT_EQ(parseBandwidth(text).status().code(), Code::Usage) << text;
  EXPECT_EQ(linkOf("H200").bandwidth, 450e9);
  EXPECT_EQ(linkOf("A100").nvls, 0); // its switch does not add
  EXPECT_EQ(linkOf("none").bandwidth, 0);
}

// Two kernels, of which the first gives a bucket of 1 MB that the second does
// not need, and an update that does.
class Lanes : public TempFolder {
protected:
  Lanes() {
    auto *gradient = plan_.add_regions();
    gradient->set_kind(plan::Region::GRADIENT);
    gradient->set_bytes(1000000);
    auto *states = plan_.add_regions();
    states->set_bytes(3000000);
    add("w", "param", "")->set_trainable(true);
    add("w.m", "moment", "w");
    add("w.v", "moment", "w");
    auto &program = *plan_.add_programs();
    program.set_name("train_step");
    auto *buffer = program.add_buffers();
    buffer->mutable_type()->set_dtype(plan::F32);
    buffer->mutable_type()->add_shape(250000);
    for (const char *kind :
         {"kernel", "all_reduce", "kernel", "wait", "kernel"})
      program.add_commands()->set_kind(kind);
    program.mutable_commands(1)->add_inputs(0);
    times_ = {{&program, {0.1, 7, 0.2, 7, 0.1}}};
  }
  plan::State *add(const char *name, const char *role, const char *of) {
    auto *state = plan_.add_states();
    state->set_name(name);
    state->set_role(role);
    state->set_of(of);
    state->set_region(1);
    state->mutable_type()->set_dtype(plan::F32);
    state->mutable_type()->add_shape(250000);
    return state;
  }

  plan::Plan plan_;
  CommandTimes times_;
};

TEST_F(Lanes, ACollectiveIsHiddenByWhatFollows) {
  Step step = predict(plan_, times_, sockets(1e-9, 10e6), 2, ZeroLevel::None);
  EXPECT_NEAR(step.compute, 0.4, 1e-9);
  EXPECT_NEAR(step.communication, 0.1, 1e-6);
  EXPECT_NEAR(step.exposed, 0, 1e-9);
  EXPECT_NEAR(step.seconds, 0.4, 1e-9);
  EXPECT_EQ(step.memory, 4000000u);
  step = predict(plan_, times_, sockets(1e-9, 2e6), 2, ZeroLevel::None);
  EXPECT_NEAR(step.communication, 0.5, 1e-6);
  EXPECT_NEAR(step.exposed, 0.3, 1e-6);
  EXPECT_NEAR(step.seconds, 0.7, 1e-6);
  EXPECT_NEAR(predict(plan_, times_, sockets(1, 1), 1, ZeroLevel::None).seconds,
              0.4, 1e-9);
}

// Tables of order statistics (Harter 1961).
// Behind the bucket it would arrive 1 s later. One queue of a device is in
// order.
TEST_F(Lanes, OneOvertakes) {
  plan::Program &program = *plan_.mutable_programs(0);
  program.add_buffers()->mutable_type()->set_dtype(plan::F32);
  program.mutable_buffers(1)->mutable_type()->add_shape(250);
  program.clear_commands();
  for (const auto &[kind, bucket] : {std::pair{"all_reduce", 0},
                                     {"all_reduce", 1},
                                     {"wait", 1},
                                     {"kernel", -1},
                                     {"wait", 0}}) {
    plan::Command &c = *program.add_commands();
    c.set_kind(kind);
    c.add_inputs(bucket == 1);
    for (const auto &[name, value] :
         {std::pair{"bucket", bucket}, {"ahead", bucket == 1}}) {
      plan::Attribute &attribute = *c.add_attributes();
      attribute.set_name(name);
      attribute.set_i(value);
    }
  }
  times_ = {{&program, {0, 0, 0, 0.5, 0}}};
  const auto secondsOn = [&](const char *target) {
    plan_.set_target(target);
    return predict(plan_, times_, sockets(1e-6, 1e6), 2, ZeroLevel::None, 0)
        .seconds;
  };
  EXPECT_NEAR(secondsOn("cpu"), 1, 1e-3);
  EXPECT_NEAR(secondsOn("cuda"), 1.501, 1e-3);
}

// Copies of one direction are in order, those of the other one beside them.
TEST(HostLink, HidesCopiesBehindCommands) {
  using Direction = HostLink::Direction;
  HostLink link;
  EXPECT_EQ(link.start(0, Direction::ToHost, 1, 2), 3);
  EXPECT_EQ(link.start(1, Direction::ToHost, 2, 2), 5);
  EXPECT_EQ(link.start(2, Direction::ToDevice, 2, 2), 4);
  EXPECT_EQ(link.wait(0, 3), 0);
  EXPECT_EQ(link.wait(1, 3.5), 1.5);
  EXPECT_EQ(link.seconds, 6);
  EXPECT_EQ(link.exposed, 1.5);
}

TEST(HostLink, PredictsTheCopiesOfAProgram) {
  const GpuFigures &gpu = *findGpu("H100");
  const double copy = copySeconds(gpu, 64e6);
  EXPECT_NEAR(copy, 10e-6 + 64e6 / (0.8 * 64e9), 1e-9);
  plan::Plan plan;
  plan::Program &program = *plan.add_programs();
  program.set_name("train_step");
  const auto add = [&](const char *kind, int64_t number, double bytes) {
    plan::Command &c = *program.add_commands();
    c.set_kind(kind);
    c.set_bytes(static_cast<uint64_t>(bytes));
    plan::Attribute &attribute = *c.add_attributes();
    attribute.set_name("copy");
    attribute.set_i(number);
  };
  const double bandwidth = gpu.bandwidth * kOfBandwidth;
  add("offload", 0, 128e6); // read and written
  add("kernel", -1, bandwidth * copy / 4);
  add("wait_copy", 0, 0);
  add("kernel", -1, bandwidth * copy);
  add("fetch", 1, 128e6);
  add("kernel", -1, bandwidth * copy * 2);
  add("wait_copy", 1, 0);
  const HostTraffic traffic = hostTraffic(gpu, program);
  EXPECT_EQ(traffic.copies, 2);
  EXPECT_EQ(traffic.bytes, 128000000u);
  EXPECT_NEAR(traffic.seconds, 2 * copy, 1e-9);
  EXPECT_NEAR(traffic.exposed, 0.75 * copy, 1e-9);
  const Step step = predict(plan, predictedTimes(plan, gpu), sockets(1, 1), 1,
                            ZeroLevel::None);
  EXPECT_NEAR(step.compute, 3.25 * copy, 1e-9);
  EXPECT_NEAR(step.seconds, 4 * copy, 1e-9);
  EXPECT_NEAR(step.copies, 2 * copy, 1e-9);
  EXPECT_NEAR(step.copiesExposed, 0.75 * copy, 1e-9);
}

TEST(Forecast, ExpectedLargest) {
  EXPECT_NEAR(expectedLargest(1), 0, 1e-9);
  EXPECT_NEAR(expectedLargest(2), 0.56419, 1e-5);
  EXPECT_NEAR(expectedLargest(10), 1.53875, 1e-5);
  EXPECT_NEAR(expectedLargest(100), 2.50759, 1e-5);
  EXPECT_NEAR(expectedLargest(1000), 3.24144, 1e-5);
}

TEST_F(Lanes, TheSlowestRankIsWaitedFor) {
  Network network = sockets(1e-9, 10e6);
  network.jitter = 0.1;
  const Step step = predict(plan_, times_, network, 2, ZeroLevel::None);
  EXPECT_NEAR(step.waiting, 0.1 * 0.4 * 0.56419, 1e-6);
  EXPECT_NEAR(step.seconds, 0.4 + step.waiting, 1e-9);
  // One rank of a batch of 1 a node, which prepares two samples a second.
  network.input = 2;
  plan_.set_batch(1);
  EXPECT_NEAR(predict(plan_, times_, network, 2, ZeroLevel::None).seconds, 0.5,
              1e-9);
}

TEST_F(Lanes, WhatIsShardedIsGathered) {
  const Network network = sockets(1e-9, 10e6);
  // Moments: 2 MB become half; parameters are gathered after the update.
  Step step = predict(plan_, times_, network, 2, ZeroLevel::Moments);
  EXPECT_EQ(step.memory, 3000000u);
  EXPECT_NEAR(step.seconds, 0.4 + 0.05, 1e-6);
  EXPECT_NEAR(step.communication, 0.15, 1e-6);
  // Half the bytes of gradients move; all of a bucket is there meanwhile,
  // beside the part that stays.
  step = predict(plan_, times_, network, 2, ZeroLevel::Gradients);
  EXPECT_EQ(step.memory, 3500000u);
  EXPECT_NEAR(step.communication, 0.1, 1e-6);
  // Beside the passes nothing is seen of them; the only bucket is whole then.
  step = predict(plan_, times_, network, 2, ZeroLevel::Parameters);
  EXPECT_EQ(step.memory, 4000000u);
  EXPECT_NEAR(step.seconds, 0.4, 1e-6);
}

// Four ranks in pairs: the memory of two; a pair's half of a bucket is then
// reduced with the other pair's.
TEST_F(Lanes, GroupsShareOut) {
  const Network network = sockets(1e-9, 10e6);
  Step step = predict(plan_, times_, network, 4, ZeroLevel::Moments, 2);
  EXPECT_EQ(step.memory, 3000000u);
  EXPECT_NEAR(step.communication, 0.15 + 0.05, 1e-6);
  step = predict(plan_, times_, network, 4, ZeroLevel::Gradients, 2);
  EXPECT_EQ(step.memory, 3500000u);
  EXPECT_NEAR(step.communication, 0.05 + 0.05 + 0.05, 1e-6);
  step = predict(plan_, times_, network, 4, ZeroLevel::Gradients, 4);
  EXPECT_EQ(step.memory, 2750000u);
  EXPECT_EQ(step.seconds,
            predict(plan_, times_, network, 4, ZeroLevel::Gradients).seconds);
}

// A step gathers w (40 bytes), computes h (20) of it and of both the gradient
// (40), which is on its way while x (20) is computed of h.
TEST(Forecast, ScratchWithoutExchanges) {
  test::PlanBuilder b;
  plan::Program &p = b.program("train_step");
  const uint32_t part = b.buffer(p, 0, 0, plan::F32, {10}),
                 mean = b.buffer(p, 1, 0, plan::F32, {10}),
                 w = b.scratch(p, plan::F32, {10}),
                 h = b.scratch(p, plan::F32, {5}),
                 g = b.scratch(p, plan::F32, {10}),
                 x = b.scratch(p, plan::F32, {5});
  b.set(b.command(p, "all_gather", {part}, {w}), "bucket", 0);
  b.set(b.command(p, "wait", {w}, {w}), "bucket", 0);
  b.command(p, "kernel", {w}, {h});
  b.command(p, "kernel", {w, h}, {g});
  b.set(b.command(p, "reduce_scatter", {g}, {mean}), "bucket", 1);
  b.command(p, "kernel", {h}, {x});
  b.set(b.command(p, "wait", {mean}, {mean}), "bucket", 1);
  b.command(p, "kernel", {x, mean}, {x});
  const ScratchPeaks peaks = scratchPeaks(b.plan, p);
  EXPECT_EQ(peaks.all, 100u);
  EXPECT_EQ(peaks.withoutGathers, 80u);
  EXPECT_EQ(peaks.withoutExchanges, 40u);
}

// 197 queries and keys, ViT's, take the time of 256: a library computes tiles.
TEST(Forecast, AttentionIsComputedInTiles) {
  test::PlanBuilder b;
  plan::Program &p = b.program("train_step");
  const auto seconds = [&](int64_t length) {
    const auto operand = [&] {
      return b.scratch(p, plan::BF16, {1, 1, length, 64});
    };
    plan::Command &command = b.command(
        p, "attention", {operand(), operand(), operand()}, {operand()});
    command.set_flops(uint64_t(length * length) << 20);
    return secondsOf(*findGpu("H200"), p, command);
  };
  EXPECT_NEAR(seconds(197), seconds(256), 1e-6 * seconds(256));
  EXPECT_NEAR(seconds(512), 4 * seconds(256), 1e-6 * seconds(512));
}

TEST_F(Lanes, MeasuredTimes) {
  const auto times = [&](const std::string &text) {
    EXPECT_TRUE(writeFileAtomically(path("profile.json"), text).ok());
    return measuredTimes(plan_, path("profile.json"));
  };
  std::string rows;
  for (int i = 0; i < 5; ++i)
    rows += std::string(i ? "," : "") +
            R"({"program":"train_step","seconds":1,"calls":4})";
  auto good = times("[" + rows + "]");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ((*good)[0].second, std::vector<double>(5, 0.25));
  for (const std::string &text :
       {std::string("{"), std::string("{}"), std::string("[1]"),
        std::string(R"([{"program":"train_step","seconds":1,"calls":0}])"),
        std::string(R"([{"program":"train_step","seconds":1,"calls":1}])")}) {
    const auto bad = times(text);
    EXPECT_EQ(bad.status().code(), Code::Corrupt) << text;
    EXPECT_NE(bad.status().message().find("profile.json"), std::string::npos);
  }
}

} // namespace
} // namespace dlc::forecast
