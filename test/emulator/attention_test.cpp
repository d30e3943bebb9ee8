// Attention's generated kernels, forward and backward, against plain loops in
// double precision.
#include "Emulator.h"
#include "compiler/codegen/cuda/Attention.h"
#include "compiler/codegen/cuda/Compile.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "mlir/Parser/Parser.h"
#include "test/support/Elements.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
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
};
using Array = std::vector<double>;

/// What is computed, all of it [B, H, T, ...].
struct Reference {
  Array q, k, v, dy, mask, y, lse, dq, dk, dv;

  explicit Reference(const Case &c) : c(c) {
    std::mt19937 random(7);
    auto fill = [&](Array &a, int64_t n) {
      std::normal_distribution<> normal;
      for (a.resize(n); double &x : a)
        x = std::round(normal(random) * 16) / 16; // exact in bf16
    };
    const int64_t bh = c.batch * c.heads;
    fill(q, bh * c.queries * c.depth);
    fill(k, bh * c.keys * c.depth);
    fill(v, bh * c.keys * c.valueDepth);
    fill(dy, bh * c.queries * c.valueDepth);
    fill(mask, c.maskHeads * c.queries * c.keys);
    if (c.mask == Mask::Bool)
      for (double &x : mask)
        x = x < 0.5;
    if (c.mask == Mask::Bool && c.queries > 1) // a query that sees nothing
      std::fill_n(mask.begin() + c.keys, c.keys, 0);
    y.assign(dy.size(), 0);
    lse.assign(bh * c.queries, INFINITY);
    dq.assign(q.size(), 0);
    dk.assign(k.size(), 0);
    dv.assign(v.size(), 0);
    for (int64_t h = 0; h < bh; ++h)
      for (int64_t i = 0; i < c.queries; ++i)
        row(h, i);
  }
  double scale() const { return 1 / std::sqrt(double(c.depth)); }

private:
  static double dot(const Array &a, int64_t i, const Array &b, int64_t j,
                    int64_t n) {
    double sum = 0;
    for (int64_t d = 0; d < n; ++d)
      sum += a[i * n + d] * b[j * n + d];
    return sum;
  }
  void row(int64_t h, int64_t i) {
    const int64_t at = h * c.queries + i;
    Array s(c.keys, -INFINITY);
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double m =
          c.mask == Mask::None
              ? 0
              : mask[(h % c.heads % c.maskHeads * c.queries + i) * c.keys + j];
      if ((c.causal && j > i) || (c.mask == Mask::Bool && m == 0))
        continue;
      s[j] = dot(q, at, k, h * c.keys + j, c.depth) * scale() +
             (c.mask == Mask::Float ? m : 0);
      max = std::max(max, s[j]);
    }
    if (max == -INFINITY)
      return;
    for (double x : s)
      sum += std::exp(x - max);
    lse[at] = max + std::log(sum);
    for (int64_t j = 0; j < c.keys; ++j)
      for (int64_t d = 0; d < c.valueDepth; ++d)
        y[at * c.valueDepth + d] +=
            std::exp(s[j] - lse[at]) * v[(h * c.keys + j) * c.valueDepth + d];
    const double delta = dot(dy, at, y, at, c.valueDepth);
    for (int64_t j = 0; j < c.keys; ++j) {
      const int64_t key = h * c.keys + j;
      const double p = std::exp(s[j] - lse[at]);
      const double ds =
          p * (dot(dy, at, v, key, c.valueDepth) - delta) * scale();
      for (int64_t d = 0; d < c.depth; ++d) {
        dq[at * c.depth + d] += ds * k[key * c.depth + d];
        dk[key * c.depth + d] += ds * q[at * c.depth + d];
      }
      for (int64_t d = 0; d < c.valueDepth; ++d)
        dv[key * c.valueDepth + d] += p * dy[at * c.valueDepth + d];
    }
  }
  const Case &c;
};

class Attention {
public:
  explicit Attention(const Case &c) : c(c), want(c) {
    context.loadDialect<ir::DlcDialect, exec::ExecDialect>();
    const std::string text = module();
    parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    std::string why;
    auto sm = cuda::findSm("90", why);
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto code = parsed ? cuda::emitKernels(*parsed, *llvmContext) : nullptr;
    if (!code) {
      ADD_FAILURE() << "cannot compile\n" << text;
      return;
    }
    cuda::optimize(*code, *cuda::createTargetMachine(*sm));
    emulator = std::make_unique<Emulator>(std::move(llvmContext),
                                          std::move(code), why);
    EXPECT_EQ(why, "");
  }

  void check() {
    if (!emulator)
      return;
    const auto q = stored(want.q, c.queries, c.depth),
               k = stored(want.k, c.keys, c.depth),
               v = stored(want.v, c.keys, c.valueDepth),
               dy = stored(want.dy, c.queries, c.valueDepth),
               y = stored(want.y, c.queries, c.valueDepth);
    Guarded lse = made(want.lse, DType::F32),
            mask = made(want.mask, maskType());
    std::vector<void *> inputs{q.data(), k.data(), v.data()},
        back{dy.data(), q.data(), k.data(), v.data(), y.data(), lse.data()};
    if (c.mask != Mask::None) {
      inputs.push_back(mask.data());
      back.push_back(mask.data());
    }
    run("forward", inputs,
        {{"y", &want.y, c.queries, c.valueDepth}, {"lse", &want.lse, 0, 0}});
    run("queries", back, {{"dq", &want.dq, c.queries, c.depth}});
    run("keys", back,
        {{"dk", &want.dk, c.keys, c.depth},
         {"dv", &want.dv, c.keys, c.valueDepth}});
  }

private:
  struct Output {
    const char *name;
    const Array *want;
    int64_t length, width; // 0: as lse, in f32
  };

  std::string type(int64_t length, int64_t width) const {
    auto n = [](int64_t x) { return std::to_string(x) + "x"; };
    return "tensor<" + n(c.batch) +
           (c.headsFirst ? n(c.heads) + n(length) : n(length) + n(c.heads)) +
           n(width) + (c.isBf16 ? "bf16>" : "f16>");
  }
  std::string module() const {
    const std::string q = type(c.queries, c.depth), k = type(c.keys, c.depth),
                      v = type(c.keys, c.valueDepth),
                      y = type(c.queries, c.valueDepth);
    auto n = [](int64_t x) { return std::to_string(x) + "x"; };
    const std::string lse =
        "tensor<" + n(c.batch) + n(c.heads) + n(c.queries) + "1xf32>";
    const std::string mask = "tensor<1x" + n(c.maskHeads) + n(c.queries) +
                             n(c.keys) +
                             (c.mask == Mask::Bool ? "i1>" : "f32>");
    const bool masked = c.mask != Mask::None;
    char attributes[200];
    std::snprintf(attributes, sizeof attributes,
                  " {scale = %.17e : f64, layout = \"%s\"%s}", want.scale(),
                  c.headsFirst ? "bhtd" : "bthd", c.causal ? ", causal" : "");
    const std::string m = masked ? ", %m" : "", mt = masked ? ", " + mask : "",
                      ma = masked ? ", %m: " + mask : "";
    auto kernel = [&](const std::string &name, const std::string &yields) {
      return "exec.kernel @" + name + " {\n^bb0(%dy: " + y + ", %q: " + q +
             ", %k: " + k + ", %v: " + v + ", %y: " + y + ", %l: " + lse + ma +
             "):\n  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, "
             "%l" +
             m + attributes + " : (" + y + ", " + q + ", " + k + ", " + v +
             ", " + y + ", " + lse + mt + ") -> (" + q + ", " + k + ", " + v +
             ")\n  dlc.yield " + yields + "\n}\n";
    };
    return "module {\nexec.kernel @forward {\n^bb0(%q: " + q + ", %k: " + k +
           ", %v: " + v + ma + "):\n  %y, %l = dlc.attention %q, %k, %v" + m +
           attributes + " : (" + q + ", " + k + ", " + v + mt + ") -> (" + y +
           ", " + lse + ")\n  dlc.yield %y, %l : " + y + ", " + lse + "\n}\n" +
           kernel("queries", "%a : " + q) +
           kernel("keys", "%b, %c : " + k + ", " + v) + "}\n";
  }

  DType half() const { return c.isBf16 ? DType::BF16 : DType::F16; }
  DType maskType() const {
    return c.mask == Mask::Bool ? DType::Bool : DType::F32;
  }
  /// Where element d of row t of head h lies.
  int64_t place(int64_t h, int64_t t, int64_t d, int64_t length,
                int64_t width) const {
    return c.headsFirst
               ? (h * length + t) * width + d
               : ((h / c.heads * length + t) * c.heads + h % c.heads) * width +
                     d;
  }
  static Guarded made(const Array &a, DType t) {
    std::vector<uint8_t> bytes(a.size() * sizeOf(t));
    for (size_t i = 0; i < a.size(); ++i)
      writeElement(t, bytes.data(), int64_t(i), a[i]);
    return Guarded(bytes.data(), bytes.size());
  }
  Guarded stored(const Array &a, int64_t length, int64_t width) {
    Array laid(a.size());
    for (int64_t h = 0; h < c.batch * c.heads; ++h)
      for (int64_t t = 0; t < length; ++t)
        for (int64_t d = 0; d < width; ++d)
          laid[place(h, t, d, length, width)] = a[(h * length + t) * width + d];
    return made(laid, half());
  }

  void run(const std::string &name, std::vector<void *> arguments,
           const std::vector<Output> &outputs) {
    auto kernel = parsed->lookupSymbol<exec::KernelOp>(name);
    const auto launch = *cuda::mapAttention(kernel);
    std::vector<std::vector<uint8_t>> first;
    for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
      std::vector<Guarded> to;
      auto all = arguments;
      for (const Output &o : outputs) {
        to.emplace_back(nullptr, o.want->size() * (o.width ? 2 : 4));
        all.push_back(to.back().data());
      }
      ASSERT_EQ(emulator->run(name, launch.grid, launch.block, all, order), "");
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
  void compare(const Output &o, const std::vector<uint8_t> &bytes) {
    const DType t = o.width ? half() : DType::F32;
    double largest = 1e-3;
    for (double w : *o.want)
      if (std::isfinite(w))
        largest = std::max(largest, std::fabs(w));
    const double most = largest * (o.width ? c.isBf16 ? 1.5e-2 : 2e-3 : 1e-5);
    const int64_t width = o.width ? o.width : 1,
                  length = o.width ? o.length : c.queries;
    for (size_t i = 0; i < o.want->size(); ++i) {
      const int64_t d = i % width, row = i / width;
      const int64_t at =
          o.width ? place(row / length, row % length, d, length, width) : i;
      const double got = readElement(t, bytes.data(), at), w = (*o.want)[i];
      if (got == w || std::fabs(got - w) <= most)
        continue;
      ADD_FAILURE() << o.name << " element " << i << " is " << got
                    << ", expected " << w;
      return;
    }
  }

  const Case c;
  Reference want;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
  std::unique_ptr<Emulator> emulator;
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
