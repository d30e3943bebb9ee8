// RUN: %dlc-opt %s --dlc-canonicalize | FileCheck %s

// A gradient passes the ReLU where the pool's result is: the element that a window's gradient goes to is that result.
// CHECK-LABEL: func @pool
// CHECK: [[Y:%.*]], [[I:%.*]] = dlc.max_pool %arg0
// CHECK: [[M:%.*]] = dlc.relu_backward %arg1, [[Y]]
// CHECK: [[D:%.*]] = dlc.max_pool_backward [[M]], [[I]]
// CHECK: return [[Y]], [[D]]
func.func @pool(%x: tensor<1x4x8x8xf32>, %dy: tensor<1x4x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x8x8xf32>) {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  %d = dlc.max_pool_backward %dy, %i {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>) -> tensor<1x4x8x8xf32>
  %dx = dlc.relu_backward %d, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %y, %dx : tensor<1x4x4x4xf32>, tensor<1x4x8x8xf32>
}

// Not the gradient of another tensor, nor one that is needed without the mask.
// CHECK-LABEL: func @others
// CHECK: dlc.relu_backward {{.*}}, %arg1
// CHECK: dlc.relu_backward {{.*}}, %arg0
func.func @others(%x: tensor<1x4x8x8xf32>, %z: tensor<1x4x8x8xf32>, %dy: tensor<1x4x4x4xf32>, %dz: tensor<1x4x4x4xf32>)
    -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  %0 = dlc.max_pool_backward %dz, %i {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>) -> tensor<1x4x8x8xf32>
  %1 = dlc.relu_backward %0, %z : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %d = dlc.max_pool_backward %dy, %i {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>) -> tensor<1x4x8x8xf32>
  %2 = dlc.relu_backward %d, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %1, %2, %d : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
