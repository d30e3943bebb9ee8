// The ranks' meeting point: strangers who say anything, and a peer whose words
// arrive damaged, must not keep two ranks from meeting.
#include "runtime/collective/StoreProtocol.h"
#include "runtime/collective/TcpStore.h"
#include "test/fuzz/Targets.h"

#include <cstring>
#include <sys/socket.h>

namespace dlc::fuzz {
namespace {

using namespace std::chrono_literals;

const std::string kToken = "a word of the job";
constexpr int kRanks = 3;

template <class T> std::string bytesOf(const T &value) {
  std::string bytes(sizeof value, 0);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// As the last rank, or nearly.
std::string hello(Random &random) {
  std::string token = random.oneIn(3) ? strangeText(random, kToken) : kToken;
  store::Hello hello{store::kMagic, kRanks - 1,
                     static_cast<uint32_t>(token.size())};
  if (random.oneIn(4))
    hello.rank = static_cast<uint32_t>(strangeInteger(random, 1));
  if (random.oneIn(4))
    hello.tokenBytes = static_cast<uint32_t>(strangeInteger(random, 1));
  return bytesOf(hello) + token;
}

// Most are as they should be but for one number.
std::string request(Random &random) {
  const std::string key = random.oneIn(2) ? "a" : strangeText(random, "a");
  const std::string value = strangeText(random, "value");
  store::Request request{
      static_cast<store::Operation>(random.oneIn(4) ? random.next()
                                                    : 1 + random.below(4)),
      static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
  if (random.oneIn(3))
    request.keyBytes = static_cast<uint32_t>(strangeInteger(random, 1));
  if (random.oneIn(3))
    request.valueBytes = static_cast<uint32_t>(strangeInteger(random, 1));
  return bytesOf(request) + key + value;
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
                     .token = kToken,
                     .timeout = 5s};
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
  TcpStoreClient one(std::move(first), 5s), two(std::move(second), 5s);
  const std::string word = "the address of rank 1";
  const std::vector<char> sent(word.begin(), word.end());
  one.set("rank/1", sent);
  return two.get("rank/1") == sent ? Status()
                                   : failed("the store gave another value");
}

} // namespace dlc::fuzz
