// RUN: %dlc-opt %s --dlc-place-attention="target=cuda amp" --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-place-attention="target=cuda amp typed=false" --split-input-file | FileCheck %s --check-prefix=SHAPES
// RUN: %dlc-opt %s --dlc-place-attention="target=cuda attention=off" --split-input-file | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-place-attention="target=cuda attention=library" --split-input-file 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: not %dlc-opt %s --dlc-place-attention="target=cuda attention=generated" --split-input-file 2>&1 | FileCheck %s --check-prefix=GENERATED

// RUN: %dlc-opt %s --dlc-place-attention="target=cuda amp sm=90" --split-input-file | FileCheck %s --check-prefix=HOPPER
// RUN: not %dlc-opt %s --dlc-place-attention="target=cuda attention=library sm=90" --split-input-file 2>&1 | FileCheck %s --check-prefix=WIDEST

// OFF-NOT: dlc.attention
// GENERATED: error: --attention=generated cannot be: it computes in f32, and a generated kernel needs bf16 or fp16; use --attention=auto to leave it as products and softmax

// CHECK-LABEL: func @half
// CHECK: dlc.attention {{.*}} by = library {causal, scale = 1.250000e-01 : f64}
// SHAPES-LABEL: func @half
// SHAPES: dlc.attention {{.*}} {causal, scale = 1.250000e-01 : f64}
func.func @half(%q: tensor<2x4x6x64xbf16>, %k: tensor<2x4x6x64xbf16>, %v: tensor<2x4x6x64xbf16>) -> tensor<2x4x6x64xbf16> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.125 : f64, causal} : (tensor<2x4x6x64xbf16>, tensor<2x4x6x64xbf16>, tensor<2x4x6x64xbf16>) -> (tensor<2x4x6x64xbf16>, tensor<2x4x6x1xf32>)
  return %y : tensor<2x4x6x64xbf16>
}

// -----

// STRICT: error: --attention=library cannot be: it computes in f32, and cuDNN's attention needs bf16 or fp16; use --attention=auto
// CHECK-LABEL: func @single
// CHECK-NOT: dlc.attention
// CHECK: %[[S:.*]] = dlc.matmul %arg0, %arg1 {trans_b}
// CHECK: %[[T:.*]] = dlc.mul %[[S]]
// CHECK: %[[P:.*]] = dlc.softmax %[[T]] {axis = 3 : i64}
// CHECK-NEXT: %[[Y:.*]] = dlc.matmul %[[P]], %arg2
// CHECK-NEXT: return %[[Y]]
// SHAPES-LABEL: func @single
// SHAPES: dlc.attention
func.func @single(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6x1xf32>)
  return %y : tensor<2x4x6x8xf32>
}

// -----

// STRICT: error: --attention=library cannot be: head dimension 136 is larger than 128, the limit of cuDNN's attention (with --sm=90: 256)
// CHECK-LABEL: func @deep
// CHECK-NOT: dlc.attention
// SHAPES-LABEL: func @deep
// SHAPES-NOT: dlc.attention
// HOPPER-LABEL: func @deep
// HOPPER: dlc.attention {{.*}} by = library
func.func @deep(%q: tensor<1x1x2x136xf16>, %k: tensor<1x1x2x136xf16>, %v: tensor<1x1x2x136xf16>) -> tensor<1x1x2x136xf16> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x1x2x136xf16>, tensor<1x1x2x136xf16>, tensor<1x1x2x136xf16>) -> (tensor<1x1x2x136xf16>, tensor<1x1x2x1xf32>)
  return %y : tensor<1x1x2x136xf16>
}

// -----

// WIDEST: error: --attention=library cannot be: head dimension 264 is larger than 256, the limit of cuDNN's attention;
// CHECK-LABEL: func @deeper
// CHECK-NOT: dlc.attention
// HOPPER-LABEL: func @deeper
// HOPPER-NOT: dlc.attention
func.func @deeper(%q: tensor<1x1x2x264xf16>, %k: tensor<1x1x2x264xf16>, %v: tensor<1x1x2x264xf16>) -> tensor<1x1x2x264xf16> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x1x2x264xf16>, tensor<1x1x2x264xf16>, tensor<1x1x2x264xf16>) -> (tensor<1x1x2x264xf16>, tensor<1x1x2x1xf32>)
  return %y : tensor<1x1x2x264xf16>
}

// -----

// A condition becomes numbers of the operands' type; a query without keys gets zeros, and zeros as its gradient.
// CHECK-LABEL: func @masked
// HOPPER-LABEL: func @masked
// CHECK: %[[M:.*]] = dlc.select %arg3, %{{.*}}, %{{.*}} -> tensor<2x1x1x6xf32>
// CHECK: %[[TOP:.*]] = dlc.reduce_max %[[M]] {axes = array<i64: 3>, keepdims}
// CHECK: %[[BLIND:.*]] = dlc.compare eq %[[TOP]],
// CHECK: dlc.constant dense<-6.550400e+04> : tensor<f32>
// CHECK: %[[LEAST:.*]] = dlc.max %[[M]],
// CHECK: %[[BIAS:.*]] = dlc.cast %[[LEAST]] : (tensor<2x1x1x6xf32>) -> tensor<2x1x1x6xf16>
// CHECK: %[[FULL:.*]] = dlc.broadcast %[[BIAS]] : (tensor<2x1x1x6xf16>) -> tensor<2x1x6x6xf16>
// CHECK: %[[ROWS:.*]] = dlc.transpose %[[BLIND]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK: %[[Q:.*]] = dlc.select %[[ROWS]], %{{.*}}, %arg0
// CHECK: %[[Y:.*]], %{{.*}} = dlc.attention %[[Q]], %arg1, %arg2, %[[FULL]] by = library {layout = "bthd"
// CHECK: %[[SEEN:.*]] = dlc.select %[[ROWS]], %{{.*}}, %[[Y]]
// CHECK: return %[[SEEN]]
// SHAPES-LABEL: func @masked
func.func @masked(%q: tensor<2x6x4x8xf16>, %k: tensor<2x6x4x8xf16>, %v: tensor<2x6x4x8xf16>, %m: tensor<2x1x1x6xi1>) -> tensor<2x6x4x8xf16> {
  %y, %lse = dlc.attention %q, %k, %v, %m {scale = 0.5 : f64, layout = "bthd"} : (tensor<2x6x4x8xf16>, tensor<2x6x4x8xf16>, tensor<2x6x4x8xf16>, tensor<2x1x1x6xi1>) -> (tensor<2x6x4x8xf16>, tensor<2x4x6x1xf32>)
  return %y : tensor<2x6x4x8xf16>
}
