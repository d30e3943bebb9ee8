// SPDX-License-Identifier: Apache-2.0
// cp.async: a copy lands when its thread waits for it and not before, so that a
// missing wait leaves poison. mma.sync m16n8k16: every thread has a part of the
// fragments, as PTX's tables say.
#include "Tensor.h"
#include "Fibers.h"
#include "Grid.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace dlc::test {
namespace {

constexpr uint32_t kWholeWarp = 0xffffffff;

struct Copies {
  std::vector<Copy> all;    // that have not landed, the oldest first
  std::vector<size_t> ends; // of each committed group
};
Copies copies[kMostThreads];
bool anyCopies = false;

Copies &mine() { return copies[Fibers::current().thread()]; }

/// What a thread's registers hold: two values in each of a and b.
struct Fragments {
  float a[4][2], b[2][2];
};
Fragments fragments[kMostThreads];
const uint16_t *lines[kMostThreads];

float half(uint32_t pair, int which, bool isBf16) {
  uint16_t bits = static_cast<uint16_t>(pair >> (16 * which));
  return isBf16 ? std::bit_cast<float>(uint32_t(bits) << 16)
                : static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// All threads of the warp are here.
void meet() { Fibers::current().warp(WarpOp::All, kWholeWarp, 1, 0, 0); }

} // namespace

void copyLater(const Copy &copy) {
  mine().all.push_back(copy);
  anyCopies = true;
}
void commitCopies() { mine().ends.push_back(mine().all.size()); }

void landAllBut(size_t groups) {
  Copies &c = mine();
  if (c.ends.size() <= groups)
    return;
  const auto next = c.ends.end() - groups;
  const size_t landing = next[-1];
  for (size_t i = 0; i < landing; ++i) {
    const Copy &copy = c.all[i];
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(static_cast<char *>(copy.to) + copy.bytes, 0, copy.zeros);
  }
  c.all.erase(c.all.begin(), c.all.begin() + landing);
  c.ends.erase(c.ends.begin(), next);
  for (size_t &end : c.ends)
    end -= landing;
}

void multiplyFragments(const uint32_t *a, const uint32_t *b, const float *c,
                       float *d, bool isBf16) {
  int64_t thread = Fibers::current().thread(), first = thread / 32 * 32;
  int lane = static_cast<int>(thread % 32);
  for (int i = 0; i < 8; ++i)
    fragments[thread].a[i / 2][i % 2] = half(a[i / 2], i % 2, isBf16);
  for (int i = 0; i < 4; ++i)
    fragments[thread].b[i / 2][i % 2] = half(b[i / 2], i % 2, isBf16);
  meet();
  float sums[4];
  for (int i = 0; i < 4; ++i) {
    int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    sums[i] = c[i];
    for (int k = 0; k < 16; ++k) {
      const Fragments &left = fragments[first + row % 8 * 4 + k % 8 / 2],
                      &right = fragments[first + column * 4 + k % 8 / 2];
      sums[i] += left.a[row / 8 + k / 8 * 2][k % 2] * right.b[k / 8][k % 2];
    }
  }
  meet(); // before anyone's fragments change
  std::memcpy(d, sums, sizeof sums);
}

void loadMatrices(const uint16_t *at, uint32_t *d, bool transposed) {
  int64_t thread = Fibers::current().thread(), first = thread / 32 * 32;
  int lane = static_cast<int>(thread % 32);
  lines[thread] = at;
  if (reinterpret_cast<uintptr_t>(lines[thread]) % 16) {
    std::fprintf(stderr, "ldmatrix reads a line that is not aligned\n");
    std::exit(1);
  }
  meet();
  uint32_t loaded[4];
  for (int i = 0; i < 4; ++i) {
    const uint16_t *const *matrix = lines + first + 8 * i;
    int line = lane / 4, at = lane % 4 * 2;
    uint32_t low = transposed ? matrix[at][line] : matrix[line][at],
             high = transposed ? matrix[at + 1][line] : matrix[line][at + 1];
    loaded[i] = low | high << 16;
  }
  meet();
  std::memcpy(d, loaded, sizeof loaded);
}

void dropCopies() {
  if (!anyCopies)
    return;
  anyCopies = false;
  for (Copies &c : copies) {
    c.all.clear();
    c.ends.clear();
  }
}

} // namespace dlc::test

using namespace dlc::test;

static const uint16_t *lineIn(const uint32_t *registers) {
  const uint16_t *line;
  std::memcpy(&line, registers, sizeof line);
  return line;
}

extern "C" {
#define COPY(kind, bytes)                                                      \
  void gpu_llvm_nvvm_cp_async_##kind##_shared_global_##bytes(                  \
      void *to, const void *from) {                                            \
    copyLater({to, from, bytes, 0});                                           \
  }                                                                            \
  void gpu_llvm_nvvm_cp_async_##kind##_shared_global_##bytes##_s(              \
      void *to, const void *from, uint32_t read) {                             \
    copyLater({to, from, read, bytes - read});                                 \
  }
COPY(ca, 4)
COPY(ca, 8)
COPY(ca, 16)
COPY(cg, 16)

void gpu_llvm_nvvm_cp_async_commit_group() { commitCopies(); }
void gpu_llvm_nvvm_cp_async_wait_group(uint32_t groups) { landAllBut(groups); }
void gpu_llvm_nvvm_cp_async_wait_all() {
  commitCopies();
  landAllBut(0);
}

void gpu_llvm_nvvm_ldmatrix_sync_aligned_m8n8_x4_b16_p3(
    const uint32_t *registers, uint32_t *d) {
  loadMatrices(lineIn(registers), d, false);
}
void gpu_llvm_nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3(
    const uint32_t *registers, uint32_t *d) {
  loadMatrices(lineIn(registers), d, true);
}

// Retarget.cpp passes registers in memory: a, b, c, and where d goes.
void gpu_llvm_nvvm_mma_m16n8k16_row_col_bf16(const uint32_t *registers,
                                             float *d) {
  multiplyFragments(registers, registers + 4,
                    reinterpret_cast<const float *>(registers + 6), d, true);
}
void gpu_llvm_nvvm_mma_m16n8k16_row_col_f32_f32(const uint32_t *registers,
                                                float *d) {
  multiplyFragments(registers, registers + 4,
                    reinterpret_cast<const float *>(registers + 6), d, false);
}
}
