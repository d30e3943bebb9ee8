// SPDX-License-Identifier: Apache-2.0
// Rank 0's store while many ranks start: the messages of all of them from one
// thread. DLC_TEST_STORE_RANKS=4096 for as many, with the time of rank 0.
#include "runtime/collective/store/StoreClient.h"
#include "runtime/collective/store/TcpStore.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc;
using namespace dlc::store;
using namespace std::chrono_literals;
using Clock = Socket::Clock;

namespace {

const std::string kToken(32, 't');
constexpr size_t kPiece = 6; // bytes, as a meeting's

class ManyRanks : public testing::Test {
protected:
  void SetUp() override {
    if (const char *text = std::getenv("DLC_TEST_STORE_RANKS"))
      size_ = std::atoi(text);
    auto listener = Socket::listen("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok());
    port_ = listener->port();
    ASSERT_EQ(::pipe(end_), 0);
    server_ = ::fork();
    if (server_ > 0)
      return;
    ::close(end_[1]);
    {
      const auto server =
          TcpStoreServer::serve(*std::move(listener), size_, kToken, 60s);
      char byte;
      (void)!::read(end_[0], &byte, 1);
    }
    ::_exit(0);
  }
  void TearDown() override {
    ::close(end_[1]);
    rusage used{};
    int status = -1;
    ASSERT_EQ(::wait4(server_, &status, 0, &used), server_);
    EXPECT_EQ(status, 0);
    const double seconds =
        double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
        double(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    std::printf("rank 0's store for %d ranks: %.2f s of CPU, %ld MB\n", size_,
                seconds, used.ru_maxrss / 1024);
    EXPECT_LT(seconds, std::max(1.0, 10.0 * size_ / 4096));
  }

  void say(const Socket &socket, const Message &message) const {
    const std::string bytes = textOf(message);
    ASSERT_TRUE(socket.send(bytes.data(), bytes.size(), Clock::now() + 60s));
  }
  template <class T> T hear(const Socket &socket) const {
    T value{};
    EXPECT_TRUE(socket.receive(&value, sizeof value, Clock::now() + 60s));
    return value;
  }

  // A connection of each rank; all knock at once.
  std::vector<Socket> join() const {
    std::vector<Socket> sockets;
    for (int rank = 0; rank < size_; ++rank) {
      auto socket = Socket::connect("127.0.0.1", port_, Clock::now() + 60s);
      EXPECT_TRUE(socket.ok()) << socket.status().message();
      sockets.push_back(*std::move(socket));
      say(sockets.back(), {Query::Validate, {}, {}, kMagic});
      say(sockets.back(), {Query::Hello, {}, {kToken}, rank});
    }
    for (const Socket &socket : sockets)
      EXPECT_EQ(hear<uint32_t>(socket), kWelcome);
    return sockets;
  }

  std::string textOfRank(int rank) const {
    return fmt::format("address {:08}", rank);
  }
  // From one rank to another.
  std::string piece(int from, int to) const {
    std::string text(kPiece, '\0');
    const std::array<uint16_t, 3> numbers = {uint16_t(from), uint16_t(to), 7};
    std::memcpy(text.data(), numbers.data(), kPiece);
    return text;
  }

  void expectAnswer(const Socket &socket, int rank) const {
    ASSERT_EQ(hear<uint8_t>(socket), kStopWaiting);
    std::string text(hear<uint64_t>(socket), '\0');
    ASSERT_TRUE(socket.receive(text.data(), text.size(), Clock::now() + 60s));
    const size_t each = sizeof(uint64_t) + textOfRank(0).size() + kPiece;
    ASSERT_EQ(text.size(), each * size_t(size_));
    for (const int peer : {0, rank / 2, size_ - 1})
      EXPECT_EQ(text.substr(each * size_t(peer) + sizeof(uint64_t),
                            each - sizeof(uint64_t)),
                textOfRank(peer) + piece(peer, rank));
  }

  void meet(const std::string &name) const {
    const std::vector<Socket> sockets = join();
    say(sockets[0], {Query::Set, {name}, {std::string(32, 's')}, 0});
    for (int rank = 0; rank < size_; ++rank) {
      const Socket &socket = sockets[size_t(rank)];
      say(socket, {Query::Wait, {name}, {}, 0});
      EXPECT_EQ(hear<uint8_t>(socket), kStopWaiting);
      say(socket, {Query::Get, {name}, {}, 0});
      EXPECT_EQ(hear<uint64_t>(socket), 32U);
      hear<std::array<char, 32>>(socket);
      std::string pieces;
      for (int peer = 0; peer < size_; ++peer)
        pieces += piece(rank, peer);
      say(socket, {Query::Swap, {name}, {textOfRank(rank), pieces}, 0});
    }
    for (int rank = 0; rank < size_; ++rank)
      expectAnswer(sockets[size_t(rank)], rank);
    say(sockets[0], {Query::Erase, {name}, {}, 0});
    EXPECT_EQ(hear<int64_t>(sockets[0]), 1);
    say(sockets[0], {Query::Count, {}, {}, 0});
    EXPECT_EQ(hear<int64_t>(sockets[0]), 0) << "keys are left";
  }

  int size_ = 256, port_ = 0, end_[2] = {};
  pid_t server_ = -1;
};

TEST_F(ManyRanks, MeetInLittleTimeOfRankZero) {
  const std::vector<Socket> watches = join();
  for (const Socket &socket : watches)
    say(socket, {Query::Watch, {}, {}, 0});
  for (int number = 0; number < 4; ++number)
    meet(fmt::format("meeting{}", number));
  for (const Socket &socket : watches)
    say(socket, {Query::Beat, {}, {}, 5});
  for (const Socket &socket : watches)
    EXPECT_EQ(hear<uint32_t>(socket), kBeat);
  for (const Socket &socket : watches)
    say(socket, {Query::Farewell, {}, {}, 0});
}

// Of a swap: who has other pieces, or a rank twice, is no rank of the job.
TEST_F(ManyRanks, BadSwapsEndTheirConnection) {
  std::vector<Socket> sockets = join();
  say(sockets[0],
      {Query::Swap, {"s"}, {"a", std::string(size_t(size_) + 1, 'x')}, 0});
  say(sockets[1],
      {Query::Swap, {"s"}, {"a", std::string(size_t(size_), 'x')}, 0});
  say(sockets[2],
      {Query::Swap, {"s"}, {"a", std::string(size_t(size_) * 2, 'x')}, 0});
  for (const int rank : {0, 2}) {
    char byte;
    EXPECT_FALSE(sockets[size_t(rank)].receive(&byte, 1, Clock::now() + 2s));
  }
  const auto twice = Socket::connect("127.0.0.1", port_, Clock::now() + 5s);
  ASSERT_TRUE(twice.ok());
  say(*twice, {Query::Validate, {}, {}, kMagic});
  say(*twice, {Query::Hello, {}, {kToken}, 1});
  EXPECT_EQ(hear<uint32_t>(*twice), kWelcome);
  say(*twice, {Query::Swap, {"s"}, {"a", std::string(size_t(size_), 'x')}, 0});
  char byte;
  EXPECT_FALSE(twice->receive(&byte, 1, Clock::now() + 2s));
}

// Who waits for a rank that is lost learns it.
TEST_F(ManyRanks, ALostRankEndsASwap) {
  std::vector<Socket> sockets = join();
  say(sockets[1], {Query::Watch, {}, {}, 0});
  StoreClient client(std::move(sockets[0]), 20s);
  std::thread other([&] {
    std::this_thread::sleep_for(200ms);
    sockets[1] = Socket();
  });
  const auto swapped =
      client.swap("s", "a", std::string(size_t(size_), 'x'), size_);
  other.join();
  EXPECT_EQ(swapped.status().code(), Code::PeerLost);
  EXPECT_NE(swapped.status().message().find("rank 1 is lost"),
            std::string::npos)
      << swapped.status().message();
}

} // namespace
