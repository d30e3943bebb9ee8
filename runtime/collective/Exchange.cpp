// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Exchange.h"
#include "runtime/collective/Reduce.h"

#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dlc {
namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

constexpr size_t kSegment = 512 << 10; // bytes
constexpr size_t kWindow = 4;          // segments in flight per rank
// Each rank sends its whole data, in one step, if that is at most this much.
constexpr size_t kWhole = 16 << 10;

// Gloo's own collectives have the prefixes 1 to 8.
gloo::Slot slotOf(uint8_t step) { return gloo::Slot::build(0x40, step); }

size_t segmentsOf(size_t bytes) { return (bytes + kSegment - 1) / kSegment; }
size_t bytesOfSegment(size_t bytes, size_t segment) {
  return std::min(kSegment, bytes - segment * kSegment);
}

void received(const Buffer &buffer) {
  if (!buffer->waitRecv())
    throw gloo::IoException("the wait was ended");
}
void sent(const Buffer &buffer) {
  if (!buffer->waitSend())
    throw gloo::IoException("the wait was ended");
}

// Bytes of each rank's piece of `count` elements of `size` bytes.
std::vector<size_t> cut(size_t count, size_t size, size_t ranks) {
  std::vector<size_t> pieces;
  size_t begin = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const size_t end = count / ranks * (rank + 1) + // without overflow
                       count % ranks * (rank + 1) / ranks;
    pieces.push_back((end - begin) * size);
    begin = end;
  }
  return pieces;
}

size_t beginOf(const std::vector<size_t> &pieces, size_t rank) {
  return std::accumulate(pieces.begin(),
                         pieces.begin() + static_cast<std::ptrdiff_t>(rank),
                         size_t(0));
}

// One reduction within a group: one piece per rank, with sizes in bytes. Ranks
// are positions in the group.
class Pieces {
public:
  Pieces(gloo::Context &context, const Exchange::Group &group, std::byte *data,
         std::vector<size_t> pieces, std::byte *own)
      : context_(context), ranks_(group.ranks), rank_(group.own), data_(data),
        own_(own), pieces_(std::move(pieces)), begins_(pieces_.size()),
        in_(pieces_.size()), out_(pieces_.size()) {
    std::exclusive_scan(pieces_.begin(), pieces_.end(), begins_.begin(),
                        size_t(0));
    const size_t ranks = pieces_.size();
    // Starts with the next rank, so that not all ranks send to the same one.
    for (size_t next = 1; next < ranks; ++next)
      peers_.push_back((rank_ + next) % ranks);
    all_ = context.createUnboundBuffer(data, begins_.back() + pieces_.back());
    result_ = context.createUnboundBuffer(own, pieces_[rank_]);
  }

  // Bytes of the receive buffer for other ranks' values of this piece.
  size_t roomBytes() const { return pieces_.size() * window(); }

  void expectContributions(std::byte *room) {
    room_ = room;
    for (size_t peer : peers_) {
      in_[peer] =
          context_.createUnboundBuffer(room + peer * window(), window());
      for (size_t k = 0; k < std::min(kWindow, segments()); ++k)
        expect(peer, k);
    }
  }
  // Results are received into `data`: a peer sends its result after it has
  // received this rank's values from there.
  void expectResults() {
    gathers_ = true;
    for (size_t peer : peers_) {
      out_[peer] =
          context_.createUnboundBuffer(data_ + begins_[peer], pieces_[peer]);
      for (size_t k = 0; k < segmentsOf(pieces_[peer]); ++k)
        out_[peer]->recv(ranks_[peer], slotOf(1), k * kSegment,
                         bytesOfSegment(pieces_[peer], k));
    }
  }
  void sendContributions() {
    const size_t most =
        segmentsOf(*std::max_element(pieces_.begin(), pieces_.end()));
    for (size_t k = 0; k < most; ++k)
      for (size_t peer : peers_)
        if (k < segmentsOf(pieces_[peer])) {
          all_->send(ranks_[peer], slotOf(0), begins_[peer] + k * kSegment,
                     bytesOfSegment(pieces_[peer], k));
          ++contributions_;
        }
  }
  void add(DType type, ReduceOp op) {
    std::vector<const std::byte *> sources(pieces_.size());
    for (size_t k = 0; k < segments(); ++k) {
      const size_t bytes = bytesOfSegment(pieces_[rank_], k);
      for (size_t peer : peers_) {
        received(in_[peer]);
        sources[peer] = room_ + peer * window() + k % kWindow * kSegment;
      }
      sources[rank_] = data_ + begins_[rank_] + k * kSegment;
      reduceInOrder(own_ + k * kSegment, sources, bytes / sizeOf(type), type,
                    op);
      for (size_t peer : peers_) {
        if (gathers_) {
          result_->send(ranks_[peer], slotOf(1), k * kSegment, bytes);
          ++results_;
        }
        if (k + kWindow < segments())
          expect(peer, k + kWindow);
      }
    }
  }
  void finish() {
    if (gathers_)
      for (size_t peer : peers_)
        for (size_t k = 0; k < segmentsOf(pieces_[peer]); ++k)
          received(out_[peer]);
    for (; contributions_ > 0; --contributions_)
      sent(all_);
    for (; results_ > 0; --results_)
      sent(result_);
  }

private:
  size_t segments() const { return segmentsOf(pieces_[rank_]); }
  size_t window() const { return std::min(kWindow * kSegment, pieces_[rank_]); }
  void expect(size_t peer, size_t segment) {
    in_[peer]->recv(ranks_[peer], slotOf(0), segment % kWindow * kSegment,
                    bytesOfSegment(pieces_[rank_], segment));
  }

  gloo::Context &context_;
  const std::vector<int> &ranks_;
  const size_t rank_;
  std::byte *const data_, *const own_;
  std::byte *room_ = nullptr;
  const std::vector<size_t> pieces_;
  std::vector<size_t> begins_, peers_;
  std::vector<Buffer> in_, out_; // by sending rank
  Buffer all_, result_;
  bool gathers_ = false;
  size_t contributions_ = 0, results_ = 0; // number of sends to wait for
};

} // namespace

Exchange::Exchange(std::shared_ptr<gloo::Context> context)
    : context_(std::move(context)) {
  all_.ranks.resize(static_cast<size_t>(context_->size));
  std::iota(all_.ranks.begin(), all_.ranks.end(), 0);
  all_.own = static_cast<size_t>(context_->rank);
}

void Exchange::setHosts(const std::vector<std::vector<int>> &hosts) {
  for (const std::vector<int> &ranks : hosts) {
    const auto own = std::find(ranks.begin(), ranks.end(), context_->rank);
    if (own == ranks.end())
      continue;
    host_ = {ranks, static_cast<size_t>(own - ranks.begin())};
    place_.own = static_cast<size_t>(&ranks - hosts.data());
  }
  for (const std::vector<int> &ranks : hosts)
    place_.ranks.push_back(ranks[host_.own]);
}

std::byte *Exchange::room(size_t bytes) {
  if (room_.size() < bytes)
    room_.resize(bytes);
  return room_.data();
}

void Exchange::run(const Group &group, std::byte *data,
                   std::vector<size_t> pieces, std::byte *own, bool gathers,
                   DType type, ReduceOp op) {
  Pieces work(*context_, group, data, std::move(pieces), own);
  work.expectContributions(room(work.roomBytes()));
  if (gathers)
    work.expectResults();
  work.sendContributions();
  work.add(type, op);
  work.finish();
}

void Exchange::exchangeWhole(std::byte *data, size_t count, DType type,
                             ReduceOp op) {
  const auto ranks = static_cast<size_t>(context_->size),
             rank = static_cast<size_t>(context_->rank);
  const size_t bytes = count * sizeOf(type);
  std::byte *const arrived = room(ranks * bytes);
  std::memcpy(arrived + rank * bytes, data, bytes);
  std::vector<Buffer> in(ranks);
  std::vector<const std::byte *> sources;
  const Buffer own =
      context_->createUnboundBuffer(arrived + rank * bytes, bytes);
  for (size_t peer = 0; peer < ranks; ++peer) {
    sources.push_back(arrived + peer * bytes);
    if (peer == rank)
      continue;
    in[peer] = context_->createUnboundBuffer(arrived + peer * bytes, bytes);
    in[peer]->recv(static_cast<int>(peer), slotOf(2), 0, bytes);
    own->send(static_cast<int>(peer), slotOf(2), 0, bytes);
  }
  for (const Buffer &buffer : in)
    if (buffer)
      received(buffer);
  reduceInOrder(data, sources, count, type, op);
  for (size_t sends = 1; sends < ranks; ++sends)
    sent(own);
}

void Exchange::allReduce(void *data, size_t count, DType type, ReduceOp op) {
  auto *bytes = static_cast<std::byte *>(data);
  const auto ranks = static_cast<size_t>(context_->size);
  const size_t size = sizeOf(type);
  if (count * size * (ranks - 1) <= kWhole)
    return exchangeWhole(bytes, count, type, op);
  if (!host_.ranks.empty())
    return reduceByHosts(bytes, count, type, op);
  std::vector<size_t> pieces = cut(count, size, ranks);
  std::byte *const own = bytes + beginOf(pieces, all_.own);
  run(all_, bytes, std::move(pieces), own, true, type, op);
}

void Exchange::share(const Group &group, std::byte *data,
                     const std::vector<size_t> &pieces) {
  std::vector<Buffer> in;
  const Buffer own = context_->createUnboundBuffer(
      data + beginOf(pieces, group.own), pieces[group.own]);
  size_t sends = 0;
  const auto forSegments = [&](size_t peer, const auto &f) {
    for (size_t k = 0; k < segmentsOf(pieces[peer]); ++k)
      f(k * kSegment, bytesOfSegment(pieces[peer], k));
  };
  for (size_t next = 1; next < group.ranks.size(); ++next) {
    const size_t peer = (group.own + next) % group.ranks.size();
    in.push_back(context_->createUnboundBuffer(data + beginOf(pieces, peer),
                                               pieces[peer]));
    forSegments(peer, [&](size_t at, size_t bytes) {
      in.back()->recv(group.ranks[peer], slotOf(3), at, bytes);
    });
    forSegments(group.own, [&](size_t at, size_t bytes) {
      own->send(group.ranks[peer], slotOf(3), at, bytes);
      ++sends;
    });
  }
  for (size_t next = 1; next < group.ranks.size(); ++next)
    forSegments((group.own + next) % group.ranks.size(),
                [&](size_t, size_t) { received(in[next - 1]); });
  for (; sends > 0; --sends)
    sent(own);
}

void Exchange::reduceByHosts(std::byte *data, size_t count, DType type,
                             ReduceOp op) {
  const size_t size = sizeOf(type);
  const std::vector<size_t> pieces = cut(count, size, host_.ranks.size());
  std::byte *const own = data + beginOf(pieces, host_.own);
  const size_t bytes = pieces[host_.own];
  run(host_, data, pieces, own, false, type, op);
  std::vector<size_t> parts = cut(bytes / size, size, place_.ranks.size());
  std::byte *const part = own + beginOf(parts, place_.own);
  run(place_, own, std::move(parts), part, true, type, op);
  share(host_, data, pieces);
}

Exchange::Group Exchange::groupOf(size_t size) const {
  Group group{std::vector<int>(size), all_.own % size};
  std::iota(group.ranks.begin(), group.ranks.end(),
            static_cast<int>(all_.own - group.own));
  return group;
}

Exchange::Group Exchange::placesOf(size_t size) const {
  Group group{{}, all_.own / size};
  for (size_t rank = all_.own % size; rank < all_.ranks.size(); rank += size)
    group.ranks.push_back(static_cast<int>(rank));
  return group;
}

void Exchange::reduceScatter(void *data, std::span<const size_t> counts,
                             void *own, DType type, ReduceOp op) {
  std::vector<size_t> pieces;
  for (size_t count : counts)
    pieces.push_back(count * sizeOf(type));
  const Group group = groupOf(pieces.size()), places = placesOf(pieces.size());
  const size_t count = counts[group.own];
  auto *const to = static_cast<std::byte *>(own);
  run(group, static_cast<std::byte *>(data), std::move(pieces), to, false, type,
      op);
  if (places.ranks.size() == 1 || count == 0)
    return;
  std::vector<size_t> parts = cut(count, sizeOf(type), places.ranks.size());
  std::byte *const part = to + beginOf(parts, places.own);
  run(places, to, std::move(parts), part, true, type, op);
}

void Exchange::allGather(void *data, std::span<const size_t> pieces) {
  share(groupOf(pieces.size()), static_cast<std::byte *>(data),
        {pieces.begin(), pieces.end()});
}

} // namespace dlc
