// Reductions in which every two ranks exchange directly.
//
// Data lie in one piece a rank. Each rank receives, segment by segment, what
// all others have for its piece, adds them up in the order of the ranks, rank
// 0's first, and sends what is done to the others while the next segments
// arrive. So an element's sum depends on the ranks' values alone: not on where
// pieces begin, on segments, or on which of these functions computed it. As
// many bytes travel as in a ring, in two steps instead of 2 (N - 1).
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
  explicit Exchange(std::shared_ptr<gloo::Context> context)
      : context_(std::move(context)) {}

  // In place, `count` elements.
  void allReduce(void *data, size_t count, DType type, ReduceOp op);
  // Pieces of so many elements, one a rank; `own` gets this rank's. What is in
  // `data` after is undefined, but for `own` if that is in it.
  void reduceScatter(void *data, std::span<const size_t> counts, void *own,
                     DType type, ReduceOp op);

private:
  // Pieces of so many bytes; `gathers`: then all ranks get all of them.
  void run(std::byte *data, std::vector<size_t> pieces, std::byte *own,
           bool gathers, DType type, ReduceOp op);
  void exchangeWhole(std::byte *data, size_t count, DType type, ReduceOp op);
  std::byte *room(size_t bytes);

  std::shared_ptr<gloo::Context> context_;
  std::vector<std::byte> room_; // what was received; grows
};

} // namespace dlc
