// SPDX-License-Identifier: Apache-2.0
// Reductions in which every two ranks exchange directly.
//
// Data lie in one piece a rank. Each rank receives, segment by segment, what
// all others have for its piece, adds them up in the order of the ranks, rank
// 0's first, and sends what is done to the others while the next segments
// arrive. So an element's sum depends on the ranks' values alone: not on where
// pieces begin, on segments, or on which of these functions computed it. As
// many bytes travel as in a ring, in two steps instead of 2 (N - 1).
//
// By hosts of L ranks, an all-reduce adds up each host's first, a piece a rank;
// ranks with the same place on their hosts then reduce what they have, and give
// it to their neighbours. Between hosts an L-th of the bytes travels.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <gloo/context.h>

#include <memory>
#include <span>
#include <vector>

namespace dlc {

// For one thread. All throw gloo's exceptions. Types and operations as
// Communicator has them.
class Exchange {
public:
  // Ranks that work together, in their order, and which of them this one is.
  struct Group {
    std::vector<int> ranks;
    size_t own = 0;
  };

  explicit Exchange(std::shared_ptr<gloo::Context> context);

  // From now on by hosts: the ranks of each, equally many.
  void setHosts(const std::vector<std::vector<int>> &hosts);

  // In place, `count` elements.
  void allReduce(void *data, size_t count, DType type, ReduceOp op);
  // Pieces of so many elements, one a rank; `own` gets this rank's. What is in
  // `data` after is undefined, but for `own` if that is in it.
  void reduceScatter(void *data, std::span<const size_t> counts, void *own,
                     DType type, ReduceOp op);

private:
  // Pieces of so many bytes; `gathers`: then all ranks get all of them.
  void run(const Group &group, std::byte *data, std::vector<size_t> pieces,
           std::byte *own, bool gathers, DType type, ReduceOp op);
  // Each rank gives the others its piece of so many bytes.
  void share(const Group &group, std::byte *data,
             const std::vector<size_t> &pieces);
  void reduceByHosts(std::byte *data, size_t count, DType type, ReduceOp op);
  void exchangeWhole(std::byte *data, size_t count, DType type, ReduceOp op);
  std::byte *room(size_t bytes);

  std::shared_ptr<gloo::Context> context_;
  Group all_, host_, place_;    // place_: of the same place on each host
  std::vector<std::byte> room_; // what was received; grows
};

} // namespace dlc
