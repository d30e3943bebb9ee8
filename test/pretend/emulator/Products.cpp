// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, with what is computed before and after them.
#include "Text.h"

namespace dlc::test {
namespace {

struct Product {
  Shape batch;
  int64_t rows, columns, depth;
  bool transA = false, transB = false, batchB = true;
};

enum Around { Nothing, BiasGelu, CastResidual, ScaleMask };

std::string operand(const Product &p, bool isLeft, const std::string &t) {
  Shape s = isLeft || p.batchB ? p.batch : Shape();
  int64_t outer = isLeft ? p.rows : p.columns;
  bool depthLast = isLeft != (isLeft ? p.transA : p.transB);
  s.push_back(depthLast ? outer : p.depth);
  s.push_back(depthLast ? p.depth : outer);
  return tensor(s, t);
}

std::string kernel(const Product &p, Around around, const std::string &t) {
  static const char *const bodies[] = {
      R"(^bb0(%a: $A, %b: $B):
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  dlc.yield %y : $Y
)",
      R"(^bb0(%a: $A, %b: $B, %bias: $R):
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  %z = dlc.add %y, %bias : ($Y, $R) -> $Y
  %g = dlc.gelu %z {tanh} : ($Y) -> $Y
  dlc.yield %g, %z : $Y, $Y
)",
      R"(^bb0(%a: $A, %w: $W, %r: $F):
  %b = dlc.cast %w : ($W) -> $B
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  %f = dlc.cast %y : ($Y) -> $F
  %z = dlc.add %f, %r : ($F, $F) -> $F
  dlc.yield %z : $F
)",
      R"(^bb0(%x: $A, %b: $B, %m: $M):
  %c = dlc.constant dense<0.75> : tensor<$E>
  %s = dlc.mul %x, %c : ($A, tensor<$E>) -> $A
  %a = dlc.relu %s : ($A) -> $A
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  %z = dlc.constant dense<0.0> : tensor<$E>
  %d = dlc.select %m, %y, %z : ($M, $Y, tensor<$E>) -> $Y
  dlc.yield %d : $Y
)"};
  Shape y = p.batch;
  y.push_back(p.rows);
  y.push_back(p.columns);
  std::string flags = p.transA && p.transB ? "{trans_a, trans_b}"
                      : p.transA           ? "{trans_a}"
                      : p.transB           ? "{trans_b}"
                                           : "";
  return fill(bodies[around], {{"$A", operand(p, true, t)},
                               {"$B", operand(p, false, t)},
                               {"$W", operand(p, false, "f32")},
                               {"$Y", tensor(y, t)},
                               {"$F", tensor(y, "f32")},
                               {"$M", tensor(y, "i1")},
                               {"$R", tensor({p.columns}, t)},
                               {"$E", t},
                               {"$T", flags}});
}

} // namespace

PatternModule productsModule() {
  Patterns p("products");
  int next = 0;
  for (const char *t : {"bf16", "f16"})
    for (bool transA : {false, true})
      for (bool transB : {false, true})
        for (Product shape : {Product{{}, 1, 1, 1}, Product{{}, 7, 5, 3},
                              Product{{}, 33, 17, 40}, Product{{}, 31, 64, 100},
                              Product{{}, 16, 72, 64}, Product{{}, 3, 40, 1}}) {
          shape.transA = transA;
          shape.transB = transB;
          p.add(kernel(shape, Around(next++ % 4), t));
        }
  for (const char *t : {"bf16", "f16"}) {
    p.add(kernel({{2, 3}, 32, 40, 16}, Nothing, t));
    p.add(kernel({{2, 3}, 9, 40, 24, false, true, false}, BiasGelu, t));
    p.add(kernel({{5}, 1, 48, 16, false, false, false}, CastResidual, t));
    p.add(kernel({{2}, 0, 48, 16}, Nothing, t));
    p.add(kernel({{2}, 4, 48, 0}, BiasGelu, t));
    p.add(kernel({{0}, 4, 8, 8}, Nothing, t));
  }
  // One that no tensor core has.
  p.add(kernel({{2}, 9, 10, 11, true}, BiasGelu, "f32"));
  return p.finish();
}

/// Of each size of tile, one whose edges are within it and one on them.
PatternModule largeTilesModule() {
  Patterns p("large-tiles");
  p.add(kernel({{133}, 41, 36, 33, true, false}, ScaleMask, "f16"));
  p.add(kernel({{133}, 64, 64, 16, false, true}, CastResidual, "bf16"));
  p.add(kernel({{67}, 72, 120, 16, true, true}, BiasGelu, "bf16"));
  return p.finish();
}

} // namespace dlc::test
