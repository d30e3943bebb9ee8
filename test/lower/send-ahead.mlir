// RUN: %dlc-opt %s --dlc-plan-memory --split-input-file | FileCheck %s

// Sums that a kernel waits for while a bucket that was started before them is under way are ahead of it. The first ones are
// not, nor is what is waited for together with all before it.
// CHECK-LABEL: exec.program @train_step
// CHECK: exec.all_reduce %{{.*}} bucket = 0 op = "sum" : memref<8xf32>
// CHECK: exec.all_reduce %{{.*}} bucket = 1 : memref<4096xf32>
// CHECK: exec.all_reduce %{{.*}} bucket = 2 op = "sum" ahead : memref<8xf32>
// CHECK-NEXT: exec.wait %{{.*}} bucket = 2
// CHECK-NEXT: exec.call "matmul"
// CHECK: exec.all_reduce %{{.*}} bucket = 3 : memref<4096xf32>
// CHECK-NEXT: exec.wait %{{.*}} bucket = 3
// CHECK-NEXT: exec.wait %{{.*}} bucket = 1
func.func @train_step(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>, %g: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<2x4xf32>) {
  %s0 = dlc.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %r0 = dlc.all_reduce %s0 op = sum {bucket = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s1 = dlc.matmul %r0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %g0 = dlc.matmul %g, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b0 = dlc.all_reduce %g0 {bucket = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %r1 = dlc.all_reduce %s1 op = sum {bucket = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s2 = dlc.matmul %r1, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %g1 = dlc.matmul %g, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b1 = dlc.all_reduce %g1 {bucket = 3 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %sum = dlc.matmul %b1, %b0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum, %s2 : tensor<64x64xf32>, tensor<2x4xf32>
}

// -----
// More than 1 MiB stays in its turn.
// CHECK-LABEL: exec.program @train_step
// CHECK-NOT: ahead
func.func @train_step(%g: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %g0 = dlc.matmul %g, %g : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b0 = dlc.all_reduce %g0 {bucket = 0 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %g1 = dlc.matmul %g, %g : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b1 = dlc.all_reduce %g1 {bucket = 1 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = dlc.matmul %b1, %b1 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %b0, %y : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
