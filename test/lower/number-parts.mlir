// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-number-parts --split-input-file --verify-diagnostics | FileCheck %s

// A launch with `shard` runs in items, of which each rank runs some; what it says is gathered, and waited for before the next
// command that reads parameters. Others are each rank's own.
// CHECK: exec.program @step
// CHECK: %[[W:.*]] = exec.buffer @param at 0 : memref<10000xf32>
// CHECK: exec.launch @move ins({{.*}}) outs({{.*}}) {shard = 2048 : i64}
// CHECK-NEXT: exec.call "all_gather" ins(%[[W]] : memref<10000xf32>) outs(%[[W]] : memref<10000xf32>) {bucket = 1 : i64, extent = 5 : i64, shard = 2048 : i64}
// CHECK-NEXT: exec.launch @average ins(%{{.*}}) outs(%{{.*}}){{$}}
// CHECK-NEXT: exec.wait %[[W]] bucket = 1
// CHECK-NEXT: exec.copy
exec.region @param "state" bytes = 40000
exec.region @moment.m "state" bytes = 40000
exec.region @buffer "state" bytes = 64
exec.region @ema "state" bytes = 64
exec.region @gradient "gradient" bytes = 40000
exec.region @scratch "scratch" bytes = 40000
exec.state @w : tensor<10000xf32> "param" in @param at 0 init = "w" trainable
exec.state @w.m : tensor<10000xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @w
exec.state @b : tensor<4xf32> "buffer" in @buffer at 0 init = "b"
exec.state @"ema/b" : tensor<4xf32> "ema" in @ema at 0 init = @b of = @b
exec.program @step scratch = 40000 {
  %w = exec.buffer @param at 0 : memref<10000xf32>
  %m = exec.buffer @moment.m at 0 : memref<10000xf32>
  %g = exec.buffer @gradient at 0 : memref<10000xf32>
  %b = exec.buffer @buffer at 0 : memref<4xf32>
  %e = exec.buffer @ema at 0 : memref<4xf32>
  %s = exec.buffer @scratch at 0 : memref<10000xf32>
  exec.all_reduce %g bucket = 0 : memref<10000xf32>
  exec.wait %g bucket = 0 : memref<10000xf32>
  exec.launch @move ins(%w, %m, %g : memref<10000xf32>, memref<10000xf32>, memref<10000xf32>) outs(%w, %m : memref<10000xf32>, memref<10000xf32>) {shard, gather = array<i64: 0>}
  exec.launch @average ins(%e, %b : memref<4xf32>, memref<4xf32>) outs(%e : memref<4xf32>)
  exec.copy %w to %s : memref<10000xf32>, memref<10000xf32>
}
exec.kernel @move {
^bb0(%w: tensor<10000xf32>, %m: tensor<10000xf32>, %g: tensor<10000xf32>):
  %0 = dlc.add %m, %g : (tensor<10000xf32>, tensor<10000xf32>) -> tensor<10000xf32>
  %1 = dlc.sub %w, %0 : (tensor<10000xf32>, tensor<10000xf32>) -> tensor<10000xf32>
  dlc.yield %1, %0 : tensor<10000xf32>, tensor<10000xf32>
}
exec.kernel @average {
^bb0(%e: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = dlc.add %e, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  dlc.yield %0 : tensor<4xf32>
}

// -----

// A bucket of gradients is reduced to two parts, for which two launches run, and so are two parameters gathered from them.
// CHECK: exec.part @gradient at 0 bytes = 64 item = 64 extent = 1
// CHECK-NEXT: exec.part @gradient at 64 bytes = 64 item = 64 extent = 1
// CHECK-NEXT: exec.part @param at 0 bytes = 64 item = 64 extent = 1
// CHECK-NEXT: exec.part @param at 64 bytes = 64 item = 64 extent = 1
// CHECK: exec.call "all_gather" ins({{.*}}) outs({{.*}}) {bucket = 0 : i64, extent = 1 : i64, shard = 16 : i64}
// CHECK-NEXT: exec.call "all_gather" ins({{.*}}) outs({{.*}}) {bucket = 2 : i64, extent = 1 : i64, shard = 16 : i64}
// CHECK-NEXT: exec.wait {{.*}} bucket = 0
// CHECK-NEXT: exec.wait {{.*}} bucket = 2
// CHECK-NEXT: exec.call "reduce_scatter" {{.*}} {bucket = 1 : i64, extent = 1 : i64, op = "mean", shard = 16 : i64}
// CHECK-NEXT: exec.call "reduce_scatter" {{.*}} {bucket = 3 : i64
exec.region @param "state" bytes = 128
exec.region @gradient "gradient" bytes = 128
exec.region @scratch "scratch" bytes = 256
exec.state @v : tensor<16xf32, @v> "param" in @param at 0 init = "v" trainable
exec.state @w : tensor<16xf32, @w> "param" in @param at 64 init = "w" trainable
exec.program @step scratch = 256 {
  %v = exec.buffer @param at 0 : memref<16xf32>
  %w = exec.buffer @param at 64 : memref<16xf32>
  %all = exec.buffer @param at 0 : memref<32xf32>
  %vg = exec.buffer @gradient at 0 : memref<16xf32>
  %wg = exec.buffer @gradient at 64 : memref<16xf32>
  %both = exec.buffer @gradient at 0 : memref<32xf32>
  %s = exec.buffer @scratch at 0 : memref<32xf32>
  exec.call "all_gather" ins(%all : memref<32xf32>) outs(%s : memref<32xf32>) {bucket = 0 : i64}
  exec.wait %s bucket = 0 : memref<32xf32>
  exec.call "reduce_scatter" ins(%s : memref<32xf32>) outs(%both : memref<32xf32>) {bucket = 1 : i64, op = "mean"}
  exec.wait %both bucket = 1 : memref<32xf32>
  exec.launch @move ins(%v, %vg : memref<16xf32>, memref<16xf32>) outs(%v : memref<16xf32>) {shard}
  exec.launch @move ins(%w, %wg : memref<16xf32>, memref<16xf32>) outs(%w : memref<16xf32>) {shard}
}
exec.kernel @move {
^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
  %0 = dlc.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}

// -----

// Of what no launch works on there are no parts.
exec.region @gradient "gradient" bytes = 64
exec.region @scratch "scratch" bytes = 64
exec.program @step scratch = 64 {
  %g = exec.buffer @gradient at 0 : memref<16xf32>
  %s = exec.buffer @scratch at 0 : memref<16xf32>
  // expected-error @+1 {{is of something else than whole parts}}
  exec.call "reduce_scatter" ins(%s : memref<16xf32>) outs(%g : memref<16xf32>) {bucket = 0 : i64, op = "mean"}
  exec.wait %g bucket = 0 : memref<16xf32>
}
