// RUN: %dlc-opt %s | %dlc-opt | FileCheck %s
// RUN: %dlc-opt %s --mlir-print-op-generic | %dlc-opt | FileCheck %s

// CHECK: dlc.state @w.m : tensor<2x3xf32, @w> moment init = 0.000000e+00 : f32 of = @w
dlc.state @w : tensor<2x3xf32> param init = "w" trainable
dlc.state @w.m : tensor<2x3xf32, @w> moment init = 0.0 : f32 of = @w

// CHECK-LABEL: func @shards
func.func @shards(%x: tensor<2x3xf32>) {
  // CHECK: dlc.take_shard %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>
  %own = dlc.take_shard %x : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>
  // CHECK: dlc.reduce_scatter %{{.*}} {bucket = 3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>
  %mean = dlc.reduce_scatter %x {bucket = 3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>
  // CHECK: dlc.fused({{.*}}) : (tensor<2x3xf32, @w>, tensor<2x3xf32, @w>) -> tensor<2x3xf32, @w>
  %new = dlc.fused(%own, %mean) : (tensor<2x3xf32, @w>, tensor<2x3xf32, @w>) -> tensor<2x3xf32, @w> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = dlc.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    dlc.yield %0 : tensor<2x3xf32>
  }
  // CHECK: dlc.all_gather %{{.*}} {bucket = 3 : i64} : (tensor<2x3xf32, @w>) -> tensor<2x3xf32>
  %all = dlc.all_gather %new {bucket = 3 : i64} : (tensor<2x3xf32, @w>) -> tensor<2x3xf32>
  // CHECK: dlc.square_sums %{{.*}} {limit = 5.000000e-01 : f64} : (tensor<2x3xf32, @w>) -> tensor<69xi64>
  %squares = dlc.square_sums %mean {limit = 0.5 : f64} : (tensor<2x3xf32, @w>) -> tensor<69xi64>
  // CHECK: dlc.all_reduce %{{.*}} op = sum {bucket = 4 : i64} : (tensor<69xi64>) -> tensor<69xi64>
  %sum = dlc.all_reduce %squares op = sum {bucket = 4 : i64} : (tensor<69xi64>) -> tensor<69xi64>
  // CHECK: dlc.norm_of_squares %{{.*}} : (tensor<69xi64>) -> tensor<f32>
  %norm = dlc.norm_of_squares %sum : (tensor<69xi64>) -> tensor<f32>
  // CHECK: dlc.count_nonfinite %{{.*}} : (tensor<2x3xf32, @w>) -> tensor<1xi64>
  %others = dlc.count_nonfinite %mean : (tensor<2x3xf32, @w>) -> tensor<1xi64>
  // CHECK: dlc.none_counted %{{.*}} : (tensor<1xi64>) -> tensor<i1>
  %none = dlc.none_counted %others : (tensor<1xi64>) -> tensor<i1>
  return
}
