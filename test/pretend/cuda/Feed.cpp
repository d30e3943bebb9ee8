// SPDX-License-Identifier: Apache-2.0
// Inputs on their way to a GPU and results on their way back, on the stand-in
// driver, which does unordered work in any order.
#include "Fixture.h"

using namespace dlc;
using namespace dlc::test;

namespace {

// A range of bytes as an operand.
class Bytes {
public:
  Bytes(std::byte *data, int64_t count) : data_(data) {
    type_.set_dtype(plan::U8);
    type_.add_shape(count);
  }
  Operand operand() const { return {data_, &type_}; }

private:
  std::byte *data_;
  plan::TensorType type_;
};

TEST_F(Cuda, InputsArriveInTime) {
  constexpr int kRuns = 7;
  constexpr uint64_t kSize = 512;
  auto device = open();
  std::byte *const place = *device->allocate(2 * kSize, "inputs");
  std::byte *const seen = *device->allocate(kRuns * 2 * kSize, "seen");
  auto feed = device->inputFeed(2 * kSize);
  ASSERT_TRUE(feed.ok()) << feed.status().message();
  ASSERT_TRUE(device->synchronize().ok());
  const InputFeed::Piece pieces[] = {{0, place, kSize},
                                     {kSize, place + kSize, kSize}};
  for (int run = 0; run < kRuns; ++run) {
    std::vector<uint8_t> a(kSize, uint8_t(run)), b(kSize, uint8_t(100 + run));
    if (run == 3) { // set twice: the last counts
      ASSERT_TRUE((*feed)->put(0, b.data(), kSize).ok());
    }
    ASSERT_TRUE((*feed)->put(0, a.data(), kSize).ok());
    ASSERT_TRUE((*feed)->put(kSize, b.data(), kSize).ok());
    ASSERT_TRUE((*feed)->deliver(pieces).ok());
    TestCommand copy("copy"); // what a run would read
    copy.in(place, {2 * kSize}, plan::U8);
    copy.out(seen + run * 2 * kSize, {2 * kSize}, plan::U8);
    const CommandSpec spec = copy.spec();
    auto command = device->bind(spec);
    ASSERT_TRUE(command.ok() && (*command)->enqueue().ok());
  }
  std::vector<uint8_t> found(kRuns * 2 * kSize);
  ASSERT_TRUE(device->download(found.data(), seen, found.size()).ok());
  for (size_t run = 0; run < kRuns; ++run) {
    EXPECT_EQ(found[run * 2 * kSize], run);
    EXPECT_EQ(found[run * 2 * kSize + kSize], 100 + run);
  }
}

TEST_F(Cuda, WhatIsNotDeliveredIsDropped) {
  auto device = open();
  std::byte *const place = *device->allocate(1024, "inputs");
  auto feed = *device->inputFeed(1024);
  const std::vector<uint8_t> old(512, 1), now(512, 2);
  ASSERT_TRUE(feed->put(512, old.data(), 512).ok());
  ASSERT_TRUE(feed->put(0, now.data(), 512).ok());
  const InputFeed::Piece piece[] = {{0, place, 512}};
  ASSERT_TRUE(feed->deliver(piece).ok());
  std::vector<uint8_t> found(1024);
  ASSERT_TRUE(device->download(found.data(), place, 1024).ok());
  EXPECT_EQ(found[0], 2);
  EXPECT_EQ(found[512], 0);
}

// The end of a range.
int lastOf(const std::byte *data, size_t bytes) {
  return static_cast<int>(data[bytes - 1]);
}

TEST_F(Cuda, ResultsAreReadInOrder) {
  auto device = open();
  std::byte *const near = *device->allocate(16384, "near");
  std::byte *const other = *device->allocate(16, "other");
  const Bytes a(near, 4), b(near + 64, 8), far(near + 12000, 4), c(other, 4);
  const Operand ranges[] = {far.operand(), c.operand(), b.operand(),
                            a.operand()};
  auto readback = *device->readback(ranges);
  EXPECT_EQ(readback->collect().status().code(), Code::Usage);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(device->synchronize().ok());
    standin_->clearTrace();
    for (int i = 0; i < Readback::kUnread; ++i) {
      ASSERT_TRUE(device->fill(near, uint8_t(10 + i), 72).ok());
      ASSERT_TRUE(device->fill(near + 12000, uint8_t(20 + i), 4).ok());
      ASSERT_TRUE(device->fill(other, uint8_t(30 + i), 4).ok());
      ASSERT_TRUE(readback->post().ok());
    }
    // What is written from now on is not of these results.
    ASSERT_TRUE(device->fill(near, 99, 16384).ok());
    EXPECT_EQ(readback->post().message(),
              "2 reports wait to be read, expected at most 1");
    // Those near each other in one block leave together, all arrive as one, on
    // a stream of their own; nothing is waited for.
    const std::string lines = trace();
    const auto count = [&](const std::string &what) {
      size_t found = 0;
      for (size_t at = 0; (at = lines.find(what, at)) != lines.npos; ++at)
        ++found;
      return found;
    };
    EXPECT_EQ(count("cuMemcpyDtoDAsync"), 3u * Readback::kUnread);
    EXPECT_EQ(count("cuMemcpyDtoHAsync"), 1u * Readback::kUnread);
    const auto streamOf = [&](const std::string &call) {
      const size_t at =
          lines.find(" s", lines.find(" bytes ", lines.find(call)));
      return lines.substr(at, lines.find('\n', at) - at);
    };
    EXPECT_NE(streamOf("cuMemcpyDtoHAsync"), streamOf("cuMemcpyDtoDAsync"));
    EXPECT_EQ(count("Synchronize"), 0u);
    for (int i = 0; i < Readback::kUnread; ++i) {
      const auto places = readback->collect();
      ASSERT_TRUE(places.ok()) << places.status().message();
      ASSERT_EQ(places->size(), 4u);
      EXPECT_EQ(lastOf((*places)[0], 4), 20 + i);
      EXPECT_EQ(lastOf((*places)[1], 4), 30 + i);
      EXPECT_EQ(lastOf((*places)[2], 8), 10 + i);
      EXPECT_EQ(lastOf((*places)[3], 4), 10 + i);
    }
  }
}

// The next run may write where results were while they are on their way.
TEST_F(Cuda, ALargeResultTravelsBesideTheNextRun) {
  constexpr uint64_t kSize = 1 << 20;
  auto device = open();
  std::byte *const place = *device->allocate(kSize, "outputs");
  const Bytes all(place, kSize);
  const Operand ranges[] = {all.operand()};
  auto readback = *device->readback(ranges);
  for (int run = 0; run < 6; ++run) {
    ASSERT_TRUE(device->fill(place, uint8_t(run), kSize).ok());
    ASSERT_TRUE(readback->post().ok());
    if (run == 0)
      continue;
    const auto places = readback->collect();
    ASSERT_TRUE(places.ok());
    EXPECT_EQ(lastOf((*places)[0], 1), run - 1);
    EXPECT_EQ(lastOf((*places)[0], kSize), run - 1);
  }
}

} // namespace
