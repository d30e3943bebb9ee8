// SPDX-License-Identifier: Apache-2.0
// The threads of one block as fibers of one host thread: they run one at a
// time, each until it waits for others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dlc::test {

/// The order in which the scheduler visits the threads of a block.
enum class Order { Forward, Reverse, Random };

/// How the values of a warp's threads become each other's.
enum class WarpOp {
  ShuffleXor,
  ShuffleIdx,
  ShuffleUp,
  ShuffleDown,
  All,
  Any,
  Ballot
};

class Fibers {
public:
  explicit Fibers(int64_t most); // threads of the largest block
  ~Fibers();
  Fibers(const Fibers &) = delete;

  /// Runs `body` as each of `count` threads to its end. Returns what went wrong
  /// (threads that wait for ones that ended, or for different things); empty:
  /// nothing.
  std::string run(int64_t count, Order order, unsigned seed,
                  const std::function<void()> &body);

  //===--- called by threads ----------------------------------------------===//

  static Fibers &current();
  int64_t thread() const { return running; }
  int64_t count() const { return total; }
  void barrier();
  /// `a` and `b` are the operands of PTX's shfl.sync and vote.sync.
  uint32_t warp(WarpOp op, uint32_t members, uint32_t value, uint32_t a,
                uint32_t b);
  /// Ends the run, unless it has ended: no thread is visited again.
  void fail(const std::string &what);

private:
  enum State { Ready, AtBarrier, InWarp, Done };
  struct Fiber {
    void *stackPointer = nullptr;
    char *stack = nullptr; // its end; none before the first visit
    State state = Ready;
  };
  struct Warp {
    uint32_t arrived = 0, members = 0;
    WarpOp op;
    uint32_t value[32], a[32], b[32], result[32];
  };

  static void enter();
  void suspend(State state);
  void change(Fiber &f, State state);
  void begin(Fiber &f);
  void visit(int64_t i);
  void finish(Warp &w, int64_t first);

  char *stacks;
  std::vector<char *> idle; // ends of stacks that no thread is on
  std::vector<Fiber> fibers;
  std::vector<int64_t> visits; // the order of a pass over all threads
  std::vector<Warp> warps;
  void *scheduler = nullptr;
  const std::function<void()> *body = nullptr;
  int64_t running = 0, total = 0, most;
  int64_t inState[Done + 1] = {};
  std::string error;
};

} // namespace dlc::test
