// RUN: %dlc-opt %s --dlc-fuse --dlc-generate-ops | FileCheck %s

// The op is a kernel; its gradient is two, over queries and over keys, and a result that nobody reads is not computed.
// CHECK-LABEL: func @both
// CHECK: %[[F:.*]]:2 = dlc.fused(%arg0, %arg1, %arg2) : {{.*}} -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x1xf32>)
// CHECK: %[[Y:.*]], %[[L:.*]] = dlc.attention
// CHECK: dlc.yield %[[Y]], %[[L]]
// CHECK: %[[Q:.*]] = dlc.fused(%arg3, %arg0, %arg1, %arg2, %[[F]]#0, %[[F]]#1) : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK: dlc.attention_backward
// CHECK: %[[K:.*]]:2 = dlc.fused(%arg3, %arg0, %arg1, %arg2, %[[F]]#0, %[[F]]#1) : {{.*}} -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>)
// CHECK: dlc.attention_backward
// CHECK: return %[[Q]], %[[K]]#0, %[[K]]#1
func.func @both(%q: tensor<1x2x6x8xbf16>, %k: tensor<1x2x6x8xbf16>, %v: tensor<1x2x6x8xbf16>, %dy: tensor<1x2x6x8xbf16>) -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>) {
  %y, %l = dlc.attention %q, %k, %v by = generated {scale = 0.5 : f64} : (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>) -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x1xf32>)
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l by = generated {scale = 0.5 : f64} : (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x1xf32>) -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>)
  return %a, %b, %c : tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>
}

// What is the library's stays a call.
// CHECK-LABEL: func @library
// CHECK-NOT: dlc.fused
// CHECK: dlc.attention
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @library(%q: tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xbf16> {
  %y, %l = dlc.attention %q, %q, %q by = library {scale = 0.5 : f64} : (tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x8xbf16>) -> (tensor<1x2x6x8xbf16>, tensor<1x2x6x1xf32>)
  return %y : tensor<1x2x6x8xbf16>
}

// So is a convolution, and each of its gradients.
// CHECK-LABEL: func @conv
// CHECK: dlc.fused(%arg0, %arg1, %arg2)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dlc.conv %{{.*}} by = generated
// CHECK-NEXT: dlc.yield
// CHECK: dlc.fused(%arg3, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dlc.conv_backward_data
// CHECK-NEXT: dlc.yield
// CHECK: dlc.fused(%arg0, %arg3)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dlc.conv_backward_filter
// CHECK-NEXT: dlc.yield
func.func @conv(%x: tensor<2x8x8x16xf32>, %w: tensor<16x1x3x3xf32>, %b: tensor<16xf32>, %dy: tensor<2x4x4x16xf32>) -> (tensor<2x4x4x16xf32>, tensor<2x8x8x16xf32>, tensor<16x1x3x3xf32>) {
  %y = dlc.conv %x, %w, %b by = generated {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 16 : i64, layout = "nhwc"} : (tensor<2x8x8x16xf32>, tensor<16x1x3x3xf32>, tensor<16xf32>) -> tensor<2x4x4x16xf32>
  %dx = dlc.conv_backward_data %dy, %w by = generated {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 16 : i64, layout = "nhwc"} : (tensor<2x4x4x16xf32>, tensor<16x1x3x3xf32>) -> tensor<2x8x8x16xf32>
  %dw = dlc.conv_backward_filter %x, %dy by = generated {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 16 : i64, layout = "nhwc"} : (tensor<2x8x8x16xf32>, tensor<2x4x4x16xf32>) -> tensor<16x1x3x3xf32>
  return %y, %dx, %dw : tensor<2x4x4x16xf32>, tensor<2x8x8x16xf32>, tensor<16x1x3x3xf32>
}
