// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Meeting.h"

#include "runtime/base/numbers/Hash.h"
#include "runtime/collective/store/JobStore.h"

#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/prefix_store.h>

#include <thread>
#include <unistd.h>

namespace dlc {

using std::chrono::milliseconds;

namespace {

constexpr uint64_t kProofSlot = 0x646c63; // no collective's
constexpr char kSecret[] = "secret";

// Of rank 0, for all.
std::vector<char> shareSecret(gloo::rendezvous::Store &store, int rank) {
  std::vector<char> secret(32);
  if (rank > 0)
    return store.get(kSecret);
  if (::getentropy(secret.data(), secret.size()) != 0)
    throw gloo::IoException("no random numbers");
  store.set(kSecret, secret);
  return secret;
}

// What `from` says to `to`. Of no use in any other connection.
std::string proofOf(const std::vector<char> &secret, int from, int to) {
  const std::string text = fmt::format(
      "{} {} {}", std::string_view(secret.data(), secret.size()), from, to);
  return sha256(std::as_bytes(std::span(text)));
}

// With every other rank at once.
void checkPeers(gloo::Context &context, const std::vector<char> &secret) {
  struct Exchange {
    std::string own, other;
    std::unique_ptr<gloo::transport::UnboundBuffer> out, in;
  };
  std::vector<Exchange> all(static_cast<size_t>(context.size));
  const auto timeout = context.getTimeout();
  for (int peer = 0; peer < context.size; ++peer) {
    if (peer == context.rank)
      continue;
    Exchange &e = all[static_cast<size_t>(peer)];
    e.own = proofOf(secret, context.rank, peer);
    e.other.resize(e.own.size());
    e.out = context.createUnboundBuffer(e.own.data(), e.own.size());
    e.in = context.createUnboundBuffer(e.other.data(), e.other.size());
    e.in->recv(peer, kProofSlot, 0, e.other.size());
    e.out->send(peer, kProofSlot, 0, e.own.size());
  }
  for (int peer = 0; peer < context.size; ++peer) {
    Exchange &e = all[static_cast<size_t>(peer)];
    if (peer == context.rank)
      continue;
    e.in->waitRecv(nullptr, timeout);
    if (e.other != proofOf(secret, peer, context.rank))
      throw gloo::IoException(fmt::format(
          "a stranger has connected in the place of rank {}", peer));
    e.out->waitSend(nullptr, timeout);
  }
}

} // namespace

Result<std::shared_ptr<gloo::Context>>
meet(const Rendezvous &rendezvous,
     const std::shared_ptr<GlooTransport> &transport, int number) {
  DLC_ASSIGN(Socket socket, joinStore(rendezvous));
  GlooStore client(std::move(socket), rendezvous.timeout);
  gloo::rendezvous::PrefixStore store(fmt::format("meeting{}", number), client);
  auto context = std::make_shared<gloo::rendezvous::Context>(rendezvous.rank,
                                                             rendezvous.size);
  context->setTimeout(rendezvous.timeout);
  std::shared_ptr<gloo::transport::Device> device = transport;
  const std::vector<char> secret = shareSecret(store, rendezvous.rank);
  context->connectFullMesh(store, device);
  checkPeers(*context, secret);
  return std::shared_ptr<gloo::Context>(std::move(context));
}

std::optional<MissingRank> findMissingRank(const Rendezvous &rendezvous,
                                           int64_t begun,
                                           std::optional<int> waitedFor) {
  constexpr milliseconds kStore(200), kAnswer(200);
  Rendezvous soon = rendezvous;
  soon.timeout = kStore;
  const MissingRank store{0, false};
  auto socket = joinStore(soon);
  if (!socket.ok())
    return store;
  StoreClient client(*std::move(socket), kStore);
  if (!client.askForBeats().ok())
    return store;
  std::this_thread::sleep_for(kAnswer);
  const auto places = client.places();
  if (!places.ok())
    return store;
  std::optional<MissingRank> found;
  int64_t least = begun;
  for (size_t rank = 0; rank < places->size(); ++rank) {
    const RankPlace &place = (*places)[rank];
    const int number = static_cast<int>(rank);
    if (number == rendezvous.rank)
      continue;
    if (place.waits() && place.since >= 0 &&
        place.since <= kAnswer.count() + 50)
      continue; // for another
    if (place.begun() < least)
      found = MissingRank{number, true};
    else if (!found && (place.since < 0 || place.since > kAnswer.count() + 50))
      found = MissingRank{number, false};
    least = std::min(least, place.begun());
  }
  if (found)
    (void)client.accuse(found->rank).ok();
  else if (waitedFor)
    (void)client.miss(*waitedFor).ok();
  return found;
}

} // namespace dlc
