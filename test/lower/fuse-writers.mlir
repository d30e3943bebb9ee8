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
