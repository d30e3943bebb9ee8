// RUN: %dlc-opt %s --dlc-fuse --dlc-generate-attention | FileCheck %s

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
