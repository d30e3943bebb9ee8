// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-number-parts --dlc-scatter-gradients --split-input-file --verify-diagnostics | FileCheck %s

// Three buckets take turns in two slots: the third one waits for the first one's scatter. What travels with them (the loss) is
// reduced as before. The norm is that of parts, added as integers.
// CHECK: exec.region @scratch "scratch" bytes = 33408
// CHECK: exec.program @step scratch = 33408
// CHECK-DAG: %[[SUM:.*]] = exec.buffer @scratch at 32832 : memref<69xi64>
// CHECK-DAG: %[[LOSS:.*]] = exec.buffer @gradient at 0 : memref<16xf32>
// CHECK-DAG: exec.buffer @scratch at 64 : memref<4096xf32>
// CHECK-DAG: exec.buffer @scratch at 16448 : memref<4096xf32>
// CHECK: exec.copy
// CHECK-NEXT: exec.all_reduce %[[LOSS]] bucket = 0 : memref<16xf32>
// CHECK-NEXT: exec.call "reduce_scatter" ins(%{{.*}}) outs(%[[PA:.*]] : memref<4096xf32>) {bucket = [[IA:[0-9]+]] : i64, extent = 1 : i64, op = "mean", shard = 4096 : i64}
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.call "reduce_scatter"
// CHECK-NEXT: exec.wait %[[PA]] bucket = [[IA]]
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.call "reduce_scatter"
// CHECK-NEXT: exec.wait %[[LOSS]] bucket = 0
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.call "square_sums" ins({{.*}}) outs(%[[SUM]] : memref<69xi64>) {parts = 1 : i64}
// CHECK-NEXT: exec.all_reduce %[[SUM]] bucket = [[IN:[0-9]+]] op = "sum" : memref<69xi64>
// CHECK-NEXT: exec.wait %[[SUM]] bucket = [[IN]]
// CHECK-NEXT: exec.call "norm_of_squares" ins(%[[SUM]] : memref<69xi64>)
// CHECK-COUNT-3: exec.launch @move ins({{.*}}) outs({{.*}}) {shard = 4096 : i64}
exec.region @param "state" bytes = 49152
exec.region @moment.m "state" bytes = 49152
exec.region @gradient "gradient" bytes = 49216
exec.region @scratch "scratch" bytes = 64
exec.state @a : tensor<4096xf32> "param" in @param at 0 init = "a" trainable
exec.state @b : tensor<4096xf32> "param" in @param at 16384 init = "b" trainable
exec.state @c : tensor<4096xf32> "param" in @param at 32768 init = "c" trainable
exec.state @a.m : tensor<4096xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @a
exec.state @b.m : tensor<4096xf32> "moment" in @moment.m at 16384 init = 0.0 : f32 of = @b
exec.state @c.m : tensor<4096xf32> "moment" in @moment.m at 32768 init = 0.0 : f32 of = @c
exec.program @step scratch = 64 attributes {dlc.gradient_head = 64 : i64} {
  %a = exec.buffer @param at 0 : memref<4096xf32>
  %b = exec.buffer @param at 16384 : memref<4096xf32>
  %c = exec.buffer @param at 32768 : memref<4096xf32>
  %am = exec.buffer @moment.m at 0 : memref<4096xf32>
  %bm = exec.buffer @moment.m at 16384 : memref<4096xf32>
  %cm = exec.buffer @moment.m at 32768 : memref<4096xf32>
  %first = exec.buffer @gradient at 0 : memref<4112xf32>
  %ag = exec.buffer @gradient at 64 : memref<4096xf32>
  %bg = exec.buffer @gradient at 16448 : memref<4096xf32>
  %cg = exec.buffer @gradient at 32832 : memref<4096xf32>
  %norm = exec.buffer @scratch at 0 : memref<f32>
  exec.copy %a to %ag : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %first bucket = 0 : memref<4112xf32>
  exec.copy %b to %bg : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %bg bucket = 1 : memref<4096xf32>
  exec.copy %c to %cg : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %cg bucket = 2 : memref<4096xf32>
  exec.wait %first bucket = 0 : memref<4112xf32>
  exec.wait %bg bucket = 1 : memref<4096xf32>
  exec.wait %cg bucket = 2 : memref<4096xf32>
  exec.call "global_norm" ins(%ag, %bg, %cg : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%norm : memref<f32>) {}
  exec.launch @move ins(%a, %am, %ag : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%a, %am : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
  exec.launch @move ins(%b, %bm, %bg : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%b, %bm : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
  exec.launch @move ins(%c, %cm, %cg : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%c, %cm : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
}
exec.kernel @move {
^bb0(%w: tensor<4096xf32>, %m: tensor<4096xf32>, %g: tensor<4096xf32>):
  %0 = dlc.add %m, %g : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = dlc.sub %w, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
}

// -----

// What reads whole gradients finds none.
exec.region @param "state" bytes = 16384
exec.region @moment.m "state" bytes = 16384
exec.region @gradient "gradient" bytes = 16384
exec.region @scratch "scratch" bytes = 16384
exec.state @a : tensor<4096xf32> "param" in @param at 0 init = "a" trainable
exec.state @a.m : tensor<4096xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @a
exec.program @step scratch = 16384 attributes {dlc.gradient_head = 0 : i64} {
  %a = exec.buffer @param at 0 : memref<4096xf32>
  %am = exec.buffer @moment.m at 0 : memref<4096xf32>
  %ag = exec.buffer @gradient at 0 : memref<4096xf32>
  %s = exec.buffer @scratch at 0 : memref<4096xf32>
  exec.copy %a to %ag : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %ag bucket = 0 : memref<4096xf32>
  exec.wait %ag bucket = 0 : memref<4096xf32>
  // expected-error @+1 {{--zero=2: what reads the gradients of}}
  exec.copy %ag to %s : memref<4096xf32>, memref<4096xf32>
  exec.launch @move ins(%a, %am, %ag : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%a, %am : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
}
exec.kernel @move {
^bb0(%w: tensor<4096xf32>, %m: tensor<4096xf32>, %g: tensor<4096xf32>):
  %0 = dlc.add %m, %g : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = dlc.sub %w, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
}

// -----

// A device without calls for norms sums parts by kernels, in f64, as many elements as a rank has; ranks add one number.
// CHECK: exec.program @step
// CHECK: exec.launch @squares_of_part ins(%{{.*}} : memref<4096xf32>) outs(%{{.*}} : memref<8xf64>)
// CHECK-NEXT: exec.launch @sum_of_parts ins(%{{.*}} : memref<8xf64>) outs(%[[T:.*]] : memref<1xf64>)
// CHECK-NEXT: exec.all_reduce %[[T]] bucket = [[ID:[0-9]+]] op = "sum" : memref<1xf64>
// CHECK-NEXT: exec.wait %[[T]] bucket = [[ID]]
// CHECK-NEXT: exec.launch @norm_of_parts ins(%[[T]] : memref<1xf64>) outs(%{{.*}} : memref<f32>)
// CHECK-NEXT: exec.launch @others_of_part ins(%{{.*}} : memref<4096xf32>) outs(%{{.*}} : memref<8xf32>)
// CHECK: exec.launch @none_in_parts ins({{.*}}) outs(%{{.*}} : memref<i1>)
// CHECK: exec.kernel @squares_of_part parted schedule = #exec.schedule<rows
// CHECK: dlc.pad {{.*}} -> tensor<8192xf32>
exec.region @param "state" bytes = 16384
exec.region @moment.m "state" bytes = 16384
exec.region @gradient "gradient" bytes = 16384
exec.region @scratch "scratch" bytes = 128
exec.state @a : tensor<4096xf32> "param" in @param at 0 init = "a" trainable
exec.state @a.m : tensor<4096xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @a
exec.program @step scratch = 128 attributes {dlc.gradient_head = 0 : i64} {
  %a = exec.buffer @param at 0 : memref<4096xf32>
  %am = exec.buffer @moment.m at 0 : memref<4096xf32>
  %ag = exec.buffer @gradient at 0 : memref<4096xf32>
  %norm = exec.buffer @scratch at 0 : memref<f32>
  %finite = exec.buffer @scratch at 64 : memref<i1>
  exec.copy %a to %ag : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %ag bucket = 0 : memref<4096xf32>
  exec.wait %ag bucket = 0 : memref<4096xf32>
  exec.call "global_norm" ins(%ag : memref<4096xf32>) outs(%norm : memref<f32>) {dlc.of_parts}
  exec.call "all_finite" ins(%ag : memref<4096xf32>) outs(%finite : memref<i1>) {dlc.of_parts}
  exec.launch @move ins(%a, %am, %ag : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%a, %am : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
}
exec.kernel @move {
^bb0(%w: tensor<4096xf32>, %m: tensor<4096xf32>, %g: tensor<4096xf32>):
  %0 = dlc.add %m, %g : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = dlc.sub %w, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
}
