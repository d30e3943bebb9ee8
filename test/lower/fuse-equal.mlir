// RUN: %dlc-opt %s --dlc-fuse=repeat | FileCheck %s

// What is compared with its maximum is read from memory, however cheap: in another kernel a product that is loaded does not fuse
// with the sum, and no element would be the maximum.
// CHECK-LABEL: func @largest
// CHECK: dlc.add
// CHECK: dlc.reduce_max
// CHECK: dlc.matmul
// CHECK-NOT: dlc.add
// CHECK: dlc.compare eq
// CHECK: return
func.func @largest(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = dlc.mul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %x = dlc.add %p, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %s = dlc.mul %p, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %z = dlc.matmul %s, %w by = library : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %hit = dlc.compare eq %x, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xi1>
  %q = dlc.mul %z, %p : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = dlc.select %hit, %q, %c : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// Compared with a bound it is repeated: the gradient of a clipped value reads what the value was made from.
// CHECK-LABEL: func @clipped
// CHECK: dlc.fused(%arg0)
// CHECK-SAME: -> tensor<64x64xf32>
// CHECK: dlc.matmul
// CHECK: dlc.fused(%arg0, %{{.*}})
// CHECK: dlc.add
// CHECK: dlc.compare eq
// CHECK: return
func.func @clipped(%a: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = dlc.constant dense<0.0> : tensor<f32>
  %half = dlc.constant dense<0.5> : tensor<f32>
  %x = dlc.add %a, %half : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %m = dlc.max %x, %0 : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %z = dlc.matmul %m, %w by = library : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %tie = dlc.compare eq %x, %0 : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
  %s = dlc.mul %z, %half : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %r = dlc.select %tie, %s, %z : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
