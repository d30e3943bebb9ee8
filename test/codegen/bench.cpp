// SPDX-License-Identifier: Apache-2.0
// Speed of typical kernels on one thread: best of 7, GB/s of arguments read and
// written once.
#include "Kernels.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace dlc::test;

namespace {

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct Bench {
  const char *name;
  std::string text; // X: the full type, R: one element a row, C: one a column
  std::string x, r, c;
  std::vector<Array> inputs, outputs;
};

void run(Bench bench) {
  std::string text = replace(bench.text, "$X", "tensor<" + bench.x + ">");
  text = replace(replace(text, "$R", "tensor<" + bench.r + ">"), "$C",
                 "tensor<" + bench.c + ">");
  Kernels kernels(module("exec.kernel @k {\n" + text + "}\n"));
  std::vector<void *> args;
  double bytes = 0, best = 1e9;
  for (auto *arrays : {&bench.inputs, &bench.outputs})
    for (Array &a : *arrays) {
      args.push_back(a.bytes.data());
      bytes += a.bytes.size();
    }
  for (int i = 0; i < 7; ++i) {
    auto start = std::chrono::steady_clock::now();
    kernels.runRaw("k", args);
    std::chrono::duration<double> d = std::chrono::steady_clock::now() - start;
    best = std::min(best, d.count());
  }
  printf("%-24s %-14s %8.3f ms %7.1f GB/s\n", bench.name, bench.x.c_str(),
         best * 1e3, bytes / best / 1e9);
}

Array random(const std::string &type, std::vector<int64_t> shape) {
  uint32_t state = 1;
  return Array(type, std::move(shape), [&](int64_t) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) * (4.0 / (1 << 24)) - 2;
  });
}

} // namespace

int main() {
  auto x = [](std::vector<int64_t> s) { return random("f32", s); };
  run({"copy",
       "^bb0(%x: $X):\n%y = dlc.add %x, %x : ($X, $X) -> $X\ndlc.yield %y : "
       "$X\n",
       "16777216xf32",
       "",
       "",
       {x({16777216})},
       {x({16777216})}});
  run({"gelu tanh",
       "^bb0(%x: $X):\n%y = dlc.gelu %x {tanh} : ($X) -> $X\ndlc.yield %y : "
       "$X\n",
       "16777216xf32",
       "",
       "",
       {x({16777216})},
       {x({16777216})}});
  run({"gelu erf",
       "^bb0(%x: $X):\n%y = dlc.gelu %x : ($X) -> $X\ndlc.yield %y : $X\n",
       "16777216xf32",
       "",
       "",
       {x({16777216})},
       {x({16777216})}});
  run({"gelu tanh",
       "^bb0(%x: $X):\n%y = dlc.gelu %x {tanh} : ($X) -> $X\ndlc.yield %y : "
       "$X\n",
       "16777216xbf16",
       "",
       "",
       {random("bf16", {16777216})},
       {random("bf16", {16777216})}});
  std::string softmax = R"(^bb0(%x: $X):
    %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : ($X) -> $R
    %d = dlc.sub %x, %m : ($X, $R) -> $X
    %e = dlc.exp %d : ($X) -> $X
    %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : ($X) -> $R
    %y = dlc.div %e, %s : ($X, $R) -> $X
    dlc.yield %y : $X
  )";
  run({"softmax",
       softmax,
       "16384x1024xf32",
       "16384x1xf32",
       "",
       {x({16384, 1024})},
       {x({16384, 1024})}});
  run({"softmax",
       softmax,
       "65536x64xf32",
       "65536x1xf32",
       "",
       {x({65536, 64})},
       {x({65536, 64})}});
  run({"softmax",
       softmax,
       "65536x10xf32",
       "65536x1xf32",
       "",
       {x({65536, 10})},
       {x({65536, 10})}});
  run({"layer norm",
       R"(^bb0(%x: $X, %g: $C, %b: $C):
    %m = dlc.reduce_mean %x {axes = array<i64: 1>, keepdims} : ($X) -> $R
    %d = dlc.sub %x, %m : ($X, $R) -> $X
    %q = dlc.mul %d, %d : ($X, $X) -> $X
    %v = dlc.reduce_mean %q {axes = array<i64: 1>, keepdims} : ($X) -> $R
    %e = dlc.constant dense<1.0e-5> : tensor<f32>
    %w = dlc.add %v, %e : ($R, tensor<f32>) -> $R
    %r = dlc.rsqrt %w : ($R) -> $R
    %n = dlc.mul %d, %r : ($X, $R) -> $X
    %s = dlc.mul %n, %g : ($X, $C) -> $X
    %y = dlc.add %s, %b : ($X, $C) -> $X
    dlc.yield %y, %m, %r : $X, $R, $R
  )",
       "12288x256xf32",
       "12288x1xf32",
       "256xf32",
       {x({12288, 256}), x({256}), x({256})},
       {x({12288, 256}), x({12288, 1}), x({12288, 1})}});
  std::string columns =
      "^bb0(%x: $X):\n%y = dlc.reduce_sum %x {axes = array<i64: 0>} : ($X) -> "
      "$C\ndlc.yield %y : $C\n";
  run({"column sum",
       columns,
       "65536x256xf32",
       "",
       "256xf32",
       {x({65536, 256})},
       {x({256})}});
  run({"column sum",
       columns,
       "65536x64xf32",
       "",
       "64xf32",
       {x({65536, 64})},
       {x({64})}});
  run({"column sum",
       columns,
       "65536x256xbf16",
       "",
       "256xbf16",
       {random("bf16", {65536, 256})},
       {random("bf16", {256})}});
  run({"column sum, split",
       "^bb0(%x: $X):\n%y = dlc.reduce_sum %x {axes = array<i64: 1>} : ($X) -> "
       "$C\ndlc.yield %y : $C\n",
       "16x4096x256xf32",
       "",
       "16x256xf32",
       {x({16, 4096, 256})},
       {x({16, 256})}});
  run({"channel sum nchw",
       "^bb0(%x: $X):\n%y = dlc.reduce_sum %x {axes = array<i64: 0, 2, 3>} "
       ": ($X) -> $C\ndlc.yield %y : $C\n",
       "64x64x28x28xf32",
       "",
       "64xf32",
       {x({64, 64, 28, 28})},
       {x({64})}});
  std::string bias = R"(^bb0(%x: $X, %b: $C):
    %a = dlc.add %x, %b : ($X, $C) -> $X
    %y = dlc.relu %a : ($X) -> $X
    dlc.yield %y : $X
  )";
  run({"bias + relu",
       bias,
       "65536x256xf32",
       "",
       "256xf32",
       {x({65536, 256}), x({256})},
       {x({65536, 256})}});
  run({"bias + relu",
       bias,
       "1048576x10xf32",
       "",
       "10xf32",
       {x({1048576, 10}), x({10})},
       {x({1048576, 10})}});
  run({"bias + relu nchw",
       bias,
       "64x64x28x28xf32",
       "",
       "64x1x1xf32",
       {x({64, 64, 28, 28}), x({64, 1, 1})},
       {x({64, 64, 28, 28})}});
  run({"sgd",
       R"(^bb0(%w: $X, %g: $X, %lr: $R, %m: $X):
    %momentum = dlc.constant dense<0.9> : $R
    %decay = dlc.constant dense<0.01> : $R
    %pull = dlc.mul %w, %decay : ($X, $R) -> $X
    %sum = dlc.add %g, %pull : ($X, $X) -> $X
    %kept = dlc.mul %m, %momentum : ($X, $R) -> $X
    %m2 = dlc.add %kept, %sum : ($X, $X) -> $X
    %far = dlc.mul %m2, %lr : ($X, $R) -> $X
    %w2 = dlc.sub %w, %far : ($X, $X) -> $X
    dlc.yield %w2, %m2 : $X, $X
  )",
       "8388608xf32",
       "f32",
       "",
       {x({8388608}), x({8388608}), x({}), x({8388608})},
       {x({8388608}), x({8388608})}});
  std::string transpose =
      "^bb0(%x: $X):\n%y = dlc.transpose %x {perm = array<i64: 0, 2, 1>} : "
      "($X) -> $C\ndlc.yield %y : $C\n";
  run({"transpose",
       transpose,
       "64x64x784xf32",
       "",
       "64x784x64xf32",
       {x({64, 64, 784})},
       {x({64, 784, 64})}});
  run({"transpose",
       transpose,
       "64x784x64xf32",
       "",
       "64x64x784xf32",
       {x({64, 784, 64})},
       {x({64, 64, 784})}});
}
