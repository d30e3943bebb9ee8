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

enum Around { Nothing, BiasGelu, CastResidual, ScaleMask, Moments, MaskedSums };

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
)",
      // Of each part of the rows: mean, and sum of squared distances from it.
      R"(^bb0(%a: $A, %b: $B):
  %n = dlc.constant dense<$N.0> : tensor<f32>
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  %h = dlc.slice %y {starts = array<i64: 0, 0, 0>, sizes = array<i64: $P, 1, $C>, steps = array<i64: 1, 1, 1>} : ($Y) -> $H
  %p = dlc.cast %h : ($H) -> $S
  %f = dlc.cast %y : ($Y) -> $F
  %d = dlc.sub %f, %p : ($F, $S) -> $F
  %s = dlc.reduce_sum %d {axes = array<i64: 1>, keepdims} : ($F) -> $S
  %q = dlc.mul %d, %d : ($F, $F) -> $F
  %t = dlc.reduce_sum %q {axes = array<i64: 1>, keepdims} : ($F) -> $S
  %m = dlc.div %s, %n : ($S, tensor<f32>) -> $S
  %u = dlc.add %p, %m : ($S, $S) -> $S
  %v = dlc.mul %m, %s : ($S, $S) -> $S
  %w = dlc.sub %t, %v : ($S, $S) -> $S
  dlc.yield %u, %w, %y : $S, $S, $Y
)",
      R"(^bb0(%a: $A, %b: $B, %r: $Y, %m: $M, %x: $Y, %mean: $R):
  %y = dlc.matmul %a, %b $T : ($A, $B) -> $Y
  %g = dlc.add %y, %r : ($Y, $Y) -> $Y
  %z = dlc.constant dense<0.0> : tensor<$E>
  %d = dlc.select %m, %g, %z : ($M, $Y, tensor<$E>) -> $Y
  %f = dlc.cast %d : ($Y) -> $F
  %c = dlc.sub %x, %mean : ($Y, $R) -> $Y
  %w = dlc.cast %c : ($Y) -> $F
  %q = dlc.mul %f, %w : ($F, $F) -> $F
  %s = dlc.reduce_sum %f {axes = array<i64: 1>, keepdims} : ($F) -> $S
  %t = dlc.reduce_sum %q {axes = array<i64: 1>, keepdims} : ($F) -> $S
  dlc.yield %d, %s, %t : $Y, $S, $S
)"};
  Shape y = p.batch;
  y.push_back(p.rows);
  y.push_back(p.columns);
  Shape oneRow = y;
  oneRow[y.size() - 2] = 1;
  std::string flags = p.transA && p.transB ? "{trans_a, trans_b}"
                      : p.transA           ? "{trans_a}"
                      : p.transB           ? "{trans_b}"
                                           : "";
  return fill(bodies[around],
              {{"$A", operand(p, true, t)},
               {"$B", operand(p, false, t)},
               {"$W", operand(p, false, "f32")},
               {"$Y", tensor(y, t)},
               {"$F", tensor(y, "f32")},
               {"$M", tensor(y, "i1")},
               {"$R", tensor({p.columns}, t)},
               {"$E", t},
               {"$H", tensor(oneRow, t)},
               {"$S", tensor(oneRow, "f32")},
               {"$N", std::to_string(p.rows)},
               {"$C", std::to_string(p.columns)},
               {"$P", std::to_string(p.batch.empty() ? 1 : p.batch.front())},
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

/// Of each size of tile: reductions over rows, of one or several tiles.
PatternModule reducedProductsModule() {
  Patterns p("reduced-products");
  p.add(kernel({{66}, 256, 128, 8, false, true, false}, Moments, "bf16"));
  p.add(kernel({{133}, 64, 64, 16, false, false, false}, MaskedSums, "f16"));
  for (const char *t : {"bf16", "f16"})
    for (Around around : {Moments, MaskedSums})
      for (const Product &shape :
           {Product{{2}, 96, 32, 72, false, false, false},
            Product{{3}, 32, 96, 8, false, true, false}})
        p.add(kernel(shape, around, t));
  return p.finish();
}

} // namespace dlc::test
