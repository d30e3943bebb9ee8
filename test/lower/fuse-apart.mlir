// RUN: %dlc-opt %s --dlc-fuse=apart=true | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse | FileCheck %s --check-prefix=JOINED

// Each op is a cluster of its own; a constant is still repeated where it is used.
// CHECK: [[A:%.*]] = dlc.fused
// CHECK: dlc.exp
// CHECK: [[B:%.*]] = dlc.fused([[A]])
// CHECK: dlc.constant
// CHECK: dlc.mul
// CHECK: return [[B]]

// JOINED-COUNT-1: dlc.fused
// JOINED-NOT: dlc.fused
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = dlc.constant dense<2.0> : tensor<4xf32>
  %e = dlc.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = dlc.mul %e, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
