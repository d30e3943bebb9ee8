// SPDX-License-Identifier: Apache-2.0
// What the machine must find, and what threads do together.
#include "Written.h"

namespace dlc::ptx {
namespace {

using test::Order;

constexpr const char *kMine = R"(
  cvt.u64.u32 %rd4, %r1;
  shl.b64 %rd4, %rd4, 2;
  mov.b64 %rd5, shared;
  add.s64 %rd5, %rd5, %rd4;
)";

/// Each thread reads what its opposite wrote.
std::string reversal(const std::string &between) {
  return kMine + std::string("st.shared.b32 [%rd5], %r1;") + between + R"(
  mov.b64 %rd6, shared;
  sub.s64 %rd6, %rd6, %rd4;
  ld.shared.b32 %r2, [%rd6+252];
)";
}

void expectFailure(const std::string &body,
                   const std::vector<std::string> &parts) {
  const std::string error = failure(body);
  for (const std::string &part : parts)
    EXPECT_NE(error.find(part), error.npos) << error;
}
void expectRefusal(const std::string &error, const std::string &part) {
  EXPECT_NE(error.find(part), error.npos) << error;
}

} // namespace

TEST(Machine, RunsThreadsOfBlocksInAnyOrder) {
  std::string error;
  Machine machine(written("st.global.b32 [%rd3], %r1;"), error);
  ASSERT_EQ(error, "");
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    std::vector<uint32_t> out(256, 7);
    EXPECT_EQ(run(machine, out, order), "");
    for (uint32_t i = 0; i < 256; ++i)
      EXPECT_EQ(out[i], i);
  }
  EXPECT_EQ(machine.executed().at("st.global.b32"), 3u * 256);
  EXPECT_EQ(machine.executed().at("ret"), 3u * 256);
}

TEST(Machine, LoopsAndPredicates) {
  // The sum of the numbers below the thread's.
  const auto sums = results(R"(
  mov.b32 %r2, 0;
  mov.b32 %r3, 0;
$loop:
  setp.ge.u32 %p1, %r3, %r1;
  @%p1 bra $end;
  add.s32 %r2, %r2, %r3;
  add.s32 %r3, %r3, 1;
  bra.uni $loop;
$end:
  setp.eq.b32 %p2, %r1, 5;
  @%p2 mov.b32 %r2, 1000;
  @!%p2 add.s32 %r2, %r2, 1;
)");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(sums[i], i == 5 ? 1000 : i * (i - 1) / 2 + 1);
}

TEST(Machine, BranchesByATable) {
  const auto found = results(R"(
$table: .branchtargets $a, $b, $a;
  rem.u32 %r3, %r1, 3;
  brx.idx %r3, $table;
$a:
  mov.b32 %r2, 10;
  bra $end;
$b:
  mov.b32 %r2, 20;
$end:
)");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], i % 3 == 1 ? 20u : 10u);
}

TEST(Machine, CallsFunctions) {
  const auto found = results(R"(
  { .param .b32 param0; .param .b32 param1; .param .b32 retval0;
    st.param.b32 [param0], %r1;
    st.param.b32 [param1], 100;
    call.uni (retval0), least, (param0, param1);
    ld.param.b32 %r3, [retval0]; }
  { .param .b32 param0; .param .b32 param1; .param .b32 retval0;
    st.param.b32 [param0], %r3;
    st.param.b32 [param1], 7;
    call.uni (retval0), least, (param0, param1);
    ld.param.b32 %r2, [retval0]; }
)",
                             R"(
.func (.param .b32 r) least(.param .b32 p0, .param .b32 p1)
{
  .reg .b32 %r<3>;
  .reg .pred %p<2>;
  ld.param.b32 %r1, [p0];
  ld.param.b32 %r2, [p1];
  setp.lt.u32 %p1, %r1, %r2;
  @%p1 bra $first;
  st.param.b32 [r], %r2;
  ret;
$first:
  st.param.b32 [r], %r1;
  ret;
}
)");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], std::min(i, 7u));
}

TEST(Machine, VectorsAndNarrowElements) {
  // Threads swap the halves of pairs of elements of their own.
  const auto swapped = results(R"(
  and.b32 %r3, %r1, 62;
  mul.wide.u32 %rd4, %r3, 4;
  add.s64 %rd4, %rd1, %rd4;
  ld.global.v2.b32 {%r4, %r5}, [%rd4];
  bar.sync 0;
  and.b32 %r6, %r1, 1;
  setp.eq.b32 %p1, %r6, 0;
  selp.b32 %r2, %r5, %r4, %p1;
)");
  const auto bytes = results(R"(
  st.global.b8 [%rd3+3], 0x80;
  ld.global.s8 %r2, [%rd3+3];
)");
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(swapped[i], i ^ 1);
    EXPECT_EQ(bytes[i], 0xffffff80);
  }
}

TEST(Machine, ParametersHaveAddresses) {
  EXPECT_EQ(results(R"(
  mov.b64 %rd4, k_param_0;
  ld.param.b64 %rd5, [%rd4];
  sub.s64 %rd6, %rd5, %rd1;
  cvt.u32.u64 %r2, %rd6;
)"),
            std::vector<uint32_t>(64));
  expectFailure("mov.b64 %rd4, k_param_0; ld.param.b64 %rd5, [%rd4+8];",
                {"reads what is no parameter"});
}

TEST(Machine, GlobalArraysOutliveALaunch) {
  std::string error;
  Machine machine(written("atom.global.inc.u32 %r2, [tickets], 64;\n"
                          "st.global.b32 [%rd3], %r2;",
                          ".global .align 4 .b8 tickets[4];"),
                  error);
  ASSERT_EQ(error, "");
  std::vector<uint32_t> out(64);
  EXPECT_EQ(run(machine, out), "");
  EXPECT_EQ(out[63], 63u);
  EXPECT_EQ(run(machine, out), "");
  EXPECT_EQ(out[0], 64u);
  EXPECT_EQ(out[1], 0u) << "it returns to 0 behind 64";
}

TEST(Machine, BarriersExchangeSharedMemory) {
  const auto found = results(reversal("bar.sync 0;"));
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], 63 - i);
}

TEST(Machine, AMissingBarrierIsARace) {
  expectFailure(reversal(""),
                {"kernel k, block 0: thread 32, line ",
                 "st.shared.b32 [%rd5], %r1; writes 4 bytes at 128 of 1024 "
                 "bytes of shared: a race with thread 31"});
  // Behind what others read no one may write, either.
  expectFailure(reversal("bar.sync 0;") + "st.shared.b32 [%rd5], %r1;",
                {"a race with thread"});
  EXPECT_EQ(failure(reversal("bar.sync 0;") +
                    "bar.sync 0; st.shared.b32 [%rd5], %r1;"),
            "");
}

TEST(Machine, ABarrierOfWarpsOrdersWarpsOnly) {
  const std::string neighbour = R"(
  xor.b32 %r3, %r1, MASK;
  mul.wide.u32 %rd6, %r3, 4;
  mov.b64 %rd7, shared;
  add.s64 %rd7, %rd7, %rd6;
  ld.shared.b32 %r2, [%rd7];
)";
  const auto exchanged = [&](const std::string &mask) {
    std::string read = neighbour;
    read.replace(read.find("MASK"), 4, mask);
    return kMine +
           std::string("st.shared.b32 [%rd5], %r1;\n"
                       "bar.warp.sync -1;\n") +
           read;
  };
  EXPECT_EQ(failure(exchanged("1")), "");
  expectFailure(exchanged("32"), {"a race with thread 31"});
}

TEST(Machine, ABarrierThatSomeMissIsAnError) {
  expectFailure(R"(
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra $end;
  bar.sync 0;
$end:
)",
                {"threads wait for others"});
}

TEST(Machine, ShufflesAndVotes) {
  const auto bfly = results("shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;"),
             down = results("shfl.sync.down.b32 %r2, %r1, 3, 31, -1;"),
             ballot = results("and.b32 %r3, %r1, 1; setp.eq.b32 %p1, %r3, 1;"
                              "vote.sync.ballot.b32 %r2, !%p1, -1;"),
             all = results("setp.lt.u32 %p1, %r1, 32;"
                           "vote.sync.all.pred %p2, %p1, -1;"
                           "selp.b32 %r2, 1, 0, %p2;");
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(bfly[i], i ^ 5);
    EXPECT_EQ(down[i], i % 32 < 29 ? i + 3 : i);
    EXPECT_EQ(ballot[i], 0x55555555u);
    EXPECT_EQ(all[i], i < 32);
  }
}

TEST(Machine, AsynchronousCopiesLandWhenTheyAreWaitedFor) {
  const auto copied = [](const std::string &bytes, const std::string &wait) {
    return results(kMine + ("cp.async.ca.shared.global [%rd5], [%rd3], " +
                            bytes + ";\ncp.async.commit_group;\n" + wait +
                            "\nld.shared.b32 %r2, [%rd5];"));
  };
  const auto waited = copied("4", "cp.async.wait_group 0;"),
             early = copied("4", "cp.async.wait_group 1;"),
             zeros = copied("4, 0", "cp.async.wait_all;");
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(waited[i], i);
    EXPECT_EQ(early[i], 0xffffffff) << "poison";
    EXPECT_EQ(zeros[i], 0u);
  }
}

TEST(Machine, MatricesOfSharedMemory) {
  // 16 rows of 8 halves: 4 words each. Thread t of a warp has the address of
  // row t % 8 of matrix t / 8, and gets word t of matrix 0.
  const std::string load = R"(
  shl.b32 %r3, %r60, 4;
  and.b32 %r3, %r3, 127;
  mov.b64 %rd6, shared;
  cvt.u64.u32 %rd7, %r3;
  add.s64 %rd6, %rd6, %rd7;
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4KIND.shared.b16 {%r2, %r4, %r5, %r6}, [%rd6];
)";
  const auto loaded = [&](const std::string &kind) {
    std::string text = load;
    text.replace(text.find("KIND"), 4, kind);
    return results(kMine + std::string("st.shared.b32 [%rd5], %r1;") + text);
  };
  const auto plain = loaded(""), transposed = loaded(".trans");
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(plain[t], t);
    // Column t / 4 of rows 2 (t % 4) and one more.
    const auto half = [](uint32_t row, uint32_t column) {
      const uint32_t word = row * 4 + column / 2; // its value
      return column % 2 ? word >> 16 : word & 0xffff;
    };
    const uint32_t row = t % 4 * 2, column = t / 4;
    EXPECT_EQ(transposed[t], half(row, column) | half(row + 1, column) << 16);
  }
}

TEST(Machine, MatricesMultiply) {
  // a is 1 at row 0, k 0 (thread 0, first half), 0 elsewhere; row 0 of b is
  // what threads 0, 4, 8 ... have in their first half: d's row 0.
  const auto product =
      [](const std::string &type, const std::string &one) {
        return results(R"(
  setp.eq.b32 %p1, %r1, 0;
  selp.b32 %r3, )" + one +
                       R"(, 0, %p1;
  mov.b32 %r4, 0;
  cvt.rn.f32.u32 %r5, %r1;
  cvt.rn.)" + type + R"(x2.f32 %r6, 0f00000000, %r5;
  mov.b32 %r7, 0f3F000000;
  mma.sync.aligned.m16n8k16.row.col.f32.)" +
                       type + "." + type + R"(.f32 {%r2, %r8, %r9, %r10},
    {%r3, %r4, %r4, %r4}, {%r6, %r4}, {%r7, %r7, %r7, %r7};
)");
      };
  for (const auto &d : {product("bf16", "0x3F80"), product("f16", "0x3C00")})
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(std::bit_cast<float>(d[t]),
                (t < 4 ? 8.0f * float(t) : 0.0f) + 0.5f);
}

TEST(Machine, LocalMemoryAndGenericAddresses) {
  const auto found = results(R"(
  .local .align 8 .b8 depot[16];
  mov.b64 %rd10, depot;
  cvta.local.u64 %rd11, %rd10;
  st.local.b32 [%rd10+4], %r1;
  ld.b32 %r3, [%rd11+4];
  mov.b64 %rd12, shared;
  cvta.shared.u64 %rd13, %rd12;
  add.s64 %rd13, %rd13, %rd2;
  st.b32 [%rd13], %r3;
  ld.b32 %r4, [%rd13];
  cvta.to.global.u64 %rd14, %rd3;
  ld.b32 %r5, [%rd14];
  add.s32 %r2, %r4, %r5;
)");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], 2 * i);
}

TEST(Machine, AccessesBeyondAnArrayAreErrors) {
  expectFailure("\n  st.global.b32 [%rd3+4], %r1;",
                {"kernel k, block 0: thread 63, line 20: st.global.b32 "
                 "[%rd3+4], %r1; writes 4 bytes at 256 of 256 bytes of "
                 "parameter 0: out of bounds"});
  expectFailure("ld.global.b32 %r2, [%rd3+-4];",
                {"thread 0,", "reads 4 bytes at -4 of 256 bytes"});
  expectFailure("ld.global.b32 %r2, [%rd3+2];", {"not aligned"});
  expectFailure("ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd3];",
                {"thread 1,", "16 bytes at 4 of", "not aligned"});
  expectFailure(std::string(kMine) + "st.shared.b32 [%rd5+1020], %r1;",
                {"thread 1,", "at 1024 of 1024 bytes of shared"});
  expectFailure("mov.b64 %rd4, 0; ld.global.b32 %r2, [%rd4];",
                {"which is no array's"});
  expectFailure(".local .align 4 .b8 depot[8];\n"
                "mov.b64 %rd4, depot; ld.local.b32 %r2, [%rd4+8];",
                {"at 8 of 8 bytes of local memory: out of bounds"});
}

TEST(Machine, UndefinedRegistersAreErrors) {
  expectFailure("add.s32 %r2, %r3, 1;",
                {"thread 0,", "reads %r3, which nothing has written"});
  const std::string some = R"(
  setp.lt.u32 %p1, %r1, 32;
  @%p1 mov.b32 %r3, 1;
)";
  expectFailure(some + "add.s32 %r2, %r3, 1;",
                {"thread 32,", "reads %r3, which nothing has written"});
  EXPECT_EQ(failure(some + "@%p1 add.s32 %r2, %r3, 1;"), "");
}

TEST(Machine, WhatIsUnknownIsRefusedByName) {
  expectRefusal(refusal("\n  frob.b32 %r2, %r1;"),
                "line 20: 'frob.b32': unknown opcode");
  expectRefusal(refusal("ld.shared.nc.b32 %r2, [%rd3];"),
                "'ld.shared.nc.b32': unknown opcode");
  expectRefusal(refusal("cvt.rn.e4m3x2.f32 %rs1, %r1, %r1;"),
                "'cvt.rn.e4m3x2.f32': unknown opcode");
  expectRefusal(refusal("add.s32 %r2, %r1, %r99;"), "unknown name '%r99'");
  expectRefusal(refusal("add.s32 %r2, %r1;"), "expected 3 operands");
  expectRefusal(refusal("bra $nowhere;"), "unknown label '$nowhere'");
  expectRefusal(refusal("mov.u32 %r2, %clock;"), "unknown name '%clock'");
  expectRefusal(refusal("", ".alias a, b;"), "unknown directive '.alias'");
  expectRefusal(refusal("mov.b32 %r2, 0x;"), "'0x' is no number");
  expectRefusal(refusal("call.uni (r), f, (p);"), "unknown function");
}

TEST(Machine, LaunchesMustFitTheKernel) {
  std::string error;
  Machine machine(written(""), error);
  ASSERT_EQ(error, "");
  test::Guarded array(nullptr, 1024);
  EXPECT_NE(machine.run("k", 1, 128, {array.data()}, Order::Forward)
                .find("at most 64 threads"),
            std::string::npos);
  EXPECT_NE(machine.run("k", 1, 64, {}, Order::Forward).find("1 parameters"),
            std::string::npos);
  EXPECT_NE(machine.run("l", 1, 64, {}, Order::Forward).find("no kernel l"),
            std::string::npos);
}

} // namespace dlc::ptx
