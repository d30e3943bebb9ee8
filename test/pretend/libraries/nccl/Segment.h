// SPDX-License-Identifier: Apache-2.0
// What the ranks of one communicator share: a file in memory, mapped by threads
// and processes alike.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dlc::standin {

constexpr int kMostRanks = 8;
constexpr size_t kSlot = 1 << 20; // bytes of each rank that are reduced at once

class Segment {
public:
  // The file is named by the id; whoever comes first makes it.
  static Segment *open(const ncclUniqueId &id, int ranks);
  void close();

  // Returns true when all ranks have called it as often; false when the
  // communicator was aborted by anyone.
  bool meet();
  std::byte *slot(int rank) { return slots_ + kSlot * rank; }

  void join(int rank, int device) {
    shared_->devices[rank] = device;
    shared_->joined++;
  }
  int device(int rank) const { return shared_->devices[rank]; }
  int joined() const { return shared_->joined; }
  int ranks() const { return ranks_; }

  void abort() { shared_->aborted = true; }
  bool aborted() const { return shared_->aborted; }

private:
  struct Shared {
    std::atomic<uint64_t> arrived;
    std::atomic<int> joined;
    std::atomic<bool> aborted;
    std::atomic<int> devices[kMostRanks]; // of each rank that has joined
  };

  std::string name_;
  Shared *shared_ = nullptr;
  std::byte *slots_ = nullptr;
  size_t bytes_ = 0;
  int ranks_ = 0;
  uint64_t meetings_ = 0;
};

} // namespace dlc::standin
