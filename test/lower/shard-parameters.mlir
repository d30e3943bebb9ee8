// RUN: %dlc-opt %s --dlc-shard="level=3 whole=17" --split-input-file --verify-diagnostics | FileCheck %s

// A parameter is in parts, its update reads and writes them, and what else uses it, in any function, gathers it. One that is
// smaller, or that a function gives away, stays whole.
// CHECK: dlc.state @w : tensor<8xf32, @w> param init = "w" trainable {dlc.together = array<i64: 0, 0>}
// CHECK: dlc.state @v : tensor<4xf32> param
// CHECK: dlc.state @u : tensor<8xf32> param
// CHECK-LABEL: func @train_step
// CHECK: %[[W:.*]] = dlc.read @w : tensor<8xf32, @w>
// CHECK: %[[ALL:.*]] = dlc.all_gather %[[W]] : (tensor<8xf32, @w>) -> tensor<8xf32>
// CHECK: dlc.global_norm %[[ALL]]
// CHECK: {{%[0-9]+}}:2 = dlc.fused(%[[W]], {{.*}}) : (tensor<8xf32, @w>
// CHECK: dlc.write @w, {{%[0-9]+}}#0 : tensor<8xf32, @w>
// CHECK: dlc.write @v, %{{.*}} : tensor<4xf32>
// CHECK-LABEL: func @eval_step
// CHECK: dlc.all_gather
dlc.state @w : tensor<8xf32> param init = "w" trainable
dlc.state @v : tensor<4xf32> param init = "v" trainable
dlc.state @u : tensor<8xf32> param init = "u" trainable
dlc.state @w.m : tensor<8xf32> moment init = 0.0 : f32 of = @w
dlc.state @v.m : tensor<4xf32> moment init = 0.0 : f32 of = @v
dlc.state @u.m : tensor<8xf32> moment init = 0.0 : f32 of = @u
func.func @train_step(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<8xf32>
  %v = dlc.read @v : tensor<4xf32>
  %u = dlc.read @u : tensor<8xf32>
  %wm = dlc.read @w.m : tensor<8xf32>
  %vm = dlc.read @v.m : tensor<4xf32>
  %um = dlc.read @u.m : tensor<8xf32>
  %loss = dlc.global_norm %w : (tensor<8xf32>) -> tensor<f32>
  %wg = dlc.all_reduce %x {bucket = 0 : i64, of = @w} : (tensor<8xf32>) -> tensor<8xf32>
  %vg = dlc.all_reduce %y {bucket = 2 : i64, of = @v} : (tensor<4xf32>) -> tensor<4xf32>
  %ug = dlc.all_reduce %x {bucket = 1 : i64, of = @u} : (tensor<8xf32>) -> tensor<8xf32>
  %new:2 = dlc.fused(%w, %wm, %wg) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dlc.add %c, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = dlc.sub %a, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    dlc.yield %1, %0 : tensor<8xf32>, tensor<8xf32>
  }
  %other:2 = dlc.fused(%v, %vm, %vg) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
    %0 = dlc.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dlc.sub %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  %last:2 = dlc.fused(%u, %um, %ug) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dlc.add %c, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = dlc.sub %a, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    dlc.yield %1, %0 : tensor<8xf32>, tensor<8xf32>
  }
  dlc.write @w, %new#0 : tensor<8xf32>
  dlc.write @w.m, %new#1 : tensor<8xf32>
  dlc.write @v, %other#0 : tensor<4xf32>
  dlc.write @v.m, %other#1 : tensor<4xf32>
  dlc.write @u, %last#0 : tensor<8xf32>
  dlc.write @u.m, %last#1 : tensor<8xf32>
  return %loss : tensor<f32>
}
// expected-warning @+1 {{--zero=3: the parameters of '}}
func.func @eval_step() -> (tensor<f32>, tensor<8xf32>) {
  %w = dlc.read @w : tensor<8xf32>
  %u = dlc.read @u : tensor<8xf32>
  %loss = dlc.global_norm %w : (tensor<8xf32>) -> tensor<f32>
  return %loss, %u : tensor<f32>, tensor<8xf32>
}
