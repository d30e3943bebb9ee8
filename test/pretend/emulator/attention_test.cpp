// SPDX-License-Identifier: Apache-2.0
// Attention's generated kernels, forward and backward, against plain loops in
// double precision.
#include "AttentionKernels.h"
#include "GpuCode.h"
#include "Guarded.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "mlir/Parser/Parser.h"
#include "test/support/Elements.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace dlc::test {
namespace {

enum class Mask { None, Bool, Float };

struct Case {
  int64_t batch, heads, queries, keys, depth, valueDepth;
  bool isBf16 = true, causal = false, headsFirst = true;
  Mask mask = Mask::None;
  int64_t maskHeads = 1; // or heads

  AttentionShape shape() const {
    AttentionShape s{batch,  heads,       queries,
                     keys,   depth,       valueDepth,
                     causal, !headsFirst, 1 / std::sqrt(double(depth))};
    if (mask != Mask::None)
      s.mask = {1, maskHeads, queries, keys};
    return s;
  }
};
using Array = std::vector<double>;

/// The values, with all results; booleans of a mask as what they add.
AttentionValues valuesOf(const Case &c) {
  std::mt19937 random(7);
  std::normal_distribution<> normal;
  const auto fill = [&](Array &a, int64_t n) {
    for (a.resize(n); double &x : a)
      x = std::round(normal(random) * 16) / 16; // exact in bf16
  };
  AttentionValues x;
  const int64_t bh = c.batch * c.heads;
  fill(x.q, bh * c.queries * c.depth);
  fill(x.k, bh * c.keys * c.depth);
  fill(x.v, bh * c.keys * c.valueDepth);
  fill(x.dy, bh * c.queries * c.valueDepth);
  fill(x.mask, c.maskHeads * c.queries * c.keys);
  if (c.mask == Mask::Bool)
    for (double &m : x.mask)
      m = m < 0.5 ? 0 : -INFINITY;
  if (c.mask == Mask::Bool && c.queries > 1) // a query that sees nothing
    std::fill_n(x.mask.begin() + c.keys, c.keys, -INFINITY);
  attentionForward(c.shape(), x);
  attentionBackward(c.shape(), x);
  return x;
}

class Attention {
public:
  explicit Attention(const Case &c)
      : c(c), shape(c.shape()), want(valuesOf(c)) {
    context.loadDialect<ir::DlcDialect, exec::ExecDialect>();
    const std::string text =
        "module {\n" +
        attentionKernels(shape, c.isBf16 ? "bf16" : "f16",
                         c.mask == Mask::Bool ? "i1" : "f32") +
        "}\n";
    parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    std::string why;
    if (parsed && mlir::succeeded(scheduleKernels(*parsed)) &&
        mlir::succeeded(cuda::mapThreads(*parsed)))
      code = loadGpuCode(*parsed, "90", why);
    if (!code)
      ADD_FAILURE() << why << "\n" << text;
  }

  void check() {
    if (!code)
      return;
    Guarded q = made(want.q, half()), k = made(want.k, half()),
            v = made(want.v, half()), dy = made(want.dy, half()),
            y = made(want.y, half()), lse = made(want.lse, DType::F32),
            mask =
                c.mask == Mask::Bool ? booleans() : made(want.mask, DType::F32);
    std::vector<void *> inputs{q.data(), k.data(), v.data()},
        back{dy.data(), q.data(), k.data(), v.data(), y.data(), lse.data()};
    if (c.mask != Mask::None) {
      inputs.push_back(mask.data());
      back.push_back(mask.data());
    }
    run("forward", inputs,
        {{"y", want.y, half()}, {"lse", want.lse, DType::F32}});
    run("queries", back, {{"dq", want.dq, half()}});
    run("keys", back, {{"dk", want.dk, half()}, {"dv", want.dv, half()}});
  }

private:
  struct Output {
    const char *name;
    const Array &want;
    DType type;
  };

  DType half() const { return c.isBf16 ? DType::BF16 : DType::F16; }
  static Guarded made(const Array &a, DType t) {
    std::vector<uint8_t> bytes(a.size() * sizeOf(t));
    for (size_t i = 0; i < a.size(); ++i)
      writeElement(t, bytes.data(), int64_t(i), a[i]);
    return Guarded(bytes.data(), bytes.size());
  }
  Guarded booleans() const {
    Array seen;
    for (double m : want.mask)
      seen.push_back(m == 0);
    return made(seen, DType::Bool);
  }

  void run(const std::string &name, std::vector<void *> arguments,
           const std::vector<Output> &outputs) {
    auto kernel = parsed->lookupSymbol<exec::KernelOp>(name);
    const exec::Threads &launch = kernel.getThreadsAttr().getValue();
    std::vector<std::vector<uint8_t>> first;
    for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
      std::vector<Guarded> to;
      auto all = arguments;
      for (const Output &o : outputs) {
        to.emplace_back(nullptr, o.want.size() * sizeOf(o.type));
        all.push_back(to.back().data());
      }
      ASSERT_EQ(code->run(name, launch.grid, launch.block, all, order), "");
      for (size_t i = 0; i < to.size(); ++i) {
        std::vector<uint8_t> bytes(to[i].data(), to[i].data() + to[i].size());
        if (order == Order::Forward) {
          compare(outputs[i], bytes);
          first.push_back(bytes);
        } else {
          EXPECT_EQ(bytes, first[i]) << outputs[i].name << ": order matters";
        }
      }
    }
  }
  /// Relative to the largest value: factors are rounded to halves.
  static void compare(const Output &o, const std::vector<uint8_t> &bytes) {
    double largest = 1e-3;
    for (double w : o.want)
      if (std::isfinite(w))
        largest = std::max(largest, std::fabs(w));
    const double most = largest * (o.type == DType::F32    ? 1e-5
                                   : o.type == DType::BF16 ? 1.5e-2
                                                           : 2e-3);
    for (size_t i = 0; i < o.want.size(); ++i) {
      const double got = readElement(o.type, bytes.data(), int64_t(i)),
                   w = o.want[i];
      if (got == w || std::fabs(got - w) <= most)
        continue;
      ADD_FAILURE() << o.name << " element " << i << " is " << got
                    << ", expected " << w;
      return;
    }
  }

  const Case c;
  const AttentionShape shape;
  const AttentionValues want;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
  std::unique_ptr<GpuCode> code;
};

} // namespace

TEST(Attention, Plain) {
  Attention({1, 2, 64, 64, 32, 32}).check();
  Attention({2, 1, 37, 53, 16, 16, false, false, false}).check();
}

TEST(Attention, HeadDimensions) {
  Attention({1, 1, 5, 7, 8, 24}).check();
  Attention({1, 1, 33, 40, 40, 64, false}).check();
  Attention({1, 1, 17, 35, 96, 80}).check();
  Attention({1, 1, 66, 34, 128, 128, true, true}).check();
}

TEST(Attention, Causal) {
  Attention({1, 3, 70, 70, 16, 16, true, true, false}).check();
  Attention({1, 1, 20, 90, 16, 16, false, true}).check();
  Attention({1, 1, 90, 20, 16, 16, true, true}).check();
}

TEST(Attention, Masks) {
  Attention({1, 2, 40, 33, 16, 16, true, false, true, Mask::Bool, 2}).check();
  Attention({2, 2, 9, 70, 16, 8, true, true, false, Mask::Bool}).check();
  Attention({2, 2, 33, 65, 16, 16, false, false, false, Mask::Float}).check();
}

TEST(Attention, SmallAndEmpty) {
  Attention({1, 1, 1, 1, 8, 8}).check();
  Attention({0, 2, 4, 4, 8, 8}).check();
}

} // namespace dlc::test
