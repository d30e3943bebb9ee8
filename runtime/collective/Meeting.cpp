// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Meeting.h"

#include "runtime/base/numbers/Hash.h"
#include "runtime/collective/store/JobStore.h"

#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

namespace dlc {

namespace tcp = gloo::transport::tcp;
using std::chrono::milliseconds;

namespace {

constexpr uint64_t kProofSlot = 0x646c63; // not used by collectives

void throwUnless(const Status &status) {
  if (!status.ok())
    throw gloo::IoException(status.message());
}

// Creates the secret on rank 0 and passes it to all ranks.
std::string shareSecret(StoreClient &store, const std::string &key, int rank) {
  if (rank > 0) {
    const auto secret = store.get(key);
    throwUnless(secret.status());
    return *secret;
  }
  std::string secret(32, '\0');
  if (::getentropy(secret.data(), secret.size()) != 0)
    throw gloo::IoException("no random numbers");
  throwUnless(store.set(key, secret));
  return secret;
}

// The address at which a rank listens, as data for a swap: `all` is the same
// for all peers, `piece` differs: port and sequence number.
struct Place {
  static constexpr size_t kPiece = sizeof(in_port_t) + sizeof(int32_t);

  static Place of(const gloo::transport::Address &address) {
    const auto &own = dynamic_cast<const tcp::Address &>(address);
    sockaddr_storage place = own.getSockaddr();
    auto &port = portOf(place);
    const auto sequence = static_cast<int32_t>(own.getSeq());
    Place made;
    made.piece.append(reinterpret_cast<const char *>(&port), sizeof port);
    made.piece.append(reinterpret_cast<const char *>(&sequence),
                      sizeof sequence);
    port = 0;
    made.all.assign(reinterpret_cast<const char *>(&place),
                    place.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                : sizeof(sockaddr_in));
    return made;
  }
  static tcp::Address addressOf(const StoreClient::Swapped &said) {
    sockaddr_storage place{};
    int32_t sequence = 0;
    std::memcpy(&place, said.all.data(),
                std::min(said.all.size(), sizeof place));
    std::memcpy(&portOf(place), said.piece.data(), sizeof(in_port_t));
    std::memcpy(&sequence, said.piece.data() + sizeof(in_port_t),
                sizeof sequence);
    return tcp::Address(place, sequence);
  }

  std::string all, piece;

private:
  static in_port_t &portOf(sockaddr_storage &place) {
    return place.ss_family == AF_INET6
               ? reinterpret_cast<sockaddr_in6 &>(place).sin6_port
               : reinterpret_cast<sockaddr_in &>(place).sin_port;
  }
};

// Proves to `to` that `from` knows the secret; useless on any other connection.
std::string proofOf(const std::string &secret, int from, int to) {
  const std::string text = fmt::format("{} {} {}", secret, from, to);
  return sha256(std::as_bytes(std::span(text)));
}

// Exchanges proofs with all other ranks at the same time.
void checkPeers(gloo::Context &context, const std::string &secret) {
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
          "another process has connected in place of rank {}", peer));
    e.out->waitSend(nullptr, timeout);
  }
}

} // namespace

void Mesh::connect(StoreClient &store, const std::string &name,
                   const std::shared_ptr<GlooTransport> &transport) {
  device_ = transport;
  transportContext_ = transport->createContext(rank, size);
  transportContext_->setTimeout(getTimeout());
  std::string all, pieces;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) {
      pieces.append(Place::kPiece, '\0');
      continue;
    }
    const Place place =
        Place::of(transportContext_->createPair(peer)->address());
    all = place.all;
    pieces += place.piece;
  }
  const auto said = store.swap(name, all, pieces, size);
  throwUnless(said.status());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    const auto address = Place::addressOf((*said)[static_cast<size_t>(peer)]);
    peers_[address.str()] = peer;
    getPair(peer)->connect(address.bytes());
  }
}

Result<std::shared_ptr<Mesh>>
meet(const Rendezvous &rendezvous,
     const std::shared_ptr<GlooTransport> &transport, int number) {
  DLC_ASSIGN(Socket socket, joinStore(rendezvous));
  StoreClient store(std::move(socket), rendezvous.timeout);
  auto mesh = std::make_shared<Mesh>(rendezvous.rank, rendezvous.size);
  mesh->setTimeout(rendezvous.timeout);
  const std::string name = fmt::format("meeting{}", number);
  const std::string secret = shareSecret(store, name, rendezvous.rank);
  mesh->connect(store, name, transport);
  checkPeers(*mesh, secret);
  if (rendezvous.rank == 0) // all ranks have it: they have proved it
    (void)store.erase(name).ok();
  return mesh;
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
      continue; // it waits for another rank
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
