// RUN: %dlc-opt %s --dlc-fuse '--dlc-pack-masks=least=1' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse '--dlc-pack-masks=least=1' --dlc-plan-memory --dlc-schedule-kernels --split-input-file | FileCheck %s --check-prefix=KERNEL
// RUN: %dlc-opt %s --dlc-fuse --dlc-pack-masks --split-input-file | FileCheck %s --check-prefix=SMALL

// What the gradient compares with 0 is a bit an element beside the result, which the product reads. The gradient's kernel stays
// one of column sums. A result of less than 1 MiB is read as it is.
// CHECK-LABEL: func @residual
// CHECK: %[[X:.*]] = dlc.reshape %arg0 : (tensor<4x6x6x16xbf16>) -> tensor<144x2x8xbf16>
// CHECK: %[[B:.*]] = dlc.reshape {{.*}} : (tensor<1x1x1x16xf32>) -> tensor<1x2x8xf32>
// CHECK: %[[F:.*]]:2 = dlc.fused(%[[X]], %[[B]]) : {{.*}} -> (tensor<144x2x8xbf16>, tensor<144x2x1xi8>)
// CHECK: dlc.relu
// CHECK: dlc.compare le
// CHECK: dlc.reduce_sum {{.*}} {axes = array<i64: 2>, keepdims}
// CHECK: %[[Y:.*]] = dlc.reshape %[[F]]#0 : (tensor<144x2x8xbf16>) -> tensor<4x6x6x16xbf16>
// CHECK: dlc.conv %[[Y]]
// CHECK: %[[M:.*]] = dlc.reshape %[[F]]#1 : (tensor<144x2x1xi8>) -> tensor<4x36x2xi8>
// CHECK: dlc.fused(%[[M]], {{.*}}) : (tensor<4x36x2xi8>, tensor<4x36x16xbf16>) -> tensor<4x1x16xf32>
// CHECK: dlc.floor
// CHECK: return
// KERNEL: exec.kernel {{.*}} schedule = #exec.schedule<rows, outer = {{\[\[}}0]: 144, [1]: 2], inner = {{\[\[}}2]: 8]
// KERNEL: exec.kernel {{.*}} schedule = #exec.schedule<columns
// SMALL-LABEL: func @residual
// SMALL-NOT: i8
// SMALL: return
func.func @residual(%x: tensor<4x6x6x16xbf16>, %bias: tensor<16xf32>, %w: tensor<8x16x1x1xbf16>, %dy: tensor<4x36x16xbf16>) -> (tensor<4x6x6x8xbf16>, tensor<4x1x16xf32>) {
  %0 = dlc.cast %x : (tensor<4x6x6x16xbf16>) -> tensor<4x6x6x16xf32>
  %1 = dlc.reshape %bias : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
  %2 = dlc.add %0, %1 : (tensor<4x6x6x16xf32>, tensor<1x1x1x16xf32>) -> tensor<4x6x6x16xf32>
  %3 = dlc.cast %2 : (tensor<4x6x6x16xf32>) -> tensor<4x6x6x16xbf16>
  %y = dlc.relu %3 : (tensor<4x6x6x16xbf16>) -> tensor<4x6x6x16xbf16>
  %z = dlc.conv %y, %w by = library {dilations = array<i64: 1, 1>, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x6x6x16xbf16>, tensor<8x16x1x1xbf16>) -> tensor<4x6x6x8xbf16>
  %v = dlc.reshape %y : (tensor<4x6x6x16xbf16>) -> tensor<4x36x16xbf16>
  %zero = dlc.constant dense<0.0> : tensor<bf16>
  %off = dlc.compare le %v, %zero : (tensor<4x36x16xbf16>, tensor<bf16>) -> tensor<4x36x16xi1>
  %d = dlc.select %off, %zero, %dy : (tensor<4x36x16xi1>, tensor<bf16>, tensor<4x36x16xbf16>) -> tensor<4x36x16xbf16>
  %4 = dlc.cast %d : (tensor<4x36x16xbf16>) -> tensor<4x36x16xf32>
  %s = dlc.reduce_sum %4 {axes = array<i64: 1>, keepdims} : (tensor<4x36x16xf32>) -> tensor<4x1x16xf32>
  return %z, %s : tensor<4x6x6x8xbf16>, tensor<4x1x16xf32>
}

// -----
// Not where the gradient reads the result itself, nor where rows have no whole bytes, nor a library's result.
// CHECK-LABEL: func @read
// CHECK-NOT: i8
// CHECK: return
func.func @read(%x: tensor<64x16xf32>, %dy: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<16xf32>) {
  %y = dlc.relu %x : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %off = dlc.compare le %y, %zero : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xi1>
  %d = dlc.select %off, %zero, %dy : (tensor<64x16xi1>, tensor<f32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = dlc.mul %d, %y : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<64x16xf32>) -> tensor<16xf32>
  return %y, %s : tensor<64x16xf32>, tensor<16xf32>
}

// -----
// CHECK-LABEL: func @odd
// CHECK-NOT: i8
// CHECK: return
func.func @odd(%x: tensor<64x12xf32>, %dy: tensor<64x12xf32>) -> (tensor<64x12xf32>, tensor<12xf32>) {
  %y = dlc.relu %x : (tensor<64x12xf32>) -> tensor<64x12xf32>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %off = dlc.compare le %y, %zero : (tensor<64x12xf32>, tensor<f32>) -> tensor<64x12xi1>
  %d = dlc.select %off, %zero, %dy : (tensor<64x12xi1>, tensor<f32>, tensor<64x12xf32>) -> tensor<64x12xf32>
  %s = dlc.reduce_sum %d {axes = array<i64: 0>} : (tensor<64x12xf32>) -> tensor<12xf32>
  return %y, %s : tensor<64x12xf32>, tensor<12xf32>
}

// -----
// CHECK-LABEL: func @library
// CHECK-NOT: i8
// CHECK: return
func.func @library(%a: tensor<64x16xf32>, %w: tensor<16x16xf32>, %dy: tensor<64x16xf32>) -> tensor<16xf32> {
  %y = dlc.matmul %a, %w by = library {activation = "relu"} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %off = dlc.compare le %y, %zero : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xi1>
  %d = dlc.select %off, %zero, %dy : (tensor<64x16xi1>, tensor<f32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %s = dlc.reduce_sum %d {axes = array<i64: 0>} : (tensor<64x16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}
