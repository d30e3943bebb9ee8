// SPDX-License-Identifier: Apache-2.0
// The ranks' meeting point: strangers who say anything, and a peer whose words
// arrive damaged, must not keep two ranks from meeting.
#include "runtime/collective/store/JobStore.h"
#include "runtime/collective/store/TcpStore.h"
#include "test/fuzz/Targets.h"

#include <cstring>
#include <sys/socket.h>

namespace dlc::fuzz {
namespace {

using namespace std::chrono_literals;

const std::string kToken = "a word of the job";
constexpr int kRanks = 3;

// As the last rank, or nearly.
std::string hello(Random &random) {
  const std::string token =
      random.oneIn(3) ? strangeText(random, kToken) : kToken;
  const int64_t magic =
      random.oneIn(8) ? strangeInteger(random, 1) : store::kMagic;
  const int64_t rank = random.oneIn(4) ? strangeInteger(random, 1) : kRanks - 1;
  return store::textOf({store::Query::Validate, {}, {}, magic}) +
         store::textOf({store::Query::Hello, {}, {token}, rank});
}

// Most are as they should be but for one number.
std::string request(Random &random) {
  constexpr store::Query kQueries[] = {
      store::Query::Set,     store::Query::CompareSet, store::Query::Get,
      store::Query::Add,     store::Query::Check,      store::Query::Wait,
      store::Query::Count,   store::Query::Erase,      store::Query::Append,
      store::Query::Ping,    store::Query::CancelWait, store::Query::Watch,
      store::Query::Farewell};
  store::Message message;
  message.query = kQueries[random.below(std::size(kQueries))];
  message.keys = {random.oneIn(2) ? "a" : strangeText(random, "a")};
  message.values = {strangeText(random, "1"), strangeText(random, "value")};
  message.number = static_cast<int64_t>(random.next());
  std::string bytes = store::textOf(message);
  if (random.oneIn(4))
    bytes[0] = static_cast<char>(random.next());
  if (random.oneIn(3) && bytes.size() > sizeof(uint64_t)) {
    const auto size = static_cast<uint64_t>(strangeInteger(random, 1));
    std::memcpy(bytes.data() + 1, &size, sizeof size);
  }
  return bytes;
}

std::string conversation(Random &random) {
  std::string bytes = random.oneIn(8) ? "" : hello(random);
  for (uint64_t n = random.below(5); n > 0; --n)
    bytes += request(random);
  if (random.oneIn(3))
    mutateBytes(random, bytes);
  return bytes;
}

} // namespace

Status fuzzStore(Job &job) {
  DLC_ASSIGN(Socket listener, Socket::listen("127.0.0.1", 0));
  Rendezvous meeting{.size = kRanks,
                     .address = "127.0.0.1",
                     .port = listener.port(),
                     .otherPorts = {},
                     .token = kToken,
                     .notice = {},
                     .timeout = 5s,
                     .host = {},
                     .interface = {}};
  DLC_ASSIGN(auto server,
             TcpStoreServer::serve(std::move(listener), kRanks, kToken));
  std::vector<Socket> others;
  for (uint64_t i = 1 + job.random.below(8); i > 0; --i) {
    DLC_ASSIGN(Socket other, Socket::connect("127.0.0.1", meeting.port,
                                             Socket::Clock::now() + 5s));
    const std::string bytes = conversation(job.random);
    ::send(other.descriptor(), bytes.data(), bytes.size(),
           MSG_NOSIGNAL | MSG_DONTWAIT);
    if (job.random.oneIn(2))
      ::shutdown(other.descriptor(), SHUT_WR);
    others.push_back(std::move(other));
  }
  DLC_ASSIGN(Socket first, joinStore(meeting));
  meeting.rank = 1;
  DLC_ASSIGN(Socket second, joinStore(meeting));
  StoreClient one(std::move(first), 5s), two(std::move(second), 5s);
  const std::string sent = "the address of rank 1";
  DLC_TRY(one.set("rank/1", sent));
  DLC_TRY(one.get("rank/1").status()); // the store has it by now
  DLC_ASSIGN(const std::string found, two.get("rank/1"));
  return found == sent ? Status() : failed("the store gave another value");
}

} // namespace dlc::fuzz
