// SPDX-License-Identifier: Apache-2.0
#include "Text.h"

namespace dlc::test {
namespace {

const std::vector<std::string> kFloats = {"f32", "bf16", "f16"};
const std::vector<Shape> kMatrices = {
    {1, 1},   {1, 7},    {7, 1},    {3, 31},   {5, 33},   {64, 10},
    {17, 64}, {33, 127}, {13, 100}, {9, 1000}, {300, 24}, {2, 1031},
    {4, 768}, {3, 4096}, {2, 4100}, {1, 9000}, {1000, 3}, {2, 33001},
    {129, 2}, {67, 256}, {31, 512}, {1030, 8}};

std::string biasRelu(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%x: $X, %b: $R, %r: $X):
  %y = dlc.add %x, %b : ($X, $R) -> $X
  %s = dlc.add %y, %r : ($X, $X) -> $X
  %z = dlc.relu %s : ($X) -> $X
  %g = dlc.gelu %s {tanh} : ($X) -> $X
  dlc.yield %z, %g : $X, $X
)",
              {{"$X", tensor(s, t)}, {"$R", tensor({s[1]}, t)}});
}

std::string softmax(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H):
  %x = dlc.cast %h : ($H) -> $X
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %d = dlc.sub %x, %m : ($X, $C) -> $X
  %e = dlc.exp %d : ($X) -> $X
  %t = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %y = dlc.div %e, %t : ($X, $C) -> $X
  %z = dlc.cast %y : ($X) -> $H
  dlc.yield %z, %t : $H, $C
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$C", tensor({s[0], 1}, "f32")}});
}

std::string layerNormBackward(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H, %k: $H, %mean: $C, %rstd: $C, %scale: $R):
  %dy = dlc.cast %h : ($H) -> $X
  %x = dlc.cast %k : ($H) -> $X
  %c = dlc.sub %x, %mean : ($X, $C) -> $X
  %n = dlc.mul %c, %rstd : ($X, $C) -> $X
  %g = dlc.mul %dy, %scale : ($X, $R) -> $X
  %a = dlc.reduce_mean %g {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %gn = dlc.mul %g, %n : ($X, $X) -> $X
  %b = dlc.reduce_mean %gn {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %nb = dlc.mul %n, %b : ($X, $C) -> $X
  %s = dlc.sub %g, %a : ($X, $C) -> $X
  %u = dlc.sub %s, %nb : ($X, $X) -> $X
  %v = dlc.mul %u, %rstd : ($X, $C) -> $X
  %dx = dlc.cast %v : ($X) -> $H
  dlc.yield %dx : $H
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$C", tensor({s[0], 1}, "f32")},
               {"$R", tensor({s[1]}, "f32")}});
}

/// The same with a residual gradient, and for each part of the rows the sums of
/// columns that are the gradients of scale, bias and the bias before.
std::string layerNormGradients(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H, %k: $H, %mean: $C, %rstd: $C, %scale: $R, %r: $H):
  %dy = dlc.cast %h : ($H) -> $X
  %x = dlc.cast %k : ($H) -> $X
  %c = dlc.sub %x, %mean : ($X, $C) -> $X
  %n = dlc.mul %c, %rstd : ($X, $C) -> $X
  %g = dlc.mul %dy, %scale : ($X, $R) -> $X
  %a = dlc.reduce_mean %g {axes = array<i64: 2>, keepdims} : ($X) -> $C
  %gn = dlc.mul %g, %n : ($X, $X) -> $X
  %b = dlc.reduce_mean %gn {axes = array<i64: 2>, keepdims} : ($X) -> $C
  %nb = dlc.mul %n, %b : ($X, $C) -> $X
  %s = dlc.sub %g, %a : ($X, $C) -> $X
  %u = dlc.sub %s, %nb : ($X, $X) -> $X
  %v = dlc.mul %u, %rstd : ($X, $C) -> $X
  %w = dlc.cast %v : ($X) -> $H
  %dx = dlc.add %r, %w : ($H, $H) -> $H
  %z = dlc.cast %dx : ($H) -> $X
  %p = dlc.mul %dy, %n : ($X, $X) -> $X
  %dscale = dlc.reduce_sum %p {axes = array<i64: 1>, keepdims} : ($X) -> $S
  %dbias = dlc.reduce_sum %dy {axes = array<i64: 1>, keepdims} : ($X) -> $S
  %before = dlc.reduce_sum %z {axes = array<i64: 1>} : ($X) -> $T
  dlc.yield %dscale, %dx, %dbias, %a, %before : $S, $H, $S, $C, $T
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$C", tensor({s[0], s[1], 1}, "f32")},
               {"$S", tensor({s[0], 1, s[2]}, "f32")},
               {"$T", tensor({s[0], s[2]}, "f32")},
               {"$R", tensor({s[2]}, "f32")}});
}

/// Loss and log-sum of rows with a label each.
std::string crossEntropy(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H, %label: $L):
  %x = dlc.cast %h : ($H) -> $X
  %z = dlc.constant dense<0.0> : tensor<f32>
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %d = dlc.sub %x, %m : ($X, $C) -> $X
  %e = dlc.exp %d : ($X) -> $X
  %t = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %l = dlc.log %t : ($C) -> $C
  %i = dlc.iota {axis = 1} : () -> $I
  %hit = dlc.compare eq %i, %label : ($I, $L) -> $B
  %p = dlc.select %hit, %d, %z : ($B, $X, tensor<f32>) -> $X
  %q = dlc.reduce_sum %p {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %loss = dlc.sub %l, %q : ($C, $C) -> $C
  %best = dlc.argmax %x {axes = array<i64: 1>, keepdims} : ($X) -> $A
  dlc.yield %loss, %best : $C, $A
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$C", tensor({s[0], 1}, "f32")},
               {"$A", tensor({s[0], 1}, "i64")},
               {"$L", tensor({s[0], 1}, "i32")},
               {"$I", tensor(s, "i32")},
               {"$B", tensor(s, "i1")}});
}

/// Sums over all but the last dimension, as of scale and bias.
std::string columnSums(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H, %k: $H, %mean: $R):
  %dy = dlc.cast %h : ($H) -> $X
  %x = dlc.cast %k : ($H) -> $X
  %c = dlc.sub %x, %mean : ($X, $R) -> $X
  %p = dlc.mul %c, %dy : ($X, $X) -> $X
  %a = dlc.reduce_sum %p {axes = array<i64: 0>} : ($X) -> $R
  %b = dlc.reduce_sum %dy {axes = array<i64: 0>} : ($X) -> $R
  %m = dlc.reduce_max %x {axes = array<i64: 0>} : ($X) -> $R
  dlc.yield %a, %b, %m : $R, $R, $R
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$R", tensor({s[1]}, "f32")}});
}

/// The same of a gradient that is masked, and stored as it is added up.
std::string storingSums(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%g: $H, %skip: $H, %y: $H, %k: $H, %mean: $R):
  %zero = dlc.constant dense<0.0> : tensor<$T>
  %one = dlc.constant dense<2.0> : tensor<$T>
  %g2 = dlc.add %g, %skip : ($H, $H) -> $H
  %off = dlc.compare le %y, %zero : ($H, tensor<$T>) -> $B
  %dz = dlc.select %off, %zero, %g2 : ($B, tensor<$T>, $H) -> $H
  %twice = dlc.mul %dz, %one : ($H, tensor<$T>) -> $H
  %dy = dlc.cast %dz : ($H) -> $X
  %x = dlc.cast %k : ($H) -> $X
  %c = dlc.sub %x, %mean : ($X, $R) -> $X
  %p = dlc.mul %c, %dy : ($X, $X) -> $X
  %a = dlc.reduce_sum %p {axes = array<i64: 0>} : ($X) -> $R
  %b = dlc.reduce_sum %dy {axes = array<i64: 0>} : ($X) -> $R
  dlc.yield %a, %dz, %b, %twice : $R, $H, $R, $H
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$B", tensor(s, "i1")},
               {"$T", t},
               {"$R", tensor({s[1]}, "f32")}});
}

std::string reduceAll(const Shape &s, const std::string &t,
                      const std::string &op) {
  return fill(R"(^bb0(%x: $X):
  %y = dlc.$OP %x {axes = array<i64: 0, 1>} : ($X) -> $Y
  dlc.yield %y : $Y
)",
              {{"$X", tensor(s, t)}, {"$Y", tensor({}, t)}, {"$OP", op}});
}

/// The reduced dimension lies between others.
std::string middle(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%x: $X):
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : ($X) -> $C
  %i = dlc.argmax %x {axes = array<i64: 1>, keepdims} : ($X) -> $A
  dlc.yield %m, %i : $C, $A
)",
              {{"$X", tensor({s[0], 5, s[1]}, t)},
               {"$C", tensor({s[0], 1, s[1]}, t)},
               {"$A", tensor({s[0], 1, s[1]}, "i64")}});
}

/// Sums over batch and pixels of images in either layout.
std::string channelSums(int64_t n, int64_t c, int64_t pixels, bool last,
                        const std::string &t) {
  Shape s = last ? Shape{n, pixels, c} : Shape{n, c, pixels};
  return fill(
      R"(^bb0(%x: $X):
  %y = dlc.reduce_sum %x {axes = array<i64: 0, $A>} : ($X) -> $R
  dlc.yield %y : $R
)",
      {{"$X", tensor(s, t)}, {"$R", tensor({c}, t)}, {"$A", last ? "1" : "2"}});
}

PatternModule elementwiseModule() {
  Patterns p("elementwise");
  for (const std::string &t : kFloats)
    for (const Shape &s : kMatrices)
      p.add(biasRelu(s, t));
  // Last elements for which a block of vectors has no threads left.
  for (const Shape &s : {Shape{1, 1022}, Shape{1, 1023}, Shape{1, 2047}})
    for (const std::string &t : kFloats)
      p.add(biasRelu(s, t));
  p.add(biasRelu({0, 5}, "f32"));
  return p.finish();
}

/// Momentum, of which ranks have parts.
PatternModule partsModule() {
  Patterns p("parts");
  for (int64_t n : {1, 64, 1000, 1023, 2047, 10000})
    for (const std::string &t : kFloats)
      p.addParts(fill(R"(^bb0(%w: $W, %m: $M, %g: $W, %lr: tensor<f32>):
  %k = dlc.cast %m : ($M) -> $W
  %c = dlc.constant dense<0.9> : tensor<f32>
  %d = dlc.mul %k, %c : ($W, tensor<f32>) -> $W
  %s = dlc.add %d, %g : ($W, $W) -> $W
  %u = dlc.mul %s, %lr : ($W, tensor<f32>) -> $W
  %y = dlc.sub %w, %u : ($W, $W) -> $W
  %z = dlc.cast %s : ($W) -> $M
  dlc.yield %y, %z : $W, $M
)",
                      {{"$W", tensor({n}, "f32")}, {"$M", tensor({n}, t)}}));
  return p.finish();
}

/// Results along the rows, an operand along the columns and one that both are.
std::string transposed(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%x: $X, %y: $Y, %b: $R):
  %t = dlc.transpose %x {perm = array<i64: 0, 2, 1>} : ($X) -> $Y
  %s = dlc.sub %t, %y : ($Y, $Y) -> $Y
  %z = dlc.add %s, %b : ($Y, $R) -> $Y
  %w = dlc.cast %z : ($Y) -> $F
  dlc.yield %z, %w : $Y, $F
)",
              {{"$X", tensor(s, t)},
               {"$Y", tensor({s[0], s[2], s[1]}, t)},
               {"$F", tensor({s[0], s[2], s[1]}, "f32")},
               {"$R", tensor({s[1]}, t)}});
}

PatternModule transposedModule() {
  Patterns p("transposed");
  for (const char *t : {"f32", "bf16", "f16", "f64", "i32"})
    for (const Shape &s : {Shape{2, 64, 32}, Shape{1, 33, 65}, Shape{3, 17, 64},
                           Shape{1, 100, 31}, Shape{2, 1, 40}})
      p.add(transposed(s, t));
  return p.finish();
}

PatternModule softmaxModule() {
  Patterns p("softmax");
  for (const std::string &t : kFloats)
    for (const Shape &s : kMatrices)
      p.add(softmax(s, t));
  return p.finish();
}

PatternModule layerNormBackwardModule() {
  Patterns p("layer-norm-backward");
  for (const std::string &t : kFloats)
    for (const Shape &s : kMatrices)
      p.add(layerNormBackward(s, t));
  return p.finish();
}

PatternModule layerNormGradientsModule() {
  Patterns p("layer-norm-gradients");
  for (const std::string &t : kFloats)
    for (const Shape &s : {Shape{2, 7, 768}, Shape{3, 5, 100}, Shape{2, 9, 8},
                           Shape{4, 64, 24}, Shape{2, 33, 7}, Shape{3, 4, 1000},
                           Shape{2, 3, 2050}, Shape{2, 2, 4096}})
      p.add(layerNormGradients(s, t));
  return p.finish();
}

PatternModule crossEntropyAndArgMaxModule() {
  Patterns p("cross-entropy-and-arg-max");
  for (const std::string &t : kFloats)
    for (const Shape &s : kMatrices)
      p.add(crossEntropy(s, t));
  return p.finish();
}

/// A batch norm's statistics, whose parts the last blocks put together, and new
/// running ones, in a kernel that also stores what it adds up.
std::string lastBlocks(const Shape &s, const std::string &t) {
  return fill(R"(^bb0(%h: $H, %m: $C, %k: $F):
  %x = dlc.cast %h : ($H) -> $X
  %d = dlc.sub %x, %m : ($X, $C) -> $X
  %s = dlc.reduce_sum %d {axes = array<i64: 1>, keepdims} : ($X) -> $P
  %v = dlc.mul %d, %d : ($X, $X) -> $X
  %q = dlc.reduce_sum %v {axes = array<i64: 1>, keepdims} : ($X) -> $P
  %w = dlc.cast %d : ($X) -> $H
  exec.last
  %f = dlc.slice %s {sizes = array<i64: 1, 1, $N>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : ($P) -> $C
  %g = dlc.sub %s, %f : ($P, $C) -> $P
  %a = dlc.reduce_sum %g {axes = array<i64: 0>, keepdims} : ($P) -> $C
  %e = dlc.reduce_sum %q {axes = array<i64: 0>, keepdims} : ($P) -> $C
  %u = dlc.add %a, %m : ($C, $C) -> $C
  %l = dlc.reshape %k : ($F) -> $C
  %n = dlc.add %l, %e : ($C, $C) -> $C
  dlc.yield %s, %q, %w, %u, %n : $P, $P, $H, $C, $C
)",
              {{"$H", tensor(s, t)},
               {"$X", tensor(s, "f32")},
               {"$P", tensor({s[0], 1, s[2]}, "f32")},
               {"$C", tensor({1, 1, s[2]}, "f32")},
               {"$F", tensor({s[2]}, "f32")},
               {"$N", std::to_string(s[2])}});
}

/// Parts of one and of several blocks, with and without a rest of elements.
std::string beside(const std::string &t) {
  return fill(
      R"(^bb0(%x: tensor<64x48x3x3x$T>, %y: tensor<1001xf32>, %z: tensor<3xf32>, %w: tensor<300x70x$T>):
  %a = dlc.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<64x48x3x3x$T>) -> tensor<64x3x3x48x$T>
  exec.beside
  %b = dlc.exp %y : (tensor<1001xf32>) -> tensor<1001xf32>
  exec.beside
  %t = dlc.constant dense<[1.0, -2.0, 4.0]> : tensor<3xf32>
  %c = dlc.mul %z, %t : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  exec.beside
  %d = dlc.cast %w : (tensor<300x70x$T>) -> tensor<300x70xf32>
  %e = dlc.neg %w : (tensor<300x70x$T>) -> tensor<300x70x$T>
  dlc.yield %a, %b, %c, %d, %e : tensor<64x3x3x48x$T>, tensor<1001xf32>, tensor<3xf32>, tensor<300x70xf32>, tensor<300x70x$T>
)",
      {{"$T", t}});
}

PatternModule partsOfKernelsModule() {
  Patterns p("parts-of-kernels");
  for (const std::string &t : kFloats)
    for (const Shape &s : std::vector<Shape>{{64, 9, 64},
                                             {5, 50, 96},
                                             {20, 64, 256},
                                             {3, 30, 10},
                                             {17, 8, 512},
                                             {300, 4, 8},
                                             {4, 100, 2048}})
      p.add(lastBlocks(s, t));
  for (const std::string &t : kFloats)
    p.add(beside(t));
  return p.finish();
}

PatternModule columnsModule() {
  Patterns p("columns");
  for (const std::string &t : kFloats)
    for (const Shape &s : kMatrices) {
      p.add(columnSums(s, t));
      p.add(storingSums(s, t));
    }
  p.add(columnSums({0, 5}, "f32"));
  // Many threads of a block for each sum.
  p.add(columnSums({4500, 8}, "f32"));
  p.add(storingSums({4500, 8}, "bf16"));
  for (bool last : {false, true})
    for (const std::string &t : kFloats)
      for (int64_t c : {1, 3, 16, 64})
        p.add(channelSums(5, c, 49, last, t));
  return p.finish();
}

/// Updates added to the rows of a table, in `outer` copies: of `count` numbers
/// few are different, some below zero, and the first rows have most of them.
std::string sparseSums(int64_t outer, int64_t count, int64_t rows,
                       int64_t columns, const std::string &t,
                       const std::string &index) {
  return fill(
      R"(^bb0(%w: $Y, %i: $I, %u: $U):
  %three = dlc.constant dense<3> : tensor<$N>
  %rows = dlc.constant dense<$R> : tensor<$N>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %k = dlc.sub %i, %three : ($I, tensor<$N>) -> $I
  %at = dlc.broadcast %k : ($I) -> $A
  %row = dlc.iota {axis = 2} : () -> $A
  %end = dlc.sub %row, %rows : ($A, tensor<$N>) -> $A
  %a = dlc.compare eq %at, %row : ($A, $A) -> $B
  %b = dlc.compare eq %at, %end : ($A, $A) -> $B
  %c = dlc.or %a, %b : ($B, $B) -> $B
  %h = dlc.broadcast %u : ($U) -> $H
  %x = dlc.cast %h : ($H) -> $X
  %s = dlc.select %c, %x, %zero : ($B, $X, tensor<f32>) -> $X
  %y = dlc.reduce_sum %s {axes = array<i64: 1>} : ($X) -> $F
  %v = dlc.cast %w : ($Y) -> $F
  %z = dlc.add %v, %y : ($F, $F) -> $F
  %r = dlc.cast %z : ($F) -> $Y
  dlc.yield %r : $Y
)",
      {{"$N", index},
       {"$R", std::to_string(rows)},
       {"$I", tensor({1, count, 1, 1}, index)},
       {"$U", tensor({outer, count, 1, columns}, t)},
       {"$A", tensor({outer, count, rows, columns}, index)},
       {"$B", tensor({outer, count, rows, columns}, "i1")},
       {"$H", tensor({outer, count, rows, columns}, t)},
       {"$X", tensor({outer, count, rows, columns}, "f32")},
       {"$F", tensor({outer, rows, columns}, "f32")},
       {"$Y", tensor({outer, rows, columns}, t)}});
}

PatternModule sparseModule() {
  Patterns p("sparse");
  for (const std::string &t : kFloats)
    for (const char *index : {"i64", "i32"}) {
      p.add(sparseSums(1, 64, 8, 33, t, index));
      p.add(sparseSums(1, 300, 101, 264, t, index));
      p.add(sparseSums(3, 260, 45, 16, t, index));
    }
  // More in a few rows than a list holds.
  p.add(sparseSums(1, 16001, 2001, 8, "f32", "i64"));
  return p.finish();
}

/// Values stored in rows of a table.
std::string putRows(int64_t rows, int64_t count, int64_t columns,
                    const std::string &t) {
  return fill(R"(^bb0(%x: $X, %i: tensor<$Nxi64>, %v: $V):
  %y = dlc.put_rows %x, %i, %v by = generated : ($X, tensor<$Nxi64>, $V) -> $X
  dlc.yield %y : $X
)",
              {{"$N", std::to_string(count)},
               {"$X", tensor({rows, columns}, t)},
               {"$V", tensor({count, columns}, t)}});
}

PatternModule putRowsModule() {
  Patterns p("put-rows");
  for (const std::string &t : kFloats)
    for (int64_t columns : {1, 3, 8, 33, 264})
      for (int64_t count : {1, 7, 100})
        p.add(putRows(64, count, columns, t));
  p.add(putRows(1, 3, 16, "f32"));
  return p.finish();
}

PatternModule otherReductionsModule() {
  Patterns p("other-reductions");
  for (const Shape &s : {Shape{3, 7}, Shape{64, 100}, Shape{1, 1}, Shape{0, 3}})
    for (const char *op : {"reduce_sum", "reduce_max", "reduce_min"})
      for (const char *t : {"f32", "bf16", "i32", "i64", "f64"})
        p.add(reduceAll(s, t, op));
  for (const Shape &s : kMatrices)
    for (const char *t : {"f32", "bf16", "i32"})
      if (s[1] < 2000)
        p.add(middle(s, t));
  return p.finish();
}

} // namespace

std::vector<PatternModule> patternModules() {
  return {elementwiseModule(),
          partsModule(),
          softmaxModule(),
          layerNormBackwardModule(),
          layerNormGradientsModule(),
          crossEntropyAndArgMaxModule(),
          columnsModule(),
          partsOfKernelsModule(),
          sparseModule(),
          putRowsModule(),
          otherReductionsModule(),
          transposedModule(),
          productsModule(),
          largeTilesModule(),
          reducedProductsModule()};
}

PatternModule matrixModule(int64_t rows, int64_t columns) {
  Patterns p("matrix");
  const Shape s = {rows, columns};
  for (const std::string &t : kFloats) {
    p.add("bias_relu_gelu_" + t, biasRelu(s, t));
    p.add("softmax_" + t, softmax(s, t));
    p.add("layer_norm_backward_" + t, layerNormBackward(s, t));
    p.add("cross_entropy_" + t, crossEntropy(s, t));
    p.add("column_sums_" + t, columnSums(s, t));
  }
  return p.finish();
}

} // namespace dlc::test
