// RUN: %dlc-opt %s --dlc-autodiff | FileCheck %s
// A stopped value counts, but nothing learns of it; behind autodiff nothing of the stop is left, in no function.

dlc.state @a : tensor<2xf32> param init = "a" trainable
dlc.state @b : tensor<2xf32> param init = "b" trainable
// CHECK-NOT: dlc.stop_gradient
// CHECK-LABEL: func.func @train_step
// CHECK: [[B:%.*]] = dlc.read @b
// CHECK: [[P:%.*]] = dlc.mul {{%.*}}, [[B]]
// CHECK: dlc.seed
// CHECK: [[D:%.*]] = dlc.broadcast
// CHECK: [[DA:%.*]] = dlc.mul [[D]], [[B]]
// CHECK: dlc.gradient @a, [[DA]]
// CHECK-NOT: dlc.gradient
// CHECK-LABEL: func.func @predict
// CHECK-NOT: dlc.stop_gradient
func.func @train_step() -> tensor<f32> {
  %a = dlc.read @a : tensor<2xf32>
  %b = dlc.read @b : tensor<2xf32>
  %s = dlc.stop_gradient %b : (tensor<2xf32>) -> tensor<2xf32>
  %p = dlc.mul %a, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @predict() -> tensor<2xf32> {
  %b = dlc.read @b : tensor<2xf32>
  %s = dlc.stop_gradient %b : (tensor<2xf32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}
