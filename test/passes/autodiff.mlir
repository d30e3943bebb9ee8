// RUN: %dlc-opt %s --dlc-autodiff --split-input-file | FileCheck %s

// The gradient of a cast is a cast back, so that the parameter's gradient is f32; that of an input is not built.
dlc.state @w : tensor<4x3xf32> param init = "w" trainable
// CHECK-LABEL: func @train_step
func.func @train_step(%x: tensor<2x4xbf16>) -> tensor<f32> {
  %w = dlc.read @w : tensor<4x3xf32>
  %wh = dlc.cast %w : (tensor<4x3xf32>) -> tensor<4x3xbf16>
  %y = dlc.matmul %x, %wh : (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xbf16>
  %yf = dlc.cast %y : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  %loss = dlc.reduce_sum %yf {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: %[[SEED:.*]] = dlc.seed : tensor<f32>
// CHECK: %[[DY:.*]] = dlc.cast {{.*}} -> tensor<2x3xbf16>
// CHECK-NOT: dlc.matmul %{{.*}} {trans_b}
// CHECK: %[[DWH:.*]] = dlc.matmul %arg0, %[[DY]] {trans_a}
// CHECK: %[[DW:.*]] = dlc.cast %[[DWH]] : {{.*}} -> tensor<4x3xf32>
// CHECK: dlc.gradient @w, %[[DW]]
// CHECK: return

// -----

// Two reads of one state, one of them used twice: one gradient, their sum.
dlc.state @w : tensor<3xf32> param init = "w" trainable
// CHECK-LABEL: func @train_step
func.func @train_step() -> tensor<f32> {
  %a = dlc.read @w : tensor<3xf32>
  %b = dlc.read @w : tensor<3xf32>
  %p = dlc.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %q = dlc.mul %p, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = dlc.reduce_sum %q {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: dlc.seed
// CHECK-COUNT-2: dlc.add
// CHECK-NOT: dlc.add
// CHECK: dlc.gradient @w
// CHECK-NOT: dlc.gradient

// -----

// The last layer's gradients are ready first, even where all weights are cast at the top.
dlc.state @first : tensor<2x2xf32> param init = "first" trainable
dlc.state @last : tensor<2x2xf32> param init = "last" trainable
dlc.state @bias : tensor<2xf32> param init = "bias" trainable
// CHECK-LABEL: func @train_step
func.func @train_step(%x: tensor<2x2xbf16>) -> tensor<f32> {
  %last = dlc.read @last : tensor<2x2xf32>
  %lasth = dlc.cast %last : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %first = dlc.read @first : tensor<2x2xf32>
  %firsth = dlc.cast %first : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %bias = dlc.read @bias : tensor<2xf32>
  %h = dlc.matmul %x, %firsth : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %y = dlc.matmul %h, %lasth : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %yf = dlc.cast %y : (tensor<2x2xbf16>) -> tensor<2x2xf32>
  %z = dlc.add %yf, %bias : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %loss = dlc.reduce_sum %z {axes = array<i64: 0, 1>} : (tensor<2x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: dlc.gradient @bias
// CHECK: dlc.matmul
// CHECK: dlc.gradient @last
// CHECK: dlc.matmul
// CHECK: dlc.gradient @first

// -----

// What is not trained gets no gradient: buffers, constants, and ops beside the path need no rule.
dlc.state @w : tensor<3xf32> param init = "w" trainable
dlc.state @frozen : tensor<3xf32> param init = "frozen"
// CHECK-LABEL: func @train_step
func.func @train_step() -> (tensor<f32>, tensor<f32>) {
  %w = dlc.read @w : tensor<3xf32>
  %frozen = dlc.read @frozen : tensor<3xf32>
  %p = dlc.mul %w, %frozen : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  %norm = dlc.global_norm %w : (tensor<3xf32>) -> tensor<f32>
  return %loss, %norm : tensor<f32>, tensor<f32>
}
// CHECK-NOT: dlc.gradient @frozen
// CHECK: dlc.gradient @w
// CHECK-NOT: dlc.gradient

// -----

// The loss may be a parameter itself.
dlc.state @w : tensor<f32> param init = "w" trainable
// CHECK-LABEL: func @train_step
func.func @train_step() -> tensor<f32> {
  %w = dlc.read @w : tensor<f32>
  return %w : tensor<f32>
}
// CHECK: %[[SEED:.*]] = dlc.seed
// CHECK: dlc.gradient @w, %[[SEED]]

// -----

// What a lookup of the padding row gives back is left out; another read of the same table keeps its gradient.
dlc.state @table : tensor<5x3xf32> param init = "table" trainable
// CHECK-LABEL: func @train_step
func.func @train_step(%i: tensor<2xi64>) -> tensor<f32> {
  %table = dlc.read @table : tensor<5x3xf32>
  %a = dlc.gather %table, %i {axis = 0 : i64, padding = 1 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %b = dlc.gather %table, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %y = dlc.mul %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %loss = dlc.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-DAG: %[[ROW:.*]] = dlc.constant dense<1> : tensor<i64>
// CHECK-DAG: %[[FROM_END:.*]] = dlc.constant dense<-4> : tensor<i64>
// CHECK-DAG: %[[FIRST:.*]] = dlc.compare {{.*}} %arg0, %[[ROW]]
// CHECK-DAG: %[[SECOND:.*]] = dlc.compare {{.*}} %arg0, %[[FROM_END]]
// CHECK: dlc.or %[[FIRST]], %[[SECOND]]
// CHECK: %[[KEPT:.*]] = dlc.select
// CHECK: dlc.scatter_add %arg0, %[[KEPT]]
// CHECK-NOT: dlc.select
// CHECK: dlc.gradient @table

// -----

// A gradient that the model computes itself has no rule: it is taken apart.
dlc.state @w : tensor<3xf32> param init = "w" trainable
// CHECK-LABEL: func @train_step
func.func @train_step(%y: tensor<3xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<3xf32>
  %d = dlc.relu_backward %w, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = dlc.reduce_sum %d {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK-NOT: dlc.relu_backward
// CHECK: %[[OFF:.*]] = dlc.compare le %arg0
// CHECK: dlc.select %[[OFF]]
// CHECK: %[[D:.*]] = dlc.select %[[OFF]]
// CHECK: dlc.gradient @w, %[[D]]
