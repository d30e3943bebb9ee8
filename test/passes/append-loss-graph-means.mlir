// A loss of the graph is the sum of means: over rows, over rows by their weights, and of what no sample changes.
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss=loss=total:graph 2>/dev/null | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss=loss=total:graph 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

dlc.state @w : tensor<10xf32> param init = 0.0 : f32 trainable
// CHECK-LABEL: @eval_step
// CHECK-SAME: (tensor<4xf32> {dlc.name = "row_loss"}, tensor<4xf32> {dlc.name = "row_weight"}, tensor<4xf32> {dlc.name = "row_loss.1"}, tensor<1xf32> {dlc.name = "row_loss.2"})
// CHECK-DAG: dense<5.000000e-01>
// CHECK-DAG: dense<-2.000000e+00>
// CHECK-NOT: dlc.div
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}, %m: tensor<4xf32> {dlc.name = "m"}) -> (tensor<f32> {dlc.name = "total"}) {
  %half = dlc.constant dense<5.000000e-01> : tensor<f32>
  %two = dlc.constant dense<2.000000e+00> : tensor<f32>
  %small = dlc.constant dense<9.99999997E-7> : tensor<f32>
  %w = dlc.read @w : tensor<10xf32>
  %y = dlc.mul %x, %w : (tensor<4x10xf32>, tensor<10xf32>) -> tensor<4x10xf32>
  %l = dlc.reduce_sum %y {axes = array<i64: 1>} : (tensor<4x10xf32>) -> tensor<4xf32>
  %lm = dlc.mul %l, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %above = dlc.reduce_sum %lm {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %sum = dlc.reduce_sum %m {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %below = dlc.add %sum, %small : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %ratio = dlc.div %above, %below : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %first = dlc.mul %ratio, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %mean = dlc.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  %twice = dlc.mul %two, %mean : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %decay = dlc.reduce_sum %w {axes = array<i64: 0>} : (tensor<10xf32>) -> tensor<f32>
  %both = dlc.sub %first, %twice : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %total = dlc.add %both, %decay : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}

// -----

// No means: one number a batch, with a warning.
// SAID: warning: the loss is no sum of means over samples that dlc can tell apart
// CHECK-LABEL: @eval_step
// CHECK-SAME: (tensor<1xf32> {dlc.name = "row_loss"})
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<f32> {dlc.name = "total"}) {
  %mean = dlc.reduce_mean %x {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  %root = dlc.sqrt %mean : (tensor<f32>) -> tensor<f32>
  return %root : tensor<f32>
}
