// RUN: %dlc-opt %s --split-input-file --dlc-insert-all-reduce="ddp=2 first-bucket-mb=1.52587890625e-05 bucket-mb=2.288818359375e-05" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-insert-all-reduce=ddp=1 | FileCheck %s --check-prefix=ALONE
// RUN: %dlc-opt %s --split-input-file --dlc-insert-all-reduce="ddp=2 compress=bf16" | FileCheck %s --check-prefix=WIRE
// RUN: %dlc-opt %s --split-input-file --dlc-insert-all-reduce="ddp=1 compress=fp16" | FileCheck %s --check-prefix=ALONE
// RUN: %dlc-opt %s --split-input-file --dlc-insert-all-reduce="ddp=1 zero=1" 2>&1 | FileCheck %s --check-prefix=NOTHING

// The loss (4 bytes) and @a (12) fill the first bucket; @b (12) and @c (12) the second; @d starts the third.
// CHECK: @train_step([[LOSS:%.*]]: tensor<f32>, [[D:%.*]]: tensor<3xf32>)
// CHECK: [[MEAN:%.*]] = dlc.all_reduce [[LOSS]] {bucket = 0 : i64}
// CHECK: [[A:%.*]] = dlc.all_reduce [[D]] {bucket = 0 : i64, of = @a}
// CHECK-NEXT: dlc.gradient @a, [[A]]
// CHECK: [[B:%.*]] = dlc.all_reduce [[D]] {bucket = 1 : i64, of = @b}
// CHECK-NEXT: dlc.gradient @b, [[B]]
// CHECK: [[C:%.*]] = dlc.all_reduce [[D]] {bucket = 1 : i64, of = @c}
// CHECK-NEXT: dlc.gradient @c, [[C]]
// CHECK: dlc.all_reduce [[D]] {bucket = 2 : i64, of = @d}
// CHECK: return [[MEAN]]

// One rank: the gradient is marked, nothing travels.
// ALONE: dlc.all_reduce {{%.*}} {of = @a} : (tensor<3xf32>)
// ALONE-NOT: bucket

// NOTHING: warning: --zero changes nothing for one rank: compile with --ddp=2 or more

// A gradient travels in half, the loss does not.
// WIRE: dlc.all_reduce {{%.*}} {bucket = 0 : i64} : (tensor<f32>)
// WIRE: [[SENT:%.*]] = dlc.cast {{%.*}} : (tensor<3xf32>) -> tensor<3xbf16>
// WIRE: [[MEAN:%.*]] = dlc.all_reduce [[SENT]] {bucket = 0 : i64, of = @a} : (tensor<3xbf16>)
// WIRE: [[A:%.*]] = dlc.cast [[MEAN]] : (tensor<3xbf16>) -> tensor<3xf32>
// WIRE: dlc.gradient @a, [[A]]
dlc.state @a : tensor<3xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
dlc.state @c : tensor<3xf32> param init = "c" trainable
dlc.state @d : tensor<3xf32> param init = "d" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a, %g : tensor<3xf32>
  dlc.gradient @b, %g : tensor<3xf32>
  dlc.gradient @c, %g : tensor<3xf32>
  dlc.gradient @d, %g : tensor<3xf32>
  return %loss : tensor<f32>
}

// -----

// The sum of rows' weights has a bucket before those of the gradients, of which the first is as small as ever.
// CHECK: module
// CHECK: @train_step(
// CHECK: dlc.all_reduce {{%.*}} op = sum {bucket = 0 : i64} : (tensor<2xf32>)
// CHECK: dlc.all_reduce {{%.*}} {bucket = 1 : i64} : (tensor<f32>)
// CHECK: dlc.all_reduce {{%.*}} {bucket = 1 : i64, of = @a}
// CHECK: dlc.all_reduce {{%.*}} {bucket = 2 : i64, of = @b}
// ALONE: module
// ALONE: @train_step(
// ALONE-SAME: [[SENT:%.*]]: tensor<2xf32>, [[G:%.*]]: tensor<3xf32>)
// ALONE-NEXT: dlc.slice [[SENT]]
dlc.state @a : tensor<3xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
func.func @train_step(%sent: tensor<2xf32>, %g: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %sums = dlc.all_reduce %sent op = sum : (tensor<2xf32>) -> tensor<2xf32>
  %first = dlc.slice %sums {sizes = array<i64: 1>, starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>
  %loss = dlc.reshape %first : (tensor<1xf32>) -> tensor<f32>
  dlc.gradient @a, %g : tensor<3xf32>
  dlc.gradient @b, %g : tensor<3xf32>
  return %loss : tensor<f32>
}

// -----

// Rows of both ranks, each in its place; numbers are distances from that of no row, which is 0 where the other rank is.
// CHECK: dlc.state @rng.rank
// CHECK: @train_step(
// CHECK: [[RANK:%.*]] = dlc.read @rng.rank
// CHECK: [[NONE:%.*]] = dlc.constant dense<9> : tensor<i64>
// CHECK: [[DISTANCE:%.*]] = dlc.sub [[NONE]], %arg1
// CHECK: [[MINE:%.*]] = dlc.select {{%.*}} : (tensor<2x4xi1>, tensor<2x4xi64>, tensor<i64>) -> tensor<2x4xi64>
// CHECK: [[NUMBERS:%.*]] = dlc.all_reduce [[MINE]] op = sum {bucket = [[B:[0-9]+]] : i64} : (tensor<2x4xi64>)
// CHECK: [[OWN:%.*]] = dlc.select {{%.*}} : (tensor<2x4x3xi1>, tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
// CHECK: [[VALUES:%.*]] = dlc.all_reduce [[OWN]] {bucket = [[B]] : i64} : (tensor<2x4x3xf32>)
// CHECK: [[FLAT:%.*]] = dlc.reshape [[NUMBERS]]
// CHECK: [[BACK:%.*]] = dlc.sub [[NONE]], [[FLAT]]
// CHECK: [[ALL:%.*]] = dlc.reshape [[VALUES]]
// CHECK: [[ROWS:%.*]], [[SUMS:%.*]] = dlc.unique_rows [[BACK]], [[ALL]] {ranks = 2 : i64, size = 9 : i64} : (tensor<8xi64>, tensor<8x3xf32>)
// CHECK: dlc.gradient @w, [[SUMS]] at [[ROWS]]
// ALONE: module
// ALONE: dlc.gradient @w, %arg0 at %arg1
// WIRE: [[SENT:%.*]] = dlc.cast {{%.*}} : (tensor<2x4x3xf32>) -> tensor<2x4x3xbf16>
// WIRE: dlc.all_reduce [[SENT]]
dlc.state @w : tensor<9x3xf32> param init = "w" trainable
func.func @train_step(%g: tensor<4x3xf32>, %rows: tensor<4xi64>) {
  dlc.gradient @w, %g at %rows : tensor<4x3xf32>, tensor<4xi64>
  return
}
