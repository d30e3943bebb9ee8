// SPDX-License-Identifier: Apache-2.0
// Reductions by direct exchange between every two ranks.
//
// The data has one shard per rank. Each rank receives the other ranks' values
// of its shard, segment by segment, sums them in rank order from rank 0, and
// sends finished segments to the others while the next segments arrive. So an
// element's sum depends only on the ranks' values, not on sharding, segments or
// the function called. It sends as many bytes as a ring, in two steps instead
// of 2 (N - 1).
//
// With hosts of L ranks, an all-reduce first reduces within each host, one
// shard per rank; then ranks with the same position on their hosts reduce their
// shards, and each sends its result to the other ranks of its host. Only 1/L of
// the bytes is sent between hosts.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <gloo/context.h>

#include <memory>
#include <span>
#include <vector>

namespace dlc {

// Not thread-safe. All functions throw gloo's exceptions. Types and operations
// are Communicator's.
class Exchange {
public:
  // The ranks of the group, in order, and this rank's position in it.
  struct Group {
    std::vector<int> ranks;
    size_t own = 0;
  };

  explicit Exchange(std::shared_ptr<gloo::Context> context);

  // Reduces by hosts from now on, given the ranks of each host; all hosts have
  // the same number of ranks.
  void setHosts(const std::vector<std::vector<int>> &hosts);

  // Reduces `count` elements in place.
  void allReduce(void *data, size_t count, DType type, ReduceOp op);
  // `data` consists of shards with the given numbers of elements, one per rank
  // or per rank of a group; `own` receives this rank's shard, reduced. `data`
  // is undefined afterwards except for `own` inside it.
  void reduceScatter(void *data, std::span<const size_t> counts, void *own,
                     DType type, ReduceOp op);
  // `data` consists of shards with the given sizes in bytes, one per rank or
  // per rank of a group: each rank sends its own to the others.
  void allGather(void *data, std::span<const size_t> pieces);

private:
  // With groups [0, size), [size, 2 size), ...: this rank's group, and the
  // ranks with its position in each group.
  Group groupOf(size_t size) const;
  Group placesOf(size_t size) const;
  // Reduces shards with the given sizes in bytes; `gathers`: all ranks then
  // receive all of them.
  void run(const Group &group, std::byte *data, std::vector<size_t> pieces,
           std::byte *own, bool gathers, DType type, ReduceOp op);
  // Sends this rank's shard to the others of the group and receives theirs; the
  // given sizes are in bytes.
  void share(const Group &group, std::byte *data,
             const std::vector<size_t> &pieces);
  void reduceByHosts(std::byte *data, size_t count, DType type, ReduceOp op);
  void exchangeWhole(std::byte *data, size_t count, DType type, ReduceOp op);
  std::byte *room(size_t bytes);

  std::shared_ptr<gloo::Context> context_;
  Group all_, host_, place_;    // place_: same position on each host
  std::vector<std::byte> room_; // receive buffer; only grows
};

} // namespace dlc
