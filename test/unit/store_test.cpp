// SPDX-License-Identifier: Apache-2.0
// runtime/collective/store: a job's meeting point among strangers, in PyTorch's
// protocol.
#include "runtime/collective/store/JobStore.h"
#include "runtime/collective/store/JobWatch.h"
#include "runtime/collective/store/TcpStore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <dirent.h>
#include <random>
#include <sys/socket.h>

using namespace dlc;
using namespace std::chrono_literals;
using Clock = Socket::Clock;

namespace {

const std::string kToken(32, 't');
int64_t begunNone() { return 0; }

size_t openDescriptors() {
  DIR *folder = ::opendir("/proc/self/fd");
  size_t count = 0;
  while (::readdir(folder))
    ++count;
  ::closedir(folder);
  return count;
}

bool within(std::chrono::milliseconds limit,
            const std::function<bool()> &condition) {
  const auto end = Clock::now() + limit;
  while (!condition() && Clock::now() < end)
    std::this_thread::sleep_for(2ms);
  return condition();
}

class Store : public testing::Test {
protected:
  void SetUp() override {
    auto listener = Socket::listen("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    meeting_.size = 3;
    meeting_.address = "127.0.0.1";
    meeting_.port = listener->port();
    meeting_.token = kToken;
    meeting_.timeout = 5s;
    auto server = TcpStoreServer::serve(*std::move(listener), 3, kToken);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }

  Rendezvous as(int rank, const std::string &token = kToken) const {
    Rendezvous own = meeting_;
    own.rank = rank;
    own.token = token;
    return own;
  }
  StoreClient client(int rank) const {
    auto joined = joinStore(as(rank));
    EXPECT_TRUE(joined.ok()) << joined.status().message();
    return StoreClient(*std::move(joined), 5s);
  }
  Socket stranger() const {
    auto socket =
        Socket::connect("127.0.0.1", meeting_.port, Clock::now() + 5s);
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    return *std::move(socket);
  }
  // Whether the server still does what it is for.
  void expectWell() const {
    StoreClient first = client(0), second = client(1);
    EXPECT_TRUE(first.set("key", "ab").ok());
    EXPECT_EQ(*second.get("key"), "ab");
  }
  // Nothing more comes from the other side but its end.
  static bool isClosed(const Socket &socket) {
    char byte;
    return within(3s, [&] {
      const ssize_t count = ::recv(socket.descriptor(), &byte, 1, MSG_DONTWAIT);
      return count == 0 || (count < 0 && errno == ECONNRESET);
    });
  }

  Rendezvous meeting_;
  std::unique_ptr<TcpStoreServer> server_;
};

TEST_F(Store, KeepsValues) {
  expectWell();
  StoreClient first = client(0);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(client(1).set("late", "x").ok());
  });
  EXPECT_EQ(*first.get("late"), "x");
  later.join();
}

TEST_F(Store, StrangersAreRefusedAtOnce) {
  const auto begin = Clock::now();
  for (const Rendezvous &other :
       {as(1, ""), as(1, std::string(32, 'u')), as(1, kToken + "t"),
        as(1, kToken.substr(1)), as(3), as(-1)}) {
    const Status status = joinStore(other).status();
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_NE(status.message().find("refuses rank"), std::string::npos)
        << status.message();
  }
  EXPECT_LT(Clock::now() - begin, 4s);
  expectWell();
}

template <class T> std::string bytesOf(T value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

std::string query(int number) { return bytesOf(static_cast<uint8_t>(number)); }

TEST_F(Store, WhatIsNotKnownOrTooLongDisconnects) {
  const auto limit = [] { return Clock::now() + 3s; };
  const auto size = [](uint64_t bytes) { return bytesOf(bytes); };
  for (const std::string &request : {
           query(0) + bytesOf(store::kMagic), // again
           query(0xd0) + bytesOf(2) + size(0), query(14), query(0xff),
           query(1) + size(StoreLimits::kKey + 1), query(1) + size(~0ull),
           query(1) + size(1) + "k" + size(StoreLimits::kValue + 1),
           query(1) + size(1) + "k" + size(~0ull),
           query(5) + size(StoreLimits::kKeys + 1), query(6) + size(~0ull),
           query(11) + size(1) + size(1) + "k" + size(~0ull),
           query(3) + size(4) + "none", // Get of what is not set
           query(6) + size(1) + size(1) + "w" + query(7), // asks, and waits
           query(9) + size(1) + "k" + size(1) + "x" + query(4) + size(1) + "k" +
               bytesOf(int64_t(1)), // Add to what is no number
       }) {
    auto joined = joinStore(as(2));
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    EXPECT_TRUE(joined->send(request.data(), request.size(), limit()));
    EXPECT_TRUE(isClosed(*joined)) << static_cast<unsigned>(request[0] & 0xff);
  }
  for (const std::string &begin :
       {std::string("GET / HTTP/1.1\r\n\r\n"), query(7),
        query(0) + bytesOf(store::kMagic + 1),
        query(0) + bytesOf(store::kMagic) + query(7), // without a token
        query(0xd0) + bytesOf(2) + size(0)}) {
    const Socket other = stranger();
    EXPECT_TRUE(other.send(begin.data(), begin.size(), limit()));
    EXPECT_TRUE(isClosed(other)) << begin;
  }
  expectWell();
}

TEST_F(Store, HoldsSoManyBytes) {
  StoreClient first = client(0);
  const std::string value(StoreLimits::kValue, 'v');
  size_t stored = 0;
  for (; stored <= StoreLimits::kTotal / StoreLimits::kValue; ++stored) {
    const std::string key = "key" + std::to_string(stored);
    if (!first.set(key, value).ok() || !first.get(key).ok())
      break;
  }
  EXPECT_EQ(stored, StoreLimits::kTotal / StoreLimits::kValue - 1);
  EXPECT_TRUE(client(1).set("key0", "x").ok()); // what replaces is no more
}

TEST_F(Store, ManyWhoSayNothing) {
  std::vector<Socket> idle;
  for (size_t i = 0; i < 3 * StoreLimits::kStrangers; ++i)
    idle.push_back(stranger());
  expectWell();
  size_t closed = 0;
  for (size_t i = 0; i < StoreLimits::kStrangers; ++i)
    closed += isClosed(idle[i]); // the oldest make room
  EXPECT_EQ(closed, StoreLimits::kStrangers);
}

TEST_F(Store, ARankHasSoManyConnections) {
  std::vector<Socket> all;
  for (size_t i = 0; i < StoreLimits::kEach; ++i) {
    auto joined = joinStore(as(2));
    ASSERT_TRUE(joined.ok());
    all.push_back(*std::move(joined));
  }
  EXPECT_FALSE(joinStore(as(2)).ok());
  all.clear();
  EXPECT_TRUE(within(3s, [&] { return joinStore(as(2)).ok(); }));
}

TEST_F(Store, WhatIsClosedIsFreed) {
  expectWell();
  const size_t before = openDescriptors();
  for (int i = 0; i < 2000; ++i)
    stranger();
  expectWell();
  EXPECT_TRUE(within(3s, [&] { return openDescriptors() <= before + 2; }))
      << before << " and then " << openDescriptors();
}

// Packets that are random, or messages with some bytes changed, whole or cut.
TEST_F(Store, TenThousandHostilePackets) {
  std::mt19937 chance(20);
  const auto below = [&](uint32_t bound) {
    return static_cast<uint32_t>(chance() % bound);
  };
  const auto packet = [&] {
    std::string bytes;
    if (below(3) > 0) {
      bytes = store::textOf({store::Query::Validate, {}, {}, store::kMagic}) +
              store::textOf({store::Query::Hello,
                             {},
                             {below(4) ? kToken : std::string(below(200), 't')},
                             below(5)});
      for (uint32_t i = below(4); i-- > 0;)
        bytes += query(static_cast<int>(below(16))) +
                 bytesOf<uint64_t>(below(8) ? below(6) : chance()) +
                 std::string(below(12), 'k') + bytesOf<uint64_t>(below(4)) +
                 std::string(below(4), '1');
      for (uint32_t i = below(3); i-- > 0;)
        bytes[below(static_cast<uint32_t>(bytes.size()))] =
            static_cast<char>(chance());
      bytes.resize(below(3) ? bytes.size()
                            : below(static_cast<uint32_t>(bytes.size())));
    } else {
      for (uint32_t i = below(500); i-- > 0;)
        bytes += static_cast<char>(chance());
    }
    return bytes;
  };
  std::vector<Socket> open;
  for (int i = 0; i < 10'000; ++i) {
    Socket socket = stranger();
    const std::string bytes = packet();
    (void)socket.send(bytes.data(), bytes.size(), Clock::now() + 1s);
    if (below(10) == 0)
      open.push_back(std::move(socket));
    if (open.size() > 100)
      open.clear();
  }
  open.clear();
  EXPECT_TRUE(within(5s, [&] { return joinStore(as(0)).ok(); }));
  StoreClient first = client(0);
  EXPECT_TRUE(first.set("after", "x").ok());
  EXPECT_EQ(*first.get("after"), "x");
}

// Who hears that `gone` is lost.
TEST_F(Store, ADeathIsToldToAll) {
  std::atomic<int> heard = 0;
  const auto listen = [&](LostRank lost) {
    heard += lost.rank == 2 && !lost.silent ? 1 : 100;
  };
  auto first = joinStore(as(0)), second = joinStore(as(1)),
       third = joinStore(as(2));
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  JobWatch a(*std::move(first), 10s, listen, begunNone),
      b(*std::move(second), 10s, listen, begunNone);
  StoreClient waiting = client(1);
  std::thread waits([&] {
    const Status status = waiting.get("never set").status();
    EXPECT_NE(status.message().find("rank 2 is lost"), std::string::npos)
        << status.message();
  });
  {
    JobWatch c(
        *std::move(third), 10s, [](LostRank) {}, begunNone);
    std::this_thread::sleep_for(100ms);
    c.abandon();
  }
  EXPECT_TRUE(within(1s, [&] { return heard == 2; })) << heard;
  waits.join();
}

TEST_F(Store, AFarewellIsNoDeath) {
  std::atomic<int> heard = 0;
  auto first = joinStore(as(1)), second = joinStore(as(2));
  ASSERT_TRUE(first.ok() && second.ok());
  JobWatch a(
      *std::move(first), 10s, [&](LostRank) { ++heard; }, begunNone);
  {
    JobWatch b(
        *std::move(second), 10s, [&](LostRank) { ++heard; }, begunNone);
  }
  std::this_thread::sleep_for(100ms);
  server_.reset(); // rank 0 ends well, too
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(heard, 0);
}

TEST_F(Store, TheDeathOfRankZeroIsItsClosedStore) {
  std::atomic<int> heard = -1;
  auto first = joinStore(as(1));
  ASSERT_TRUE(first.ok());
  JobWatch a(
      *std::move(first), 10s, [&](LostRank lost) { heard = lost.rank; },
      begunNone);
  std::this_thread::sleep_for(50ms);
  server_->abandon();
  server_.reset();
  EXPECT_TRUE(within(1s, [&] { return heard == 0; }));
}

// Its connection stays open, and says nothing: no collective need wait for it.
TEST_F(Store, ASilentRankIsLost) {
  server_.reset();
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  meeting_.port = listener->port();
  server_ = *TcpStoreServer::serve(*std::move(listener), 3, kToken, 300ms);
  std::atomic<int> heard = -1, silent = -1;
  auto first = joinStore(as(1)), second = joinStore(as(2));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto begin = Clock::now();
  JobWatch a(
      *std::move(first), 300ms,
      [&](LostRank lost) {
        silent = lost.silent;
        heard = lost.rank;
      },
      begunNone);
  const std::string watch = store::textOf({store::Query::Watch, {}, {}, 0});
  ASSERT_TRUE(second->send(watch.data(), watch.size(), Clock::now() + 1s));
  EXPECT_TRUE(within(2s, [&] { return heard == 2; })) << heard;
  EXPECT_EQ(silent, 1);
  EXPECT_GE(Clock::now() - begin, 300ms);
}

// The same of the store: what stands there listens and never answers.
TEST(Silence, OfTheStoreIsThatOfRankZero) {
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  auto socket =
      Socket::connect("127.0.0.1", listener->port(), Clock::now() + 5s);
  ASSERT_TRUE(socket.ok());
  std::atomic<int> heard = -1;
  JobWatch watch(
      *std::move(socket), 200ms,
      [&](LostRank lost) { heard = lost.silent ? lost.rank : 100; }, begunNone);
  EXPECT_TRUE(within(2s, [&] { return heard == 0; })) << heard;
}

TEST(Silence, IsCountedFromTheLastBeat) {
  Heartbeats beats(3, 1000ms);
  const Clock::time_point start = Clock::now();
  EXPECT_FALSE(beats.pause());
  for (int rank = 0; rank < 3; ++rank)
    beats.hear(rank, 5, start);
  beats.hear(1, 6, start + 900ms);
  beats.release(2);
  EXPECT_TRUE(beats.pause());
  EXPECT_FALSE(beats.findSilent(start + 1000ms));
  EXPECT_EQ(beats.findSilent(start + 1001ms), 0);
  EXPECT_FALSE(beats.findSilent(start + 1002ms)); // it is told once
  beats.hear(1, start + 1400ms);                  // by another connection
  beats.hear(2, start);                           // that has left
  EXPECT_FALSE(beats.findSilent(start + 2400ms));
  EXPECT_EQ(beats.findSilent(start + 2401ms), 1);
  EXPECT_EQ(beats.placesText(start).size(), 3 * sizeof(RankPlace));
}

TEST_F(Store, RanksThatArePartedAreToldToAll) {
  std::atomic<int> heard = 0;
  const auto listen = [&](LostRank lost) {
    heard += lost.rank == 1 && lost.silent && lost.partedFrom == 2;
  };
  auto first = joinStore(as(0)), second = joinStore(as(1));
  ASSERT_TRUE(first.ok() && second.ok());
  JobWatch a(*std::move(first), 10s, listen, begunNone),
      b(*std::move(second), 10s, listen, begunNone);
  StoreClient one(*joinStore(as(1)), 5s), two(*joinStore(as(2)), 5s);
  std::this_thread::sleep_for(50ms); // both watch
  ASSERT_TRUE(one.miss(7).ok());     // no rank
  ASSERT_TRUE(two.miss(1).ok());
  EXPECT_TRUE(within(2s, [&] { return heard == 2; })) << heard;
  expectWell();
}

// The port of this job is another one's: its rank 0 takes the next, where the
// others find it.
TEST_F(Store, ATakenPortIsPassedOver) {
  auto next = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(next.ok());
  Rendezvous own = as(0, std::string(32, 'o'));
  own.otherPorts = {next->port()};
  const int free = next->port();
  *next = Socket();
  Rendezvous other = own;
  other.rank = 1;
  auto listener = listenForRanks(own);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  EXPECT_EQ(own.port, free);
  const auto server = TcpStoreServer::serve(*std::move(listener), 3, own.token);
  const auto found = findStore(other);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(other.port, free);
  // Nowhere: the refusal is what is said.
  other = as(1, std::string(32, 'n'));
  other.otherPorts = {free};
  other.timeout = 1s;
  EXPECT_NE(findStore(other).status().message().find("refuses rank 1"),
            std::string::npos);
}

// A backlog that is full is waited for no longer than the deadline says.
TEST(Connect, EndsAtTheDeadline) {
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  ::listen(listener->descriptor(), 0);
  std::vector<Socket> full;
  Status status;
  const auto begin = Clock::now();
  for (int i = 0; i < 8 && status.ok(); ++i) {
    auto socket =
        Socket::connect("127.0.0.1", listener->port(), Clock::now() + 300ms);
    status = socket.status();
    if (socket.ok())
      full.push_back(*std::move(socket));
  }
  EXPECT_EQ(status.code(), Code::PeerLost);
  Rendezvous meeting;
  meeting.address = "127.0.0.1";
  meeting.port = listener->port();
  meeting.timeout = 300ms;
  EXPECT_EQ(joinStore(meeting).status().code(), Code::PeerLost);
  EXPECT_LT(Clock::now() - begin, 4s);
}

// Whatever listens there is not taken for rank 0.
TEST(Connect, AnotherProgramIsNotRankZero) {
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      const Socket peer(::accept(listener->descriptor(), nullptr, nullptr));
      if (peer.descriptor() >= 0)
        (void)!::send(peer.descriptor(), "220 smtp ready\r\n", 16,
                      MSG_NOSIGNAL);
      else
        std::this_thread::sleep_for(5ms);
    }
  });
  Rendezvous meeting;
  meeting.address = "127.0.0.1";
  meeting.port = listener->port();
  meeting.timeout = 300ms;
  const Status status = joinStore(meeting).status();
  EXPECT_NE(status.message().find("does not answer as rank 0"),
            std::string::npos)
      << status.message();
  stop = true;
  other.join();
}

} // namespace
