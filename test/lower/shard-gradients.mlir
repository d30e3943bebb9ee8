// RUN: %dlc-opt %s --dlc-shard="level=2" --split-input-file --verify-diagnostics | FileCheck %s

// Gradients are reduced to the parts that updates read. Their norm and finiteness are those of parts, added as integers.
// CHECK: %[[G:.*]] = dlc.reduce_scatter %arg0 {bucket = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32, @w>
// CHECK-NOT: bucket = 0
// CHECK: %[[S:.*]] = dlc.square_sums %[[G]] {limit = 5.000000e-01 : f64} : (tensor<4xf32, @w>) -> tensor<69xi64>
// CHECK: %[[A:.*]] = dlc.all_reduce %[[S]] op = sum {bucket = 1 : i64} : (tensor<69xi64>) -> tensor<69xi64>
// CHECK: %[[NORM:.*]] = dlc.norm_of_squares %[[A]] : (tensor<69xi64>) -> tensor<f32>
// CHECK: %[[C:.*]] = dlc.count_nonfinite %[[G]] : (tensor<4xf32, @w>) -> tensor<1xi64>
// CHECK: %[[B:.*]] = dlc.all_reduce %[[C]] op = sum {bucket = 2 : i64} : (tensor<1xi64>) -> tensor<1xi64>
// CHECK: %[[FINITE:.*]] = dlc.none_counted %[[B]] : (tensor<1xi64>) -> tensor<i1>
// CHECK: dlc.fused(%{{.*}}, %{{.*}}, %[[G]])
// CHECK: return %[[NORM]], %[[FINITE]]
dlc.state @w : tensor<4xf32> param init = "w" trainable
dlc.state @w.m : tensor<4xf32> moment init = 0.0 : f32 of = @w
func.func @train_step(%x: tensor<4xf32>) -> (tensor<f32>, tensor<i1>) {
  %w = dlc.read @w : tensor<4xf32>
  %m = dlc.read @w.m : tensor<4xf32>
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<4xf32>) -> tensor<4xf32>
  %norm = dlc.global_norm %g by = library {limit = 5.000000e-01 : f64} : (tensor<4xf32>) -> tensor<f32>
  %finite = dlc.all_finite %g by = library : (tensor<4xf32>) -> tensor<i1>
  %new:2 = dlc.fused(%w, %m, %g) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
    %0 = dlc.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dlc.sub %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  dlc.write @w, %new#0 : tensor<4xf32>
  dlc.write @w.m, %new#1 : tensor<4xf32>
  return %norm, %finite : tensor<f32>, tensor<i1>
}

// -----

// A device without calls for norms sums parts by clusters, in f64, as many elements as a rank has; ranks add one number.
// CHECK: %[[ROWS:.*]] = dlc.fused(%{{.*}}) : (tensor<4096xf32, @w>) -> tensor<8xf64> {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4096xf32>)
// CHECK: dlc.pad {{.*}} -> tensor<8192xf32>
// CHECK: %[[T:.*]] = dlc.fused(%[[ROWS]]) : (tensor<8xf64>) -> tensor<1xf64> {
// CHECK: %[[A:.*]] = dlc.all_reduce %[[T]] op = sum {bucket = 1 : i64} : (tensor<1xf64>) -> tensor<1xf64>
// CHECK: %[[NORM:.*]] = dlc.fused(%[[A]]) : (tensor<1xf64>) -> tensor<f32> {
// CHECK: return %[[NORM]]
dlc.state @w : tensor<4096xf32> param init = "w" trainable
dlc.state @w.m : tensor<4096xf32> moment init = 0.0 : f32 of = @w
func.func @train_step(%x: tensor<4096xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<4096xf32>
  %m = dlc.read @w.m : tensor<4096xf32>
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<4096xf32>) -> tensor<4096xf32>
  %norm = dlc.global_norm %g by = decomposed {dlc.of_parts} : (tensor<4096xf32>) -> tensor<f32>
  %new:2 = dlc.fused(%w, %m, %g) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>, %d: tensor<4096xf32>):
    %0 = dlc.add %c, %d : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %1 = dlc.sub %a, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
  }
  dlc.write @w, %new#0 : tensor<4096xf32>
  dlc.write @w.m, %new#1 : tensor<4096xf32>
  return %norm : tensor<f32>
}

// -----

// What reads whole gradients finds none.
dlc.state @w : tensor<4xf32> param init = "w" trainable
dlc.state @w.m : tensor<4xf32> moment init = 0.0 : f32 of = @w
func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = dlc.read @w : tensor<4xf32>
  %m = dlc.read @w.m : tensor<4xf32>
  // expected-error @+1 {{reads the gradients of 'w', which are sharded; use --zero=1}}
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<4xf32>) -> tensor<4xf32>
  %new:2 = dlc.fused(%w, %m, %g) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
    %0 = dlc.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dlc.sub %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  %twice = dlc.fused(%g) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = dlc.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %0 : tensor<4xf32>
  }
  dlc.write @w, %new#0 : tensor<4xf32>
  dlc.write @w.m, %new#1 : tensor<4xf32>
  return %twice : tensor<4xf32>
}

// -----

// Nor is there a part without an update.
dlc.state @w : tensor<4xf32> param init = "w" trainable
func.func @train_step(%x: tensor<4xf32>) {
  // expected-error @+1 {{--zero=2: an op that is not elementwise (as of lars, or of clipping by several rules) reads the gradients of 'w'}}
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
