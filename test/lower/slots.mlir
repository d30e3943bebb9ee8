// RUN: %dlc-opt %s --dlc-plan-memory --dlc-merge-launches --dlc-schedule-kernels --dlc-number-parts --split-input-file | FileCheck %s

// Three buckets of gradients take turns in two places: the third one waits for the first one's scatter. What travels with them (the
// loss) is reduced as before, and the updates' results are gathered behind.
// CHECK: exec.part @gradient at 64 bytes = 16384 item = 16384 extent = 1
// CHECK: exec.region @scratch "scratch" bytes = 49152
// CHECK: exec.program @train_step scratch = 49152
// CHECK: exec.launch @{{.*}}_exp ins({{.*}}) outs(%[[LOSS:.*]] : memref<16xf32>)
// CHECK-NEXT: exec.launch @{{.*}}_exp
// CHECK-NEXT: exec.all_reduce %[[LOSS]] bucket = 0
// CHECK-NEXT: exec.call "reduce_scatter" ins({{.*}}) outs(%[[A:.*]] : memref<4096xf32>) {bucket = 1 : i64, extent = 1 : i64, op = "mean", shard = 4096 : i64}
// CHECK-NEXT: exec.launch @{{.*}}_neg
// CHECK-NEXT: exec.call "reduce_scatter" {{.*}} {bucket = 2 : i64
// CHECK-NEXT: exec.wait %[[LOSS]] bucket = 0
// CHECK-NEXT: exec.wait %[[A]] bucket = 1
// CHECK-NEXT: exec.launch @{{.*}}_tanh
// CHECK-NEXT: exec.call "reduce_scatter" {{.*}} {bucket = 3 : i64
// CHECK-NEXT: exec.launch @{{.*}} {bucket = 0 : i64, shard = 4096 : i64}
// CHECK-NEXT: exec.call "all_gather"
// CHECK-NEXT: exec.wait {{.*}} bucket = 2
dlc.state @a : tensor<4096xf32> param init = "a" trainable
dlc.state @a.m : tensor<4096xf32, @a> moment init = 0.0 : f32 of = @a
dlc.state @b : tensor<4096xf32> param init = "b" trainable
dlc.state @b.m : tensor<4096xf32, @b> moment init = 0.0 : f32 of = @b
dlc.state @c : tensor<4096xf32> param init = "c" trainable
dlc.state @c.m : tensor<4096xf32, @c> moment init = 0.0 : f32 of = @c
func.func @train_step(%x: tensor<4096xf32>, %loss: tensor<16xf32>) -> tensor<16xf32> {
  %l = dlc.fused(%loss) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = dlc.exp %p : (tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  %first = dlc.all_reduce %l {bucket = 0 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  %da = dlc.fused(%x) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %ga = dlc.reduce_scatter %da {bucket = 0 : i64} : (tensor<4096xf32>) -> tensor<4096xf32, @a>
  %db = dlc.fused(%x) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.neg %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %gb = dlc.reduce_scatter %db {bucket = 1 : i64} : (tensor<4096xf32>) -> tensor<4096xf32, @b>
  %dc = dlc.fused(%x) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.tanh %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %gc = dlc.reduce_scatter %dc {bucket = 2 : i64} : (tensor<4096xf32>) -> tensor<4096xf32, @c>
  %ra = dlc.read @a : tensor<4096xf32>
  %ma = dlc.read @a.m : tensor<4096xf32, @a>
  %oa = dlc.take_shard %ra : (tensor<4096xf32>) -> tensor<4096xf32, @a>
  %na:2 = dlc.fused(%oa, %ma, %ga) : (tensor<4096xf32, @a>, tensor<4096xf32, @a>, tensor<4096xf32, @a>) -> (tensor<4096xf32, @a>, tensor<4096xf32, @a>) {
  ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>, %d: tensor<4096xf32>):
    %0 = dlc.add %c, %d : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %1 = dlc.sub %a, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
  }
  %wa = dlc.all_gather %na#0 : (tensor<4096xf32, @a>) -> tensor<4096xf32>
  dlc.write @a, %wa : tensor<4096xf32>
  dlc.write @a.m, %na#1 : tensor<4096xf32, @a>
  %rb = dlc.read @b : tensor<4096xf32>
  %mb = dlc.read @b.m : tensor<4096xf32, @b>
  %ob = dlc.take_shard %rb : (tensor<4096xf32>) -> tensor<4096xf32, @b>
  %nb:2 = dlc.fused(%ob, %mb, %gb) : (tensor<4096xf32, @b>, tensor<4096xf32, @b>, tensor<4096xf32, @b>) -> (tensor<4096xf32, @b>, tensor<4096xf32, @b>) {
  ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>, %d: tensor<4096xf32>):
    %0 = dlc.add %c, %d : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %1 = dlc.sub %a, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
  }
  %wb = dlc.all_gather %nb#0 : (tensor<4096xf32, @b>) -> tensor<4096xf32>
  dlc.write @b, %wb : tensor<4096xf32>
  dlc.write @b.m, %nb#1 : tensor<4096xf32, @b>
  %rc = dlc.read @c : tensor<4096xf32>
  %mc = dlc.read @c.m : tensor<4096xf32, @c>
  %oc = dlc.take_shard %rc : (tensor<4096xf32>) -> tensor<4096xf32, @c>
  %nc:2 = dlc.fused(%oc, %mc, %gc) : (tensor<4096xf32, @c>, tensor<4096xf32, @c>, tensor<4096xf32, @c>) -> (tensor<4096xf32, @c>, tensor<4096xf32, @c>) {
  ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>, %d: tensor<4096xf32>):
    %0 = dlc.add %c, %d : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %1 = dlc.sub %a, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
  }
  %wc = dlc.all_gather %nc#0 : (tensor<4096xf32, @c>) -> tensor<4096xf32>
  dlc.write @c, %wc : tensor<4096xf32>
  dlc.write @c.m, %nc#1 : tensor<4096xf32, @c>
  return %first : tensor<16xf32>
}
