// What a step writes of one parameter is one cluster, though no value leads from one of its results to another.
// RUN: %dlc-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(dlc-fuse))" | FileCheck %s

// CHECK-LABEL: @sign_and_average
// CHECK: [[NEW:%.*]]:2 = dlc.fused
// CHECK-NOT: dlc.fused
// CHECK-DAG: dlc.write @w, [[NEW]]#
// CHECK-DAG: dlc.write @m, [[NEW]]#
dlc.state @w : tensor<8xf32> param init = "w" trainable
dlc.state @m : tensor<8xf32> moment init = 0.0 : f32 of = @w
func.func @sign_and_average(%g: tensor<8xf32>, %lr: tensor<f32>) {
  %w = dlc.read @w : tensor<8xf32>
  %m = dlc.read @m : tensor<8xf32>
  %0 = dlc.add %m, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = dlc.mul %0, %lr : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = dlc.sub %w, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = dlc.mul %m, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @w, %2 : tensor<8xf32>
  dlc.write @m, %3 : tensor<8xf32>
  return
}

// -----

// A result that something else needs earlier stays in its own cluster, and so does what has no tensor in common.
// CHECK-LABEL: @apart
// CHECK: [[A:%.*]] = dlc.fused
// CHECK: dlc.global_norm [[A]]
// CHECK: dlc.fused
// CHECK: dlc.fused
// CHECK-NOT: dlc.fused
dlc.state @w : tensor<8xf32> param init = "w" trainable
dlc.state @m : tensor<8xf32> moment init = 0.0 : f32 of = @w
dlc.state @u : tensor<8xf32> param init = "u" trainable
func.func @apart(%g: tensor<8xf32>, %h: tensor<8xf32>) {
  %w = dlc.read @w : tensor<8xf32>
  %m = dlc.read @m : tensor<8xf32>
  %u = dlc.read @u : tensor<8xf32>
  %0 = dlc.add %m, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %n = dlc.global_norm %0 : (tensor<8xf32>) -> tensor<f32>
  %1 = dlc.mul %g, %n : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = dlc.sub %w, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = dlc.sub %u, %h : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @w, %2 : tensor<8xf32>
  dlc.write @m, %0 : tensor<8xf32>
  dlc.write @u, %3 : tensor<8xf32>
  return
}

// -----

// A moment that is rounded by the largest element of its row, and the parameter that it moves: one kernel, though the
// parameter has another shape.
// CHECK-LABEL: @rows
// CHECK: [[NEW:%.*]]:3 = dlc.fused
// CHECK-NOT: dlc.fused
// CHECK: [[VIEW:%.*]] = dlc.reshape [[NEW]]#
// CHECK-DAG: dlc.write @w, [[VIEW]]
// CHECK-DAG: dlc.write @codes, [[NEW]]#
// CHECK-DAG: dlc.write @absmax, [[NEW]]#
dlc.state @w : tensor<64x64xf32> param init = "w" trainable
dlc.state @codes : tensor<16x256xi8> moment init = 0 : i8 of = @w
dlc.state @absmax : tensor<16x1xf32> moment init = 0.0 : f32 of = @w
func.func @rows(%g: tensor<64x64xf32>) {
  %whole = dlc.read @w : tensor<64x64xf32>
  %w = dlc.reshape %whole : (tensor<64x64xf32>) -> tensor<16x256xf32>
  %codes = dlc.read @codes : tensor<16x256xi8>
  %absmax = dlc.read @absmax : tensor<16x1xf32>
  %rows = dlc.reshape %g : (tensor<64x64xf32>) -> tensor<16x256xf32>
  %0 = dlc.dynamic_decode %codes : (tensor<16x256xi8>) -> tensor<16x256xf32>
  %1 = dlc.mul %0, %absmax : (tensor<16x256xf32>, tensor<16x1xf32>) -> tensor<16x256xf32>
  %2 = dlc.add %1, %rows : (tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xf32>
  %3 = dlc.sub %w, %2 : (tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xf32>
  %4 = dlc.reshape %3 : (tensor<16x256xf32>) -> tensor<64x64xf32>
  dlc.write @w, %4 : tensor<64x64xf32>
  %5 = dlc.abs %2 : (tensor<16x256xf32>) -> tensor<16x256xf32>
  %6 = dlc.reduce_max %5 {axes = array<i64: 1>, keepdims} : (tensor<16x256xf32>) -> tensor<16x1xf32>
  %7 = dlc.div %2, %6 : (tensor<16x256xf32>, tensor<16x1xf32>) -> tensor<16x256xf32>
  %8 = dlc.dynamic_encode %7 : (tensor<16x256xf32>) -> tensor<16x256xi8>
  dlc.write @codes, %8 : tensor<16x256xi8>
  dlc.write @absmax, %6 : tensor<16x1xf32>
  return
}
