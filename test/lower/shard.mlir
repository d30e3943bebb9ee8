// RUN: %dlc-opt %s --dlc-shard="level=1" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not %dlc-opt %s --dlc-shard="level=2" --split-input-file 2>/dev/null | FileCheck %s --check-prefix=ALL

// What updates a parameter with its moment works on parts; so does what follows in an average of it, of the new parameter's part.
// Without moments a parameter is updated by all ranks, up to level 1. The average of a buffer is whole. Bodies do not change.
// CHECK: dlc.state @w.m : tensor<4xf32, @w> moment
// CHECK: dlc.state @"ema/w" : tensor<4xf32, @w> ema
// CHECK: dlc.state @"ema/b" : tensor<4xf32> ema
// CHECK: %[[W:.*]] = dlc.read @w : tensor<4xf32>
// CHECK: %[[M:.*]] = dlc.read @w.m : tensor<4xf32, @w>
// CHECK: %[[E:.*]] = dlc.read @"ema/w" : tensor<4xf32, @w>
// CHECK: %[[G:.*]] = dlc.all_reduce
// CHECK: %[[OW:.*]] = dlc.take_shard %[[W]] : (tensor<4xf32>) -> tensor<4xf32, @w>
// CHECK: %[[OG:.*]] = dlc.take_shard %[[G]] : (tensor<4xf32>) -> tensor<4xf32, @w>
// CHECK: {{%[0-9]+}}:2 = dlc.fused(%[[OW]], %[[M]], %[[OG]], %{{.*}}) : (tensor<4xf32, @w>, tensor<4xf32, @w>, tensor<4xf32, @w>, tensor<f32>) -> (tensor<4xf32, @w>, tensor<4xf32, @w>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<f32>)
// CHECK: %[[WHOLE:.*]] = dlc.all_gather {{%[0-9]+}}#0 : (tensor<4xf32, @w>) -> tensor<4xf32>
// CHECK: %[[A:.*]] = dlc.fused(%[[E]], {{%[0-9]+}}#0)
// CHECK: dlc.fused({{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: dlc.write @w, %[[WHOLE]] : tensor<4xf32>
// CHECK: dlc.write @w.m, {{%[0-9]+}}#1 : tensor<4xf32, @w>
// CHECK: dlc.write @"ema/w", %[[A]] : tensor<4xf32, @w>
// CHECK: return %[[WHOLE]]
// ALL: dlc.fused({{.*}}) : (tensor<4xf32, @v>, tensor<4xf32, @v>) -> tensor<4xf32, @v>
// ALL: dlc.fused({{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
dlc.state @w : tensor<4xf32> param init = "w" trainable
dlc.state @v : tensor<4xf32> param init = "v" trainable
dlc.state @b : tensor<4xf32> buffer init = "b"
dlc.state @w.m : tensor<4xf32> moment init = 0.0 : f32 of = @w
dlc.state @"ema/w" : tensor<4xf32> ema init = @w of = @w
dlc.state @"ema/b" : tensor<4xf32> ema init = @b of = @b
func.func @train_step(%x: tensor<4xf32>, %rate: tensor<f32>) -> tensor<4xf32> {
  %w = dlc.read @w : tensor<4xf32>
  %v = dlc.read @v : tensor<4xf32>
  %b = dlc.read @b : tensor<4xf32>
  %m = dlc.read @w.m : tensor<4xf32>
  %e = dlc.read @"ema/w" : tensor<4xf32>
  %eb = dlc.read @"ema/b" : tensor<4xf32>
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<4xf32>) -> tensor<4xf32>
  %new:2 = dlc.fused(%w, %m, %g, %rate) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %r: tensor<f32>):
    %0 = dlc.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dlc.mul %0, %r : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = dlc.sub %a, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %2, %0 : tensor<4xf32>, tensor<4xf32>
  }
  %average = dlc.fused(%e, %new#0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = dlc.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %0 : tensor<4xf32>
  }
  %plain = dlc.fused(%v, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = dlc.sub %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %0 : tensor<4xf32>
  }
  %other = dlc.fused(%eb, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = dlc.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %0 : tensor<4xf32>
  }
  dlc.write @w, %new#0 : tensor<4xf32>
  dlc.write @w.m, %new#1 : tensor<4xf32>
  dlc.write @v, %plain : tensor<4xf32>
  dlc.write @"ema/w", %average : tensor<4xf32>
  dlc.write @"ema/b", %other : tensor<4xf32>
  return %new#0 : tensor<4xf32>
}

// -----

// A moment that sums of its tensor move is no sum of parts.
dlc.state @w : tensor<4xf32> param init = "w" trainable
// expected-error @+1 {{--zero: the update of 'w.m' is not elementwise}}
dlc.state @w.m : tensor<4xf32> moment init = 0.0 : f32 of = @w
func.func @train_step() {
  %m = dlc.read @w.m : tensor<4xf32>
  %new = dlc.fused(%m) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %0 = dlc.reduce_sum %x {axes = array<i64: 0>, keepdims} : (tensor<4xf32>) -> tensor<1xf32>
    %1 = dlc.sub %x, %0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    dlc.yield %1 : tensor<4xf32>
  }
  dlc.write @w.m, %new : tensor<4xf32>
  return
}

// -----

// Nor may something else read a part that an update leaves.
dlc.state @w : tensor<4xf32> param init = "w" trainable
// expected-error @+1 {{--zero: the update of 'w.m' is not elementwise}}
dlc.state @w.m : tensor<4xf32> moment init = 0.0 : f32 of = @w
func.func @train_step() -> tensor<f32> {
  %m = dlc.read @w.m : tensor<4xf32>
  %new = dlc.fused(%m) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %0 = dlc.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %0 : tensor<4xf32>
  }
  %norm = dlc.global_norm %new : (tensor<4xf32>) -> tensor<f32>
  dlc.write @w.m, %new : tensor<4xf32>
  return %norm : tensor<f32>
}
