// A call that the device may lack has behind it what runs instead: a product and kernels on the same buffers.
// RUN: %dlc-opt %s --dlc-plan-memory --dlc-merge-launches --dlc-schedule-kernels --split-input-file | FileCheck %s

// What is kept of gelu is its operand, which the plain product makes; its gradient multiplies in place, then sums.
// CHECK-LABEL: exec.program @gelu
// CHECK: exec.call "matmul_activation" ins(%[[A:.*]], %[[B:.*]], %[[C:.*]] : {{.*}}) outs(%[[Y:.*]], %[[K:.*]] : {{.*}}) {activation = "gelu_tanh", has_bias = 1 : i64}
// CHECK-NEXT: exec.call "matmul" ins(%[[A]], %[[B]], %[[C]] : {{.*}}) outs(%[[K]] : {{.*}}) {has_bias = 1 : i64} {instead = 0 : i64}
// CHECK-NEXT: exec.launch @[[GELU:.*]] ins(%[[K]] : {{.*}}) outs(%[[Y]] : {{.*}}) {instead = 0 : i64}
// CHECK-NEXT: exec.call "matmul_activation_backward" ins(%[[DY:.*]], %[[W:.*]], %[[K]] : {{.*}}) outs(%[[DX:.*]], %[[DB:.*]] : {{.*}}) {activation = "gelu_tanh", trans_b}
// CHECK-NEXT: exec.call "matmul" ins(%[[DY]], %[[W]] : {{.*}}) outs(%[[DX]] : {{.*}}) {trans_b} {instead = 1 : i64}
// CHECK-NEXT: exec.launch @[[SLOPE:.*]] ins(%[[DX]], %[[K]] : {{.*}}) outs(%[[DX]] : {{.*}}) {instead = 1 : i64}
// CHECK-NEXT: exec.launch @[[SUM:.*]] ins(%[[DX]] : {{.*}}) outs(%[[DB]] : {{.*}}) {instead = 1 : i64}
// CHECK-NEXT: {{^  }}}
// CHECK: exec.kernel @[[GELU]] {{.*}} {
// CHECK: dlc.gelu %{{.*}} {tanh}
// CHECK: exec.kernel @[[SLOPE]] {{.*}} {
// CHECK: dlc.tanh
// CHECK: exec.kernel @[[SUM]] {{.*}} {
// CHECK: dlc.reduce_sum %{{.*}} {axes = array<i64: 0>}
func.func @gelu(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<32xf32>, %dy: tensor<8x4xf32>, %w: tensor<32x4xf32>)
    -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<32xf32>) {
  %y, %k = dlc.matmul_activation %a, %b, %c {activation = "gelu_tanh", dlc.may_lack} : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>)
  %dx, %db = dlc.matmul_activation_backward %dy, %w, %k {activation = "gelu_tanh", dlc.may_lack, trans_b} : (tensor<8x4xf32>, tensor<32x4xf32>, tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<32xf32>)
  return %y, %dx, %db : tensor<8x32xf32>, tensor<8x32xf32>, tensor<32xf32>
}

// -----

// The bits of relu are the library's own: its gradient runs with its product or apart with it, and then reads the result,
// which is no operand of the call. A view between them changes neither.
// CHECK-LABEL: exec.program @relu
// CHECK: exec.call "matmul_activation" ins(%[[A:.*]], %[[B:.*]] : {{.*}}) outs(%[[Y:.*]], %[[BITS:[0-9a-z]+]] : {{.*}}) {activation = "relu", has_bias = 0 : i64}
// CHECK-NEXT: exec.call "matmul" ins(%[[A]], %[[B]] : {{.*}}) outs(%[[Y]] : {{.*}}) {activation = "relu", has_bias = 0 : i64} {instead = 0 : i64}
// CHECK-NEXT: exec.call "matmul_activation" {{.*}} {activation = "gelu_tanh", has_bias = 0 : i64}
// CHECK-NEXT: exec.call "matmul" {{.*}} {instead = 1 : i64}
// CHECK-NEXT: exec.launch {{.*}} {instead = 1 : i64}
// CHECK-NEXT: exec.call "matmul_activation_backward" ins(%[[DY:.*]], %[[W:.*]], %{{.*}} : memref<2x4x4xf32>, memref<4x32xf32>, memref<2x4x16xi8>) outs(%[[DX:[0-9a-z]+]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[DY]], %[[W]] : {{.*}}) outs(%[[DX]] : {{.*}}) {} {instead = 0 : i64}
// CHECK-NEXT: exec.launch @[[SLOPE:.*]] ins(%[[DX]], %{{.*}} : memref<2x4x32xf32>, memref<2x4x32xf32>) outs(%[[DX]] : {{.*}}) {instead = 0 : i64}
// CHECK-NEXT: {{^  }}}
// CHECK: exec.kernel @[[SLOPE]] {{.*}} {
// CHECK: dlc.select
func.func @relu(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %dy: tensor<2x4x4xf32>, %w: tensor<4x32xf32>)
    -> (tensor<2x4x32xf32>, tensor<8x32xf32>) {
  %y, %bits = dlc.matmul_activation %a, %b {activation = "relu", dlc.may_lack} : (tensor<8x16xf32>, tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x16xi8>)
  %g, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh", dlc.may_lack} : (tensor<8x16xf32>, tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>)
  %vb = dlc.reshape %bits : (tensor<8x16xi8>) -> tensor<2x4x16xi8>
  %vy = dlc.reshape %y : (tensor<8x32xf32>) -> tensor<2x4x32xf32>
  %dx = dlc.matmul_activation_backward %dy, %w, %vb, %vy {activation = "relu", dlc.may_lack} : (tensor<2x4x4xf32>, tensor<4x32xf32>, tensor<2x4x16xi8>, tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  return %dx, %g : tensor<2x4x32xf32>, tensor<8x32xf32>
}
