// SPDX-License-Identifier: Apache-2.0
#include "Undefined.h"
#include "Launch.h"

#include <algorithm>

namespace dlc::ptx {
namespace {

/// A set of registers.
class Registers {
public:
  explicit Registers(size_t count, bool all = false)
      : words((count + 63) / 64, all ? UINT64_MAX : 0) {}
  bool has(uint32_t r) const { return words[r / 64] >> r % 64 & 1; }
  void add(uint32_t r) { words[r / 64] |= uint64_t(1) << r % 64; }
  /// Keeps what both have; returns whether that is less.
  bool keep(const Registers &other) {
    uint64_t lost = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      lost |= words[i] & ~other.words[i];
      words[i] &= other.words[i];
    }
    return lost;
  }

private:
  std::vector<uint64_t> words;
};

/// What every path to a block has written.
class Analysis {
public:
  explicit Analysis(const Kernel &kernel)
      : kernel(kernel), blockOf(kernel.code.size()),
        known(kernel.blocks.size(), Registers(kernel.registerCount(), true)) {
    for (uint32_t b = 0; b < kernel.blocks.size(); ++b)
      for (size_t i = kernel.blocks[b]; i < end(b); ++i)
        blockOf[i] = b;
    known[0] = Registers(kernel.registerCount());
    std::vector<uint32_t> changed = {0};
    std::vector<bool> isReached(kernel.blocks.size());
    isReached[0] = true;
    while (!changed.empty()) {
      const uint32_t block = changed.back();
      changed.pop_back();
      Registers now = known[block];
      visit(block, now, [](size_t, uint32_t) {});
      for (uint32_t next : successors(block))
        if (known[next].keep(now) || !isReached[next]) {
          isReached[next] = true;
          changed.push_back(next);
        }
    }
  }

  size_t end(uint32_t block) const {
    return block + 1 < kernel.blocks.size() ? kernel.blocks[block + 1]
                                            : kernel.code.size();
  }
  /// Calls `f` with each read of a register that `now` lacks.
  template <class F> void visit(uint32_t block, Registers &now, F f) const {
    for (size_t i = kernel.blocks[block]; i < end(block); ++i) {
      for (uint32_t r : kernel.effects[i].reads)
        if (!now.has(r))
          f(i, r);
      for (uint32_t r : kernel.effects[i].writes)
        now.add(r);
    }
  }
  const Registers &before(uint32_t block) const { return known[block]; }

private:
  /// Of its last instruction, and of one that may skip it.
  std::vector<uint32_t> successors(uint32_t block) const {
    std::vector<uint32_t> found;
    for (size_t i = kernel.blocks[block]; i < end(block); ++i) {
      const Effects &e = kernel.effects[i];
      for (uint32_t target : e.targets)
        found.push_back(blockOf[target]);
      if (i + 1 == end(block) && e.falls && i + 1 < kernel.code.size())
        found.push_back(blockOf[i + 1]);
    }
    return found;
  }

  const Kernel &kernel;
  std::vector<uint32_t> blockOf; // of each instruction
  std::vector<Registers> known;  // before each block
};

const Instruction *checked(const Instruction *i, Thread &t) {
  const Kernel &kernel = t.launch.kernel;
  const size_t number = size_t(i - kernel.code.data());
  const Kernel::Check &check = kernel.checks.at(number);
  for (uint32_t r : check.reads)
    if (!t.defined[r])
      return t.launch.fail(
          i, t, "reads " + kernel.names[r] + ", which nothing has written");
  const Instruction *next = check.run(i, t);
  for (uint32_t r : check.writes)
    t.defined[r] = 1;
  return next;
}

} // namespace

size_t checkUndefined(Kernel &kernel) {
  const Analysis analysis(kernel);
  Registers doubtful(kernel.registerCount());
  std::map<size_t, std::vector<uint32_t>> reads;
  for (uint32_t b = 0; b < kernel.blocks.size(); ++b) {
    Registers now = analysis.before(b);
    analysis.visit(b, now, [&](size_t i, uint32_t r) {
      doubtful.add(r);
      reads[i].push_back(r);
    });
  }
  if (reads.empty())
    return 0;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    Kernel::Check check{kernel.code[i].run, {}, {}};
    if (auto found = reads.find(i); found != reads.end())
      check.reads = found->second;
    for (uint32_t r : kernel.effects[i].writes)
      if (doubtful.has(r))
        check.writes.push_back(r);
    if (check.reads.empty() && check.writes.empty())
      continue;
    kernel.code[i].run = checked;
    kernel.checks.emplace(i, std::move(check));
  }
  return reads.size();
}

} // namespace dlc::ptx
