// SPDX-License-Identifier: Apache-2.0
// What runs the collectives of a step: on the host's threads, or on a queue of
// the device.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/collective/Communicator.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// For one thread. Reductions are done in the order in which they are started,
// which is the same on all ranks.
class Reducer {
public:
  virtual ~Reducer() = default;

  // Registers an all-reduce in place, at bind; returns its ticket.
  virtual Result<int> add(void *data, size_t count, DType type,
                          ReduceOp op) = 0;

  // The same of a reduce-scatter to `own`, pieces in elements; see
  // Communicator::reduceScatter. Incompatible where there is none.
  virtual Result<int> addScatter(void *data, std::vector<size_t> pieces,
                                 void *own, DType type, ReduceOp op) = 0;

  // The same of an all-gather in place, see Communicator::allGather; this
  // rank's piece comes from `own`, or is there if that is null. Incompatible
  // where there is none.
  virtual Result<int> addGather(void *data, std::vector<size_t> pieces,
                                const void *own) = 0;

  // What it reduces: a bucket, and the labels of the ONNX nodes whose gradients
  // are in it; for messages and records.
  virtual void describe(int, int64_t, const std::string &) {}

  // Starts it, after the computation so far; its last start must have been
  // waited for. Allocates nothing.
  virtual Status start(int ticket) = 0;
  // The computation that is enqueued from now on may read the result.
  virtual Status wait(int ticket) = 0;

  // Called when the step was enqueued: the error of a reduction if one is
  // known. After an error nothing more is sent.
  virtual Status endStep() = 0;
  virtual Status status() = 0; // the same, at any time

  // Seconds for which wait() and endStep() have blocked so far; none where the
  // device waits and not the host.
  virtual std::optional<double> blocked() const { return std::nullopt; }
};

} // namespace dlc
