// RUN: %dlc-opt %s --dlc-place --dlc-decompose '--dlc-split-reductions=few-outputs=16384' --canonicalize --cse '--dlc-fuse=repeat' | FileCheck %s

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
