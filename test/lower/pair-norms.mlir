// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place{norm=generated},func.func(dlc-pair-norms,dlc-decompose,canonicalize,cse,dlc-fuse{repeat few},dlc-store-summed))' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place{norm=generated},func.func(dlc-pair-norms))' --split-input-file | FileCheck %s --check-prefix=PAIR

// Two branches' norms of one gradient: one kernel of sums, one of second stages, and one of both results, which the
// first product reads behind it.
// CHECK-LABEL: func @branches
// CHECK: dlc.conv
// CHECK: dlc.fused
// CHECK-COUNT-3: dlc.reduce_sum {{.*}}axes = array<i64: 1>
// CHECK: dlc.fused
// CHECK-COUNT-4: dlc.reduce_sum {{.*}}axes = array<i64: 0>
// CHECK: %[[DX:.*]]:2 = dlc.fused
// CHECK-NOT: dlc.reduce
// CHECK: %[[A:.*]] = dlc.reshape %[[DX]]#0
// CHECK: %[[B:.*]] = dlc.reshape %[[DX]]#1
// CHECK: dlc.conv %[[A]]
// CHECK: return %{{.*}}, %{{.*}}, %[[B]]
// PAIR-LABEL: func @branches
// PAIR-NOT: dlc.batch_norm_backward
// PAIR: dlc.conv
dlc.state @s : tensor<32xf32> param init = "s" trainable
dlc.state @t : tensor<32xf32> param init = "t" trainable
func.func @branches(%x: tensor<64x16x16x32xbf16>, %z: tensor<64x16x16x32xbf16>, %dy: tensor<64x16x16x32xbf16>, %w: tensor<32x32x1x1xbf16>, %m: tensor<32xf32>, %v: tensor<32xf32>)
    -> (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %s = dlc.read @s : tensor<32xf32>
  %t = dlc.read @t : tensor<32xf32>
  %y:5 = dlc.batch_norm %x, %s, %m, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc", unbiased} : (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %u:5 = dlc.batch_norm %z, %t, %m, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc", unbiased} : (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %sum = dlc.add %y#0, %u#0 : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>) -> tensor<64x16x16x32xbf16>
  %c = dlc.conv %sum, %w {dilations = array<i64: 1, 1>, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x16x16x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<64x16x16x32xbf16>
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %y#3, %y#4 {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  %d = dlc.conv %g#0, %w {dilations = array<i64: 1, 1>, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x16x16x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<64x16x16x32xbf16>
  %h:3 = dlc.batch_norm_backward %dy, %z, %t, %u#3, %u#4 {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  return %c, %d, %h#0, %g#1, %g#2, %h#1, %h#2 : tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----
// The second image is computed from the first gradient. Below, sums of all ranks are exchanged in the order of the program.
// PAIR-LABEL: func @not_ready
// PAIR-COUNT-2: dlc.batch_norm_backward
// CHECK-LABEL: func @not_ready
func.func @not_ready(%x: tensor<64x16x16x32xbf16>, %dy: tensor<64x16x16x32xbf16>, %s: tensor<32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>)
    -> (tensor<64x16x16x32xbf16>) {
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %m, %v {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  %h:3 = dlc.batch_norm_backward %dy, %g#0, %s, %m, %v {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  return %h#0 : tensor<64x16x16x32xbf16>
}

// -----
// PAIR-LABEL: func @of_all_ranks
// PAIR-COUNT-2: dlc.batch_norm_backward
// CHECK-LABEL: func @of_all_ranks
func.func @of_all_ranks(%x: tensor<64x16x16x32xbf16>, %z: tensor<64x16x16x32xbf16>, %dy: tensor<64x16x16x32xbf16>, %s: tensor<32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>)
    -> (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>) {
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %m, %v {dlc.bucket = 0 : i64, epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  %h:3 = dlc.batch_norm_backward %dy, %z, %s, %m, %v {dlc.bucket = 1 : i64, epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  return %g#0, %h#0 : tensor<64x16x16x32xbf16>, tensor<64x16x16x32xbf16>
}
