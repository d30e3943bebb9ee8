// SPDX-License-Identifier: Apache-2.0
// What the emulator must find, and what it must compute.
#include "Emulator.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

const char kDeclarations[] = R"(
target triple = "nvptx64-nvidia-cuda"
@k.shared0 = internal addrspace(3) global [64 x i32] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
)";

/// A kernel k(out): %t is the thread, %at its place in out, 64 threads a block.
std::unique_ptr<Emulator> make(const std::string &body) {
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(kDeclarations + std::string(R"(
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b64 = mul i32 %b, 64
  %n = add i32 %b64, %t
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %n
)") + body + "\n}\n",
                                          diagnostic, *context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getMessage().str();
    return nullptr;
  }
  std::string error;
  auto emulator =
      std::make_unique<Emulator>(std::move(context), std::move(module), error);
  EXPECT_EQ(error, "");
  return emulator;
}

std::string run(Emulator &e, std::vector<int32_t> &out,
                Order order = Order::Forward) {
  Guarded array(out.data(), out.size() * 4);
  std::string error = e.run("k", out.size() / 64, 64, {array.data()}, order);
  std::memcpy(out.data(), array.data(), array.size());
  return error;
}

std::vector<int32_t> results(const std::string &body) {
  std::vector<int32_t> out(64);
  auto e = make(body);
  EXPECT_EQ(run(*e, out), "");
  return out;
}

/// Each thread reads what its opposite wrote.
std::string reversal(const char *between) {
  return std::string(R"(
  %mine = getelementptr i32, ptr addrspace(3) @k.shared0, i32 %t
  store i32 %t, ptr addrspace(3) %mine
)") + between +
         R"(
  %o = sub i32 63, %t
  %other = getelementptr i32, ptr addrspace(3) @k.shared0, i32 %o
  %v = load i32, ptr addrspace(3) %other
  store i32 %v, ptr addrspace(1) %at
  ret void)";
}

} // namespace

TEST(Emulator, NumbersThreadsAndBlocks) {
  auto e = make("store i32 %n, ptr addrspace(1) %at\nret void");
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    std::vector<int32_t> out(256, -1);
    EXPECT_EQ(run(*e, out, order), "");
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(out[i], i);
  }
}

TEST(Emulator, BarriersExchangeSharedMemory) {
  auto e = make(
      reversal("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"));
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    std::vector<int32_t> out(128);
    EXPECT_EQ(run(*e, out, order), "");
    for (int i = 0; i < 128; ++i)
      EXPECT_EQ(out[i], 63 - i % 64);
  }
}

TEST(Emulator, AMissingBarrierShows) {
  auto e = make(reversal(""));
  std::vector<int32_t> out(64);
  EXPECT_EQ(run(*e, out), "");
  EXPECT_EQ(out[0], -1) << "poison, since thread 63 has not written yet";
  EXPECT_EQ(out[63], 0);
}

TEST(Emulator, ABarrierThatSomeMissIsAnError) {
  auto e = make(R"(
  %low = icmp ult i32 %t, 32
  br i1 %low, label %wait, label %end
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void)");
  std::vector<int32_t> out(64);
  EXPECT_NE(run(*e, out).find("threads wait for others"), std::string::npos);
}

TEST(Emulator, AShuffleThatSomeMissIsAnError) {
  auto e = make(R"(
  %low = icmp ult i32 %t, 7
  br i1 %low, label %wait, label %end
wait:
  %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31)
  br label %end
end:
  ret void)");
  std::vector<int32_t> out(64);
  EXPECT_NE(run(*e, out).find("threads wait for others"), std::string::npos);
}

TEST(Emulator, Shuffles) {
  auto shuffle = [](const std::string &kind, int a, int b) {
    return results("%v = call i32 @llvm.nvvm.shfl.sync." + kind +
                   ".i32(i32 -1, i32 %t, i32 " + std::to_string(a) + ", i32 " +
                   std::to_string(b) +
                   ")\nstore i32 %v, ptr addrspace(1) %at\nret void");
  };
  auto bfly = shuffle("bfly", 5, 31), down = shuffle("down", 3, 31),
       up = shuffle("up", 3, 0), idx = shuffle("idx", 9, 31);
  // Segments of 8: the mask is 24, the last thread of one 7.
  auto part = shuffle("down", 3, 24 << 8 | 7);
  for (int i = 0; i < 64; ++i) {
    int lane = i % 32, warp = i - lane;
    EXPECT_EQ(bfly[i], warp + (lane ^ 5));
    EXPECT_EQ(down[i], lane + 3 < 32 ? i + 3 : i);
    EXPECT_EQ(up[i], lane >= 3 ? i - 3 : i);
    EXPECT_EQ(idx[i], warp + 9);
    EXPECT_EQ(part[i], lane % 8 + 3 < 8 ? i + 3 : i);
  }
}

TEST(Emulator, Votes) {
  auto ballot = results(R"(
  %odd = trunc i32 %t to i1
  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  store i32 %v, ptr addrspace(1) %at
  ret void)");
  auto all = results(R"(
  %low = icmp ult i32 %t, 32
  %a = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %low)
  %v = zext i1 %a to i32
  store i32 %v, ptr addrspace(1) %at
  ret void)");
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(ballot[i], (int32_t)0xaaaaaaaa);
    EXPECT_EQ(all[i], i < 32);
  }
}

TEST(Emulator, Atomics) {
  auto out = results(R"(
  %old = atomicrmw add ptr addrspace(1) %out, i32 2 seq_cst
  ret void)");
  EXPECT_EQ(out[0], 128);
}

namespace {

/// Each thread copies its 4 bytes of out, plus one, through shared memory.
std::string copied(const std::string &wait) {
  return R"(
  %mine = getelementptr i32, ptr addrspace(3) @k.shared0, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %mine, ptr addrspace(1) %at)
  call void @llvm.nvvm.cp.async.commit.group()
)" + wait +
         R"(
  %v = load i32, ptr addrspace(3) %mine
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %at
  ret void)";
}

uint16_t bf16(float v) { return std::bit_cast<uint32_t>(v) >> 16; }
uint16_t f16(float v) { return std::bit_cast<uint16_t>(_Float16(v)); }
float left(int row, int k) { return float((row * 3 + k * 5) % 11 - 4); }
float right(int k, int column) { return float((k * 7 + column) % 9 - 3) / 2; }

/// A warp multiplies; thread t has its registers at out[16 t] and writes its
/// results to out[16 t + 10].
void expectProduct(const std::string &kind, const std::string &pair,
                   uint16_t (*round)(float)) {
  std::string body = "%base = mul i32 %t, 16\n", arguments, types;
  auto add = [&](const std::string &type) {
    std::string i = std::to_string(std::count(types.begin(), types.end(), '|'));
    body += "%i" + i + " = add i32 %base, " + i + "\n%p" + i +
            " = getelementptr i32, ptr addrspace(1) %out, i32 %i" + i + "\n%v" +
            i + " = load " + type + ", ptr addrspace(1) %p" + i + "\n";
    arguments += (i == "0" ? "" : ", ") + type + " %v" + i;
    types += "|";
  };
  for (int i = 0; i < 6; ++i)
    add(pair);
  for (int i = 0; i < 4; ++i)
    add("float");
  body += "%d = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row."
          "col." +
          kind + "(" + arguments + ")\n";
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i), to = std::to_string(10 + i);
    body += "%d" + n + " = extractvalue {float, float, float, float} %d, " + n +
            "\n%j" + n + " = add i32 %base, " + to + "\n%q" + n +
            " = getelementptr i32, ptr addrspace(1) %out, i32 %j" + n +
            "\nstore float %d" + n + ", ptr addrspace(1) %q" + n + "\n";
  }
  auto e = make(body + "ret void");
  std::vector<uint32_t> memory(64 * 16);
  for (int t = 0; t < 64; ++t) {
    uint32_t *r = &memory[t * 16];
    int group = t % 32 / 4, k = t % 4 * 2;
    auto pack = [&](float low, float high) {
      return uint32_t(round(low)) | uint32_t(round(high)) << 16;
    };
    for (int i = 0; i < 4; ++i) {
      int row = group + i % 2 * 8, from = k + i / 2 * 8;
      r[i] = pack(left(row, from), left(row, from + 1));
    }
    for (int i = 0; i < 2; ++i)
      r[4 + i] = pack(right(k + i * 8, group), right(k + i * 8 + 1, group));
    for (int i = 0; i < 4; ++i)
      r[6 + i] = std::bit_cast<uint32_t>(float(t * 4 + i));
  }
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    Guarded array(memory.data(), memory.size() * 4);
    EXPECT_EQ(e->run("k", 1, 64, {array.data()}, order), "");
    for (int t = 0; t < 64; ++t)
      for (int i = 0; i < 4; ++i) {
        float d, want = float(t * 4 + i);
        std::memcpy(&d, array.data() + (t * 16 + 10 + i) * 4, 4);
        for (int k = 0; k < 16; ++k)
          want += left(t % 32 / 4 + i / 2 * 8, k) * right(k, t % 4 * 2 + i % 2);
        EXPECT_EQ(d, want) << kind << " thread " << t << " result " << i;
      }
  }
}

} // namespace

TEST(Emulator, AsynchronousCopiesLandWhenTheyAreWaitedFor) {
  auto waited =
      results(copied("call void @llvm.nvvm.cp.async.wait.group(i32 0)"));
  auto early =
      results(copied("call void @llvm.nvvm.cp.async.wait.group(i32 1)"));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(waited[i], 1);
    EXPECT_EQ(early[i], 0) << "poison plus one";
  }
}

TEST(Emulator, TensorCoresMultiply) {
  expectProduct("bf16", "i32", bf16);
  expectProduct("f32.f32", "<2 x half>", f16);
}

TEST(EmulatorDeathTest, AccessesBeyondAnArrayEndTheProcess) {
  auto e = make(R"(
  %beyond = getelementptr i32, ptr addrspace(1) %at, i32 1
  store i32 %t, ptr addrspace(1) %beyond
  ret void)");
  std::vector<int32_t> out(64);
  EXPECT_EXIT((void)run(*e, out), testing::ExitedWithCode(1),
              "kernel k accesses memory beyond its arrays");
}
