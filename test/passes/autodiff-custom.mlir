// RUN: %dlc-opt %s --dlc-autodiff --split-input-file --verify-diagnostics | FileCheck %s

// The gradient of an operator of a library gets inputs, results and gradients of floating-point results, zeros where none
// flows, and gives those of floating-point inputs.
dlc.state @w : tensor<4xf32> param init = "w" trainable
// CHECK-LABEL: func @train_step
func.func @train_step(%i: tensor<3xi64>) -> tensor<f32> {
  %w = dlc.read @w : tensor<4xf32>
  %a, %b, %n = dlc.custom %i, %w {library = "ops.liba.so", domain = "a", op = "Two", arguments = "{}", differentiable} : (tensor<3xi64>, tensor<4xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<2xi64>)
  %loss = dlc.reduce_sum %a {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: %[[W:.*]] = dlc.read @w
// CHECK: %[[Y:.*]]:3 = dlc.custom %arg0, %[[W]]
// CHECK: %[[DA:.*]] = dlc.broadcast
// CHECK: %[[ZERO:.*]] = dlc.broadcast {{.*}} tensor<2xf32>
// CHECK: %[[DW:.*]] = dlc.custom %arg0, %[[W]], %[[Y]]#0, %[[Y]]#1, %[[Y]]#2, %[[DA]], %[[ZERO]] {arguments = "{}", backward, domain = "a", library = "ops.liba.so", op = "Two"}
// CHECK-SAME: -> tensor<4xf32>
// CHECK: dlc.gradient @w, %[[DW]]

// -----

dlc.state @w : tensor<4xf32> param init = "w" trainable
func.func @train_step() -> tensor<f32> {
  %w = dlc.read @w : tensor<4xf32>
  // expected-error @+1 {{operator 'a.Two' of 'ops.liba.so' has no gradient}}
  %a = dlc.custom %w {library = "ops.liba.so", domain = "a", op = "Two", arguments = "{}"} : (tensor<4xf32>) -> tensor<f32>
  return %a : tensor<f32>
}
