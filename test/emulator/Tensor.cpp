// cp.async: a copy lands when its thread waits for it and not before, so that a
// missing wait leaves poison. mma.sync m16n8k16: every thread has a part of the
// fragments, as PTX's tables say.
#include "Tensor.h"
#include "Fibers.h"

#include <bit>
#include <cstring>
#include <deque>

namespace dlc::test {
namespace {

constexpr int64_t kMostThreads = 1024;
constexpr uint32_t kWholeWarp = 0xffffffff;

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};
struct Copies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups; // committed, the oldest first
};
Copies copies[kMostThreads];

Copies &mine() { return copies[Fibers::current().thread()]; }

void landAllBut(size_t groups) {
  Copies &c = mine();
  for (; c.groups.size() > groups; c.groups.pop_front())
    for (const Copy &copy : c.groups.front())
      std::memcpy(copy.to, copy.from, copy.bytes);
}

/// A thread's registers: two halves in each of a and b.
struct Fragments {
  uint32_t a[4], b[2];
};
Fragments fragments[kMostThreads];

float half(uint32_t pair, int which, bool isBf16) {
  uint16_t bits = static_cast<uint16_t>(pair >> (16 * which));
  return isBf16 ? std::bit_cast<float>(uint32_t(bits) << 16)
                : static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// All threads of the warp are here.
void meet() { Fibers::current().warp(WarpOp::All, kWholeWarp, 1, 0, 0); }

void multiply(const uint32_t *a, const uint32_t *b, const float *c, float *d,
              bool isBf16) {
  int64_t thread = Fibers::current().thread(), first = thread / 32 * 32;
  int lane = static_cast<int>(thread % 32);
  std::memcpy(fragments[thread].a, a, sizeof fragments[thread].a);
  std::memcpy(fragments[thread].b, b, sizeof fragments[thread].b);
  meet();
  float sums[4];
  for (int i = 0; i < 4; ++i) {
    int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    sums[i] = c[i];
    for (int k = 0; k < 16; ++k) {
      const Fragments &left = fragments[first + row % 8 * 4 + k % 8 / 2],
                      &right = fragments[first + column * 4 + k % 8 / 2];
      sums[i] += half(left.a[row / 8 + k / 8 * 2], k % 2, isBf16) *
                 half(right.b[k / 8], k % 2, isBf16);
    }
  }
  meet(); // before anyone's fragments change
  std::memcpy(d, sums, sizeof sums);
}

} // namespace

void dropCopies() {
  for (Copies &c : copies)
    c = {};
}

} // namespace dlc::test

using namespace dlc::test;

extern "C" {
#define COPY(kind, bytes)                                                      \
  void gpu_llvm_nvvm_cp_async_##kind##_shared_global_##bytes(                  \
      void *to, const void *from) {                                            \
    mine().open.push_back({to, from, bytes});                                  \
  }
COPY(ca, 4)
COPY(ca, 8)
COPY(ca, 16)
COPY(cg, 16)

void gpu_llvm_nvvm_cp_async_commit_group() {
  mine().groups.push_back(std::move(mine().open));
  mine().open.clear();
}
void gpu_llvm_nvvm_cp_async_wait_group(uint32_t groups) { landAllBut(groups); }
void gpu_llvm_nvvm_cp_async_wait_all() {
  gpu_llvm_nvvm_cp_async_commit_group();
  landAllBut(0);
}

// Retarget.cpp passes registers in memory: a, b, c, and where d goes.
void gpu_llvm_nvvm_mma_m16n8k16_row_col_bf16(const uint32_t *registers,
                                             float *d) {
  multiply(registers, registers + 4,
           reinterpret_cast<const float *>(registers + 6), d, true);
}
void gpu_llvm_nvvm_mma_m16n8k16_row_col_f32_f32(const uint32_t *registers,
                                                float *d) {
  multiply(registers, registers + 4,
           reinterpret_cast<const float *>(registers + 6), d, false);
}
}
