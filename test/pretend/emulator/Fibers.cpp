// SPDX-License-Identifier: Apache-2.0
#include "Fibers.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <sys/mman.h>

#if !defined(__x86_64__)
#error "the switch between fibers is written for x86-64"
#endif

extern "C" void dlc_switch_fiber(void **from, void *to);
// Saves what a call keeps, changes stacks, and continues on the other one: by a
// jump, because a return there is always predicted wrongly.
asm(R"(
.text
.globl dlc_switch_fiber
.type dlc_switch_fiber, @function
dlc_switch_fiber:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  pop %rcx
  jmp *%rcx
)");

namespace dlc::test {
namespace {

constexpr int64_t kStack = 64 << 10, kSavedRegisters = 6;
constexpr int64_t kOffsets = 16, kOffset = 320;
Fibers *active = nullptr;

} // namespace

Fibers &Fibers::current() { return *active; }

Fibers::Fibers(int64_t most) : most(most) {
  void *memory = mmap(nullptr, most * kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    std::abort();
  stacks = static_cast<char *>(memory);
}
Fibers::~Fibers() { munmap(stacks, most * kStack); }

void Fibers::enter() {
  Fibers &f = current();
  (*f.body)();
  f.suspend(Done);
  std::abort(); // nobody wakes it
}

std::string Fibers::run(int64_t count, Order order, unsigned seed,
                        const std::function<void()> &work) {
  active = this;
  body = &work;
  total = count;
  error.clear();
  fibers.assign(count, {});
  warps.assign((count + 31) / 32, {});
  std::fill(std::begin(inState), std::end(inState), 0);
  inState[Ready] = count;
  if (static_cast<int64_t>(idle.size()) < most) { // no run yet, or one failed
    idle.clear();
    // The ends of all stacks at one offset would share the same few cache
    // lines.
    for (int64_t i = most; i > 0; --i)
      idle.push_back(stacks + i * kStack - i % kOffsets * kOffset);
  }
  visits.resize(count);
  std::iota(visits.begin(), visits.end(), 0);
  if (order == Order::Reverse)
    std::reverse(visits.begin(), visits.end());
  std::optional<std::mt19937> random; // long to make
  if (order == Order::Random)
    random.emplace(seed);
  while (error.empty() && inState[Done] < count) {
    if (random)
      std::shuffle(visits.begin(), visits.end(), *random);
    bool moved = false;
    for (int64_t i : visits)
      if (fibers[i].state == Ready && error.empty()) {
        visit(i);
        moved = true;
      }
    if (inState[AtBarrier] == count)
      for (Fiber &f : fibers)
        change(f, Ready);
    else if (!moved)
      fail("threads wait for others that ended or wait elsewhere");
  }
  return error;
}

void Fibers::change(Fiber &f, State state) {
  --inState[f.state];
  ++inState[state];
  f.state = state;
}

// Most threads wait for none: one after another, they use the same stack.
void Fibers::begin(Fiber &f) {
  f.stack = idle.back();
  idle.pop_back();
  // As a call of enter() leaves it, 8 above a multiple of 16.
  void **top = reinterpret_cast<void **>(f.stack) - 1;
  *--top = reinterpret_cast<void *>(&Fibers::enter);
  top -= kSavedRegisters;
  std::fill(top, top + kSavedRegisters, nullptr);
  f.stackPointer = top;
}

void Fibers::visit(int64_t i) {
  Fiber &f = fibers[i];
  running = i;
  if (!f.stack)
    begin(f);
  dlc_switch_fiber(&scheduler, f.stackPointer);
  if (f.state == Done)
    idle.push_back(f.stack);
}
void Fibers::suspend(State state) {
  change(fibers[running], state);
  dlc_switch_fiber(&fibers[running].stackPointer, scheduler);
}
void Fibers::fail(const std::string &what) {
  if (error.empty())
    error = what;
}

void Fibers::barrier() { suspend(AtBarrier); }

uint32_t Fibers::warp(WarpOp op, uint32_t members, uint32_t value, uint32_t a,
                      uint32_t b) {
  int64_t lane = running % 32, me = running;
  Warp &w = warps[running / 32];
  if (!(members >> lane & 1))
    fail("a thread is no member of its own warp operation");
  if (w.arrived && (w.op != op || w.members != members))
    fail("threads of a warp are in different warp operations");
  w.op = op;
  w.members = members;
  w.arrived |= 1u << lane;
  w.value[lane] = value;
  w.a[lane] = a;
  w.b[lane] = b;
  if (!error.empty())
    suspend(Done);
  if (w.arrived == members)
    finish(w, running - lane);
  else
    suspend(InWarp);
  return w.result[me % 32];
}

void Fibers::finish(Warp &w, int64_t first) {
  uint32_t ballot = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (w.members >> lane & 1 && w.value[lane])
      ballot |= 1u << lane;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(w.members >> lane & 1))
      continue;
    uint32_t a = w.a[lane], clamp = w.b[lane] & 31,
             segment = w.b[lane] >> 8 & 31;
    int low = lane & segment, high = low | (clamp & ~segment), from = lane;
    bool within = true;
    switch (w.op) {
    case WarpOp::ShuffleXor:
      from = lane ^ static_cast<int>(a & 31);
      within = from <= high;
      break;
    case WarpOp::ShuffleIdx:
      from = low | static_cast<int>(a & 31 & ~segment);
      within = from <= high;
      break;
    case WarpOp::ShuffleDown:
      from = lane + static_cast<int>(a & 31);
      within = from <= high;
      break;
    case WarpOp::ShuffleUp:
      from = lane - static_cast<int>(a & 31);
      within = from >= high;
      break;
    case WarpOp::All:
      w.result[lane] = ballot == w.members;
      continue;
    case WarpOp::Any:
      w.result[lane] = ballot != 0;
      continue;
    case WarpOp::Ballot:
      w.result[lane] = ballot;
      continue;
    }
    if (!within)
      from = lane;
    if (!(w.members >> from & 1))
      fail("a shuffle reads a thread that takes no part");
    w.result[lane] = w.value[from];
  }
  w.arrived = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (w.members >> lane & 1 && fibers[first + lane].state == InWarp)
      change(fibers[first + lane], Ready);
}

} // namespace dlc::test
