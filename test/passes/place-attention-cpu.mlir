// RUN: %dlc-opt %s --dlc-place-attention="target=cpu cpu=x86-64-v4" --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-place-attention="target=cpu cpu=sapphirerapids" --split-input-file | FileCheck %s --check-prefix=AMX
// RUN: %dlc-opt %s --dlc-place-attention="target=cpu attention=off" --split-input-file | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-place-attention="target=cpu attention=library" --split-input-file 2>%t | FileCheck %s --check-prefix=LIBRARY
// RUN: FileCheck %s --check-prefix=ERROR < %t
// RUN: not %dlc-opt %s --dlc-place-attention="target=cpu attention=generated" --split-input-file 2>&1 | FileCheck %s --check-prefix=GENERATED

// OFF-NOT: dlc.attention
// GENERATED: error: --attention=generated cannot be: attention is not generated for CPUs; use --attention=auto to leave it as products and softmax

// In f32, too, where half of the scores are hidden.
// CHECK-LABEL: func @causal
// CHECK: dlc.attention {{.*}} by = library {causal
// LIBRARY-LABEL: func @causal
func.func @causal(%q: tensor<2x4x64x12xf32>, %k: tensor<2x4x64x12xf32>, %v: tensor<2x4x64x12xf32>) -> tensor<2x4x64x12xf32> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.125 : f64, causal} : (tensor<2x4x64x12xf32>, tensor<2x4x64x12xf32>, tensor<2x4x64x12xf32>) -> (tensor<2x4x64x12xf32>, tensor<2x4x64x1xf32>)
  return %y : tensor<2x4x64x12xf32>
}

// -----

// With AMX, whose products of bf16 the runtime has, it is long enough.
// CHECK-LABEL: func @short
// CHECK-NOT: dlc.attention
// CHECK: dlc.softmax
// AMX-LABEL: func @short
// AMX: dlc.attention {{.*}} by = library
// LIBRARY-LABEL: func @short
// LIBRARY: dlc.attention {{.*}} by = library
func.func @short(%q: tensor<2x4x197x64xbf16>, %k: tensor<2x4x197x64xbf16>, %v: tensor<2x4x197x64xbf16>) -> tensor<2x4x197x64xbf16> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x197x64xbf16>, tensor<2x4x197x64xbf16>, tensor<2x4x197x64xbf16>) -> (tensor<2x4x197x64xbf16>, tensor<2x4x197x1xf32>)
  return %y : tensor<2x4x197x64xbf16>
}

// -----

// CHECK-LABEL: func @short_in_f32
// CHECK: dlc.attention {{.*}} by = library
func.func @short_in_f32(%q: tensor<2x4x197x64xf32>, %k: tensor<2x4x197x64xf32>, %v: tensor<2x4x197x64xf32>) -> tensor<2x4x197x64xf32> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x197x64xf32>, tensor<2x4x197x64xf32>, tensor<2x4x197x64xf32>) -> (tensor<2x4x197x64xf32>, tensor<2x4x197x1xf32>)
  return %y : tensor<2x4x197x64xf32>
}

// -----

// Of a query of a cached step.
// CHECK-LABEL: func @one
// CHECK-NOT: dlc.attention
func.func @one(%q: tensor<2x4x1x64xf32>, %k: tensor<2x4x600x64xf32>, %v: tensor<2x4x600x64xf32>) -> tensor<2x4x1x64xf32> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x1x64xf32>, tensor<2x4x600x64xf32>, tensor<2x4x600x64xf32>) -> (tensor<2x4x1x64xf32>, tensor<2x4x1x1xf32>)
  return %y : tensor<2x4x1x64xf32>
}

// -----

// Masks are numbers of f32.
// CHECK-LABEL: func @masked
// CHECK: %[[M:.*]] = dlc.select %arg3, %{{.*}}, %{{.*}} -> tensor<2x1x1x600xf32>
// CHECK: dlc.attention %arg0, %arg1, %arg2, %[[M]] by = library
func.func @masked(%q: tensor<2x600x4x64xf16>, %k: tensor<2x600x4x64xf16>, %v: tensor<2x600x4x64xf16>, %m: tensor<2x1x1x600xi1>) -> tensor<2x600x4x64xf16> {
  %y, %lse = dlc.attention %q, %k, %v, %m {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x600x4x64xf16>, tensor<2x600x4x64xf16>, tensor<2x600x4x64xf16>, tensor<2x1x1x600xi1>) -> (tensor<2x600x4x64xf16>, tensor<2x4x600x1xf32>)
  return %y : tensor<2x600x4x64xf16>
}

// -----

// CHECK-LABEL: func @double
// CHECK-NOT: dlc.attention
// ERROR: error: --attention=library cannot be: it computes in f64, and attention for CPUs computes in f32, bf16 and f16 only; use --attention=auto
func.func @double(%q: tensor<1x1x64x8xf64>, %k: tensor<1x1x64x8xf64>, %v: tensor<1x1x64x8xf64>) -> tensor<1x1x64x8xf64> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64, causal} : (tensor<1x1x64x8xf64>, tensor<1x1x64x8xf64>, tensor<1x1x64x8xf64>) -> (tensor<1x1x64x8xf64>, tensor<1x1x64x1xf64>)
  return %y : tensor<1x1x64x8xf64>
}
