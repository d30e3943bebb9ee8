// RUN: %dlc-opt %s --dlc-place --dlc-decompose '--dlc-split-reductions=few-outputs=16384' --canonicalize --cse '--dlc-fuse=repeat few' | FileCheck %s

// The gradients of a layer norm's scale and bias come from one reading, in two stages.
// CHECK-LABEL: func @train_step
// CHECK: dlc.fused
// CHECK-COUNT-2: dlc.reduce_sum {{.*}} -> tensor<64x1x768xf32>
// CHECK-NEXT: dlc.yield {{.*}} : tensor<64x1x768xf32>, tensor<64x1x768xf32>
// CHECK-NOT: -> tensor<64x1x768xf32>
func.func @train_step(%dy: tensor<8x1024x768xbf16>, %x: tensor<8x1024x768xbf16>, %w: tensor<768xf32>, %mean: tensor<8x1024x1xf32>, %rstd: tensor<8x1024x1xf32>)
    -> (tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>) {
  %dx, %dscale, %dbias = dlc.layer_norm_backward %dy, %x, %w, %mean, %rstd {axis = 2 : i64} : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<8x1024x1xf32>, tensor<8x1024x1xf32>) -> (tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>)
  return %dx, %dscale, %dbias : tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>
}

// The second stages of sums of as many columns are one kernel, also where others stand between them.
// CHECK-LABEL: func @apart
// CHECK: dlc.fused({{.*}}) : (tensor<64x128x768xbf16>) -> tensor<64x1x768xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<128x64x512xbf16>) -> tensor<128x1x512xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<64x128x768xbf16>) -> tensor<64x1x768xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<128x1x512xf32>) -> tensor<512xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<64x1x768xf32>, tensor<64x1x768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
// CHECK-COUNT-3: dlc.all_reduce
func.func @apart(%x: tensor<8192x768xbf16>, %y: tensor<8192x512xbf16>, %z: tensor<8192x768xbf16>) -> (tensor<768xf32>, tensor<512xf32>, tensor<768xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %b = dlc.cast %a : (tensor<768xbf16>) -> tensor<768xf32>
  %c = dlc.all_reduce %b : (tensor<768xf32>) -> tensor<768xf32>
  %d = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x512xbf16>) -> tensor<512xbf16>
  %e = dlc.cast %d : (tensor<512xbf16>) -> tensor<512xf32>
  %f = dlc.all_reduce %e : (tensor<512xf32>) -> tensor<512xf32>
  %g = dlc.reduce_sum %z {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %h = dlc.cast %g : (tensor<768xbf16>) -> tensor<768xf32>
  %i = dlc.all_reduce %h : (tensor<768xf32>) -> tensor<768xf32>
  return %c, %f, %i : tensor<768xf32>, tensor<512xf32>, tensor<768xf32>
}
