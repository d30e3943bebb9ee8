#include "runtime/collective/StoreProtocol.h"
#include "runtime/collective/TcpStore.h"

#include <gloo/common/error.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc {

using namespace store;
using Clock = Socket::Clock;

// One attempt; `refused`: another will not help.
static Result<Socket> join(const Rendezvous &rendezvous,
                           Clock::time_point deadline, bool &refused) {
  DLC_ASSIGN(Socket socket,
             Socket::connect(rendezvous.address, rendezvous.port, deadline));
  const Hello hello{kMagic, static_cast<uint32_t>(rendezvous.rank),
                    static_cast<uint32_t>(rendezvous.token.size())};
  uint32_t answer = 0;
  const bool answered =
      socket.send(&hello, sizeof hello, deadline) &&
      socket.send(rendezvous.token.data(), rendezvous.token.size(), deadline) &&
      socket.receive(&answer, sizeof answer, deadline);
  if (answered && answer == kWelcome)
    return socket;
  refused = answered && answer == kRefused;
  if (refused)
    return peerLost("rank 0 at {}:{} refuses rank {}: DLC_JOB_TOKEN differs, "
                    "or it is of another job",
                    rendezvous.address, rendezvous.port, rendezvous.rank);
  return peerLost("what listens at {}:{} does not answer as rank 0 does",
                  rendezvous.address, rendezvous.port);
}

Result<Socket> joinStore(const Rendezvous &rendezvous) {
  const Clock::time_point deadline = Clock::now() + rendezvous.timeout;
  constexpr std::chrono::milliseconds kPause(20);
  for (bool refused = false;;) {
    auto joined = join(rendezvous, deadline, refused);
    // An attempt in no time would hide what was wrong with this one.
    if (joined.ok() || refused || Clock::now() + 4 * kPause >= deadline)
      return joined;
    std::this_thread::sleep_for(kPause);
  }
}

void TcpStoreClient::set(const std::string &key,
                         const std::vector<char> &data) {
  const Clock::time_point deadline = Clock::now() + timeout_;
  const Request request{Operation::Set, static_cast<uint32_t>(key.size()),
                        static_cast<uint32_t>(data.size())};
  uint32_t answer = 1;
  if (!socket_.send(&request, sizeof request, deadline) ||
      !socket_.send(key.data(), key.size(), deadline) ||
      !socket_.send(data.data(), data.size(), deadline) ||
      !socket_.receive(&answer, sizeof answer, deadline) || answer != 0)
    throw gloo::IoException("rank 0's store does not answer");
}

std::vector<char> TcpStoreClient::get(const std::string &key) {
  return get(key, timeout_);
}

std::vector<char> TcpStoreClient::get(const std::string &key,
                                      std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const Request request{Operation::Get, static_cast<uint32_t>(key.size()), 0};
  uint32_t bytes = 0, rank = 0;
  if (!socket_.send(&request, sizeof request, deadline) ||
      !socket_.send(key.data(), key.size(), deadline) ||
      !socket_.receive(&bytes, sizeof bytes, deadline))
    throw gloo::IoException(Clock::now() < deadline
                                ? "rank 0 is lost"
                                : "the other ranks did not come");
  if (bytes == kLost && socket_.receive(&rank, sizeof rank, deadline))
    throw gloo::IoException("rank " + std::to_string(rank) + " is lost");
  if (bytes > StoreLimits::kValue)
    throw gloo::IoException("rank 0's store answers with nonsense");
  std::vector<char> value(bytes);
  if (!socket_.receive(value.data(), value.size(), deadline))
    throw gloo::IoException("rank 0's store does not answer");
  return value;
}

void TcpStoreClient::wait(const std::vector<std::string> &keys) {
  wait(keys, timeout_);
}

void TcpStoreClient::wait(const std::vector<std::string> &keys,
                          const std::chrono::milliseconds &timeout) {
  for (const std::string &key : keys)
    get(key, timeout);
}

JobWatch::JobWatch(Socket socket, std::function<void(int)> lost)
    : socket_(std::move(socket)), lost_(std::move(lost)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this] { listen(); });
}

JobWatch::~JobWatch() {
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
  const Request farewell{Operation::Farewell, 0, 0};
  if (!abandoned_)
    socket_.send(&farewell, sizeof farewell,
                 Clock::now() + std::chrono::seconds(1));
}

void JobWatch::listen() {
  const auto soon = [] { return Clock::now() + StoreLimits::kPatience; };
  const Request watch{Operation::Watch, 0, 0};
  uint32_t rank = 0; // if the store cannot be reached
  if (socket_.send(&watch, sizeof watch, soon())) {
    pollfd entries[] = {{socket_.descriptor(), POLLIN, 0}, {wake_, POLLIN, 0}};
    do
      ::poll(entries, 2, -1);
    while (!entries[0].revents && !entries[1].revents);
    if (entries[1].revents)
      return;
    if (!socket_.receive(&rank, sizeof rank, soon()))
      rank = 0;
  }
  if (rank != kEnd)
    lost_(static_cast<int>(rank));
}

} // namespace dlc
