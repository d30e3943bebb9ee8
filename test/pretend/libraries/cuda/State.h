// SPDX-License-Identifier: Apache-2.0
// What Engine.cpp and Capture.cpp share.
#pragma once

#include "test/pretend/libraries/cuda/Engine.h"

#include <chrono>
#include <map>
#include <set>

namespace dlc::standin {

// How far each stream had come, as a piece of work knows it.
struct Clock : std::map<int, uint64_t> {
  void merge(const Clock &other) {
    for (const auto &[stream, index] : other)
      (*this)[stream] = std::max((*this)[stream], index);
  }
};

struct Op {
  std::string name;
  Run run;
  std::vector<std::shared_ptr<Op>> before;
  int device;
  Clock clock; // of what happens before it, and itself
  bool wanted = false, running = false, done = false;
  // On the clock of a GPU that begins work as soon as it can: when that is,
  // known of what it follows and of when the host enqueued it; and when it
  // ends.
  std::chrono::steady_clock::time_point begin, end;
};

struct Node {
  std::string name;
  Run run;
  std::vector<size_t> before;
  std::vector<Access> accesses;
};
using Nodes = std::vector<Node>;

struct Session {
  Stream *origin;
  std::set<Stream *> streams;
  Nodes nodes;
  bool open = true;
};

struct Stream {
  int number, device;
  uint64_t length = 0;
  std::shared_ptr<Op> last;
  std::vector<std::shared_ptr<Op>> awaited; // by events, since the last work
  std::shared_ptr<Session> capture;
  std::vector<size_t> tips; // nodes that the next captured one follows
};

struct Event {
  bool isTimed;
  int device;
  std::shared_ptr<Op> op; // null: nothing was recorded, or it was all done
  std::shared_ptr<Session> capture;
  std::vector<size_t> tips;
};

struct GraphExec {
  std::shared_ptr<const Nodes> nodes;
};

bool isLive(const Stream *stream);
bool isLive(const Event *event);
CUresult runNodes(const Nodes &nodes);
size_t choose(size_t count); // below count, by the seed

} // namespace dlc::standin
