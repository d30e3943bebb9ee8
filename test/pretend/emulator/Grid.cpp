// SPDX-License-Identifier: Apache-2.0
#include "Grid.h"
#include "Tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace dlc::test {
namespace {

std::string kernelName;
uint32_t blockNumber, blockCount;

uint32_t warp(WarpOp op, uint32_t members, uint32_t v, uint32_t a, uint32_t b) {
  return Fibers::current().warp(op, members, v, a, b);
}
float warpFloat(WarpOp op, uint32_t members, float v, uint32_t a, uint32_t b) {
  return std::bit_cast<float>(
      warp(op, members, std::bit_cast<uint32_t>(v), a, b));
}

} // namespace

const char *runningKernel() { return kernelName.c_str(); }
uint32_t runningBlock() { return blockNumber; }
uint32_t blocksOfLaunch() { return blockCount; }

std::string runGrid(const std::string &kernel, int64_t grid, int64_t block,
                    std::span<const SharedArray> shared, Order order,
                    unsigned seed, const std::function<void()> &thread) {
  static Fibers fibers(kMostThreads);
  kernelName = kernel;
  blockCount = static_cast<uint32_t>(grid);
  std::vector<int64_t> blocks(grid);
  for (int64_t i = 0; i < grid; ++i)
    blocks[i] = order == Order::Reverse ? grid - 1 - i : i;
  if (order == Order::Random) {
    std::mt19937 random(seed);
    std::shuffle(blocks.begin(), blocks.end(), random);
  }
  for (int64_t b : blocks) {
    blockNumber = static_cast<uint32_t>(b);
    for (const SharedArray &array : shared)
      std::memset(array.data, 0xff, array.bytes);
    dropCopies();
    std::string error = fibers.run(block, order, seed + b, thread);
    if (!error.empty())
      return "kernel " + kernel + ", block " + std::to_string(b) + ": " + error;
  }
  kernelName.clear();
  return "";
}

} // namespace dlc::test

//===--- what kernels call ------------------------------------------------===//

using namespace dlc::test;

extern "C" {
uint32_t gpu_llvm_nvvm_read_ptx_sreg_tid_x() {
  return Fibers::current().thread();
}
uint32_t gpu_llvm_nvvm_read_ptx_sreg_ntid_x() {
  return Fibers::current().count();
}
uint32_t gpu_llvm_nvvm_read_ptx_sreg_ctaid_x() { return blockNumber; }
uint32_t gpu_llvm_nvvm_read_ptx_sreg_nctaid_x() { return blockCount; }
void gpu_llvm_nvvm_barrier_cta_sync_aligned_all(uint32_t) {
  Fibers::current().barrier();
}

#define SHUFFLE(name, op)                                                      \
  uint32_t gpu_llvm_nvvm_shfl_sync_##name##_i32(uint32_t members, uint32_t v,  \
                                                uint32_t a, uint32_t b) {      \
    return warp(WarpOp::op, members, v, a, b);                                 \
  }                                                                            \
  float gpu_llvm_nvvm_shfl_sync_##name##_f32(uint32_t members, float v,        \
                                             uint32_t a, uint32_t b) {         \
    return warpFloat(WarpOp::op, members, v, a, b);                            \
  }
SHUFFLE(bfly, ShuffleXor)
SHUFFLE(idx, ShuffleIdx)
SHUFFLE(up, ShuffleUp)
SHUFFLE(down, ShuffleDown)

// Only the lowest bit of an i1 is defined.
bool gpu_llvm_nvvm_vote_all_sync(uint32_t members, uint32_t v) {
  return warp(WarpOp::All, members, v & 1, 0, 0);
}
bool gpu_llvm_nvvm_vote_any_sync(uint32_t members, uint32_t v) {
  return warp(WarpOp::Any, members, v & 1, 0, 0);
}
uint32_t gpu_llvm_nvvm_vote_ballot_sync(uint32_t members, uint32_t v) {
  return warp(WarpOp::Ballot, members, v & 1, 0, 0);
}

float gpu_llvm_nvvm_ex2_approx_ftz_f32(float v) {
  float power = std::exp2(v);
  return power < std::numeric_limits<float>::min() ? 0 : power;
}
float gpu_llvm_nvvm_saturate_f(float v) {
  return v > 0 ? std::fmin(v, 1.0f) : 0;
}

// The run-time library's, whose result is the low half of the register.
float __truncsfbf2(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return std::bit_cast<float>(v != v ? 0x7fc0u : rounded);
}
float __truncdfbf2(double v) { return __truncsfbf2(static_cast<float>(v)); }
}
