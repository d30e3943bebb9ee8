// RUN: %dlc-opt %s --dlc-autodiff | FileCheck %s
// The gradient of a scaled value is multiplied by its factor; behind autodiff nothing of it is left, in no function.

dlc.state @a : tensor<2xf32> param init = "a" trainable
dlc.state @b : tensor<2xf32> param init = "b" trainable
// CHECK-NOT: dlc.scale_gradient
// CHECK-LABEL: func.func @train_step
// CHECK-DAG: [[A:%.*]] = dlc.read @a
// CHECK-DAG: [[B:%.*]] = dlc.read @b
// CHECK: dlc.mul [[A]], [[B]]
// CHECK: [[DS:%.*]] = dlc.mul {{%.*}}, [[A]]
// CHECK: [[HALF:%.*]] = dlc.constant dense<5.000000e-01>
// CHECK: [[DB:%.*]] = dlc.mul [[DS]], [[HALF]]
// CHECK: dlc.gradient @b, [[DB]]
// CHECK-LABEL: func.func @predict
// CHECK-NOT: dlc.scale_gradient
func.func @train_step() -> tensor<f32> {
  %a = dlc.read @a : tensor<2xf32>
  %b = dlc.read @b : tensor<2xf32>
  %s = dlc.scale_gradient %b {factor = 0.5} : (tensor<2xf32>) -> tensor<2xf32>
  %p = dlc.mul %a, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @predict() -> tensor<2xf32> {
  %b = dlc.read @b : tensor<2xf32>
  %s = dlc.scale_gradient %b {factor = 0.5} : (tensor<2xf32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}
