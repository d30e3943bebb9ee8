// RUN: %dlc-opt %s --dlc-place --dlc-decompose '--dlc-split-reductions=few-outputs=16384' --canonicalize --cse '--dlc-fuse=repeat few' | FileCheck %s
// RUN: %dlc-opt %s --dlc-place --dlc-decompose '--dlc-split-reductions=few-outputs=16384' --canonicalize --cse '--dlc-fuse=repeat few' --dlc-store-summed | FileCheck %s --check-prefix=JOINED

// The gradients of a layer norm's scale and bias come from one reading, in two stages.
// CHECK-LABEL: func @train_step
// CHECK: dlc.fused
// CHECK-COUNT-2: dlc.reduce_sum {{.*}} -> tensor<256x1x768xf32>
// CHECK-NEXT: dlc.yield {{.*}} : tensor<256x1x768xf32>, tensor<256x1x768xf32>
// CHECK-NOT: -> tensor<256x1x768xf32>
// They come with the gradient of the input, which computes what they add up.
// JOINED-LABEL: func @train_step
// JOINED: %[[ROWS:.*]]:3 = dlc.fused({{.*}}) : (tensor<256x32x768xbf16>, tensor<256x32x768xbf16>, tensor<256x32x1xf32>, tensor<256x32x1xf32>, tensor<1x1x768xf32>) -> (tensor<256x1x768xf32>, tensor<256x1x768xf32>, tensor<256x32x768xbf16>)
// JOINED-COUNT-2: dlc.reduce_mean {{.*}}axes = array<i64: 2>
// JOINED-COUNT-2: dlc.reduce_sum {{.*}}axes = array<i64: 1>
// JOINED: dlc.reshape %[[ROWS]]#2 : (tensor<256x32x768xbf16>) -> tensor<8x1024x768xbf16>
// JOINED: dlc.fused(%[[ROWS]]#0, %[[ROWS]]#1)
// JOINED-NOT: dlc.fused
func.func @train_step(%dy: tensor<8x1024x768xbf16>, %x: tensor<8x1024x768xbf16>, %w: tensor<768xf32>, %mean: tensor<8x1024x1xf32>, %rstd: tensor<8x1024x1xf32>)
    -> (tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>) {
  %dx, %dscale, %dbias = dlc.layer_norm_backward %dy, %x, %w, %mean, %rstd {axis = 2 : i64} : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<8x1024x1xf32>, tensor<8x1024x1xf32>) -> (tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>)
  return %dx, %dscale, %dbias : tensor<8x1024x768xbf16>, tensor<768xf32>, tensor<768xf32>
}

// The second stages of sums of as many columns are one kernel, also where others stand between them.
// CHECK-LABEL: func @apart
// JOINED-LABEL: func @apart(
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

// Sums of the gradient itself, as of the bias before, run there as well.
// JOINED-LABEL: func @bias_before
// JOINED: dlc.fused({{.*}}) : ({{.*}}) -> (tensor<256x1x768xf32>, tensor<256x32x768xbf16>)
// JOINED: dlc.fused({{.*}}) : (tensor<256x1x768xf32>) -> tensor<768xbf16>
// JOINED-NOT: dlc.fused
func.func @bias_before(%dy: tensor<8192x768xbf16>, %x: tensor<8192x768xbf16>, %w: tensor<768xf32>, %mean: tensor<8192x1xf32>, %rstd: tensor<8192x1xf32>)
    -> (tensor<8192x768xbf16>, tensor<768xbf16>) {
  %dx, %dscale, %dbias = dlc.layer_norm_backward %dy, %x, %w, %mean, %rstd {axis = 1 : i64} : (tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<768xf32>, tensor<8192x1xf32>, tensor<8192x1xf32>) -> (tensor<8192x768xbf16>, tensor<768xf32>, tensor<768xf32>)
  %s = dlc.reduce_sum %dx {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  return %dx, %s : tensor<8192x768xbf16>, tensor<768xbf16>
}

// Not those of few rows, whose blocks would be few, nor those that are read before the rows are.
// JOINED-LABEL: func @apart_from_rows
// JOINED: dlc.reduce_max
// JOINED: dlc.fused
// JOINED: dlc.reduce_sum {{.*}} -> tensor<64x1x768xf32>
// JOINED: dlc.fused
// JOINED: dlc.reduce_sum {{.*}} -> tensor<256x1x64xf32>
// JOINED: dlc.matmul
// JOINED: dlc.reduce_max
func.func @apart_from_rows(%x: tensor<2048x768xbf16>, %y: tensor<8192x64xf32>) -> (tensor<2048x768xbf16>, tensor<768xbf16>, tensor<8192x64xf32>) {
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<2048x768xbf16>) -> tensor<2048x1xbf16>
  %d = dlc.sub %x, %m : (tensor<2048x768xbf16>, tensor<2048x1xbf16>) -> tensor<2048x768xbf16>
  %s = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<2048x768xbf16>) -> tensor<768xbf16>
  %c = dlc.reduce_sum %y {axes = array<i64: 0>, keepdims} : (tensor<8192x64xf32>) -> tensor<1x64xf32>
  %p = dlc.matmul %c, %c by = library {trans_a} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
  %z = dlc.matmul %y, %p by = library : (tensor<8192x64xf32>, tensor<64x64xf32>) -> tensor<8192x64xf32>
  %t = dlc.add %z, %y : (tensor<8192x64xf32>, tensor<8192x64xf32>) -> tensor<8192x64xf32>
  %n = dlc.reduce_max %t {axes = array<i64: 1>, keepdims} : (tensor<8192x64xf32>) -> tensor<8192x1xf32>
  %e = dlc.sub %t, %n : (tensor<8192x64xf32>, tensor<8192x1xf32>) -> tensor<8192x64xf32>
  return %d, %s, %e : tensor<2048x768xbf16>, tensor<768xbf16>, tensor<8192x64xf32>
}
