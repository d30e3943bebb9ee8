// RUN: %dlc-opt %s --dlc-place --dlc-decompose --canonicalize --dlc-fuse --dlc-plan-memory | FileCheck %s

// The gradient of a gather of one row, as of the three parts of a joint
// projection: the index is a constant of the kernel, in whatever shape.
// CHECK: exec.kernel
// CHECK: dlc.constant dense<2> : tensor<1x1x1x1xi64>
// CHECK-NOT: dlc.constant dense<2> : tensor<i64>
func.func @train_step(%u: tensor<5x4xf32>) -> tensor<3x5x4xf32> {
  %i = dlc.constant dense<2> : tensor<i64>
  %y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<i64>, tensor<5x4xf32>) -> tensor<3x5x4xf32>
  return %y : tensor<3x5x4xf32>
}
