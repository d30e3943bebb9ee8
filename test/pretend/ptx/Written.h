// SPDX-License-Identifier: Apache-2.0
// Kernels written as PTX, for tests.
#pragma once

#include "Machine.h"
#include "test/pretend/emulator/Guarded.h"

#include <cstring>
#include <gtest/gtest.h>

namespace dlc::ptx {

/// A module with a kernel k(out) of blocks of 64 threads. %r1 is the thread's
/// number in the launch, %rd1 the array, %rd3 the thread's place in it; other
/// registers are free. `outside` stands before the kernel.
inline std::string written(const std::string &body,
                           const std::string &outside = "") {
  return R"(.version 8.0
.target sm_90
.address_size 64
)" + outside +
         R"(
.visible .entry k(.param .u64 .ptr .global .align 16 k_param_0)
.maxntid 64
{
  .reg .pred %p<8>;
  .reg .b16 %rs<16>;
  .reg .b32 %r<64>;
  .reg .b64 %rd<32>;
  .shared .align 16 .b8 shared[1024];
  ld.param.b64 %rd1, [k_param_0];
  mov.u32 %r60, %tid.x;
  mov.u32 %r61, %ctaid.x;
  mad.lo.s32 %r1, %r61, 64, %r60;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
)" + body +
         "\n  ret;\n}\n";
}

/// Runs k on `out`, which has 64 elements per block. Returns what went wrong.
inline std::string run(Machine &machine, std::vector<uint32_t> &out,
                       test::Order order = test::Order::Forward) {
  test::Guarded array(out.data(), out.size() * 4);
  const std::string error =
      machine.run("k", int64_t(out.size() / 64), 64, {array.data()}, order);
  std::memcpy(out.data(), array.data(), array.size());
  return error;
}

/// What the threads of one block leave in the array, which has their numbers at
/// first; `body` leaves it in %r2.
inline std::vector<uint32_t> results(const std::string &body,
                                     const std::string &outside = "") {
  std::string error;
  Machine machine(written(body + "\n  st.global.b32 [%rd3], %r2;", outside),
                  error);
  EXPECT_EQ(error, "");
  std::vector<uint32_t> out(64);
  for (uint32_t i = 0; i < 64; ++i)
    out[i] = i;
  EXPECT_EQ(run(machine, out), "");
  return out;
}

/// Why a module is refused.
inline std::string refusal(const std::string &body,
                           const std::string &outside = "") {
  std::string error;
  Machine machine(written(body, outside), error);
  return error;
}

/// What goes wrong when it runs.
inline std::string failure(const std::string &body) {
  std::string error;
  Machine machine(written(body), error);
  EXPECT_EQ(error, "");
  std::vector<uint32_t> out(64);
  return run(machine, out);
}

} // namespace dlc::ptx
