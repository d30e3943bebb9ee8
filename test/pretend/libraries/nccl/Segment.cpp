// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/nccl/Segment.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace dlc::standin {

Segment *Segment::open(const ncclUniqueId &id, int ranks) {
  auto *segment = new Segment;
  segment->ranks_ = ranks;
  segment->name_ = std::string("/") + id.internal;
  segment->bytes_ = 4096 + kSlot * static_cast<size_t>(ranks);
  const int file = ::shm_open(segment->name_.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(segment->bytes_)) != 0) {
    delete segment;
    return nullptr;
  }
  void *memory = ::mmap(nullptr, segment->bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED, file, 0);
  ::close(file);
  segment->shared_ = static_cast<Shared *>(memory); // zeroes are its start
  segment->slots_ = static_cast<std::byte *>(memory) + 4096;
  return segment;
}

void Segment::close() {
  ::shm_unlink(name_.c_str()); // all have joined, or it failed
  ::munmap(shared_, bytes_);
  delete this;
}

bool Segment::meet() {
  const uint64_t all = static_cast<uint64_t>(ranks_) * ++meetings_;
  shared_->arrived++;
  while (shared_->arrived < all) {
    if (aborted())
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return !aborted();
}

} // namespace dlc::standin
