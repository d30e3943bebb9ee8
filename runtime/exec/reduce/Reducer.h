// SPDX-License-Identifier: Apache-2.0
// Runs the collectives of a step: on a host thread, or a device queue.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlc {

// For use by one thread. Reductions that overtake others run in the order in
// which they are started, and so do the rest; both orders must be the same on
// all ranks.
class Reducer {
public:
  virtual ~Reducer() = default;

  // Registers an in-place all-reduce, at bind; returns its ticket.
  virtual Result<int> add(void *data, size_t count, DType type,
                          ReduceOp op) = 0;

  // Registers a reduce-scatter to `own`, with pieces in elements; see
  // Communicator::reduceScatter. Incompatible if it is not supported.
  virtual Result<int> addScatter(void *data, std::vector<size_t> pieces,
                                 void *own, DType type, ReduceOp op) = 0;

  // Registers an in-place all-gather, see Communicator::allGather; this rank's
  // piece is copied from `own`, or is in place if `own` is null. Incompatible
  // if it is not supported.
  virtual Result<int> addGather(void *data, std::vector<size_t> pieces,
                                const void *own) = 0;

  // Called at bind: lets the reduction overtake those that were started before
  // it, if the ranks have a second channel.
  virtual void overtake(int /*ticket*/) {}

  // Sets the bucket that a ticket reduces, and the labels of the ONNX nodes
  // whose gradients are in it, for messages and records.
  virtual void describe(int, int64_t, const std::string &) {}

  // A run of a program is about to enqueue these, one by one or as one launch.
  virtual void announce(std::span<const int> /*tickets*/) {}

  // Starts a collective after the computation so far; its previous start must
  // have been waited for. Allocates nothing.
  virtual Status start(int ticket) = 0;
  // Makes computation that is enqueued from now on wait for the result.
  virtual Status wait(int ticket) = 0;

  // Called when the step has been enqueued; returns the error of a reduction,
  // if one is known. After an error nothing more is sent.
  virtual Status endStep() = 0;
  virtual Status status() = 0; // the same, at any time

  // Seconds for which wait() and endStep() have blocked so far; nullopt if the
  // device waits instead of the host.
  virtual std::optional<double> blocked() const { return std::nullopt; }
};

} // namespace dlc
