// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-number-parts --dlc-gather-parameters --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-number-parts --dlc-gather-parameters="ahead=0 least=65" --split-input-file 2>/dev/null | FileCheck %s --check-prefix=ALONE

// Three layers there and back, each its own bucket. Two are in memory at a time: c takes a's place as soon as that was used, beside
// the use of b; both stay for the way back, until a takes c's place. Nothing is gathered behind the updates, which read parts.
// CHECK: exec.region @scratch "scratch" bytes = 49152
// CHECK: exec.program @step scratch = 49152
// CHECK-DAG: %[[X:.*]] = exec.buffer @scratch at 0 : memref<4096xf32>
// CHECK: exec.call "all_gather" ins(%[[PA:.*]] : memref<4096xf32>) outs(%[[A:.*]] : memref<4096xf32>) {bucket = [[#ID:]] : i64, extent = 1 : i64, shard = 4096 : i64}
// CHECK-NEXT: exec.call "all_gather" ins(%{{.*}}) outs(%[[B:.*]] : memref<4096xf32>) {bucket = [[#ID+1]] : i64
// CHECK-NEXT: exec.wait %{{.*}} bucket = [[#ID]] :
// CHECK-NEXT: exec.copy %{{.*}} to %[[X]]
// CHECK-NEXT: exec.call "all_gather" {{.*}} {bucket = [[#ID+2]] : i64
// CHECK-NEXT: exec.wait %{{.*}} bucket = [[#ID+1]] :
// CHECK-NEXT: exec.copy %{{.*}} to %[[X]]
// CHECK-NEXT: exec.wait %{{.*}} bucket = [[#ID+2]] :
// CHECK-NEXT: exec.copy %{{.*}} to %[[X]]
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.call "all_gather" {{.*}} {bucket = [[#ID+3]] : i64
// CHECK-NEXT: exec.all_reduce %{{.*}} bucket = 0
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.all_reduce %{{.*}} bucket = 1
// CHECK-NEXT: exec.wait %{{.*}} bucket = [[#ID+3]] :
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.all_reduce %{{.*}} bucket = 2
// CHECK-NEXT: exec.wait %{{.*}} bucket = 0
// CHECK-NEXT: exec.wait %{{.*}} bucket = 1
// CHECK-NEXT: exec.wait %{{.*}} bucket = 2
// CHECK-COUNT-3: exec.launch @move ins({{.*}}) outs({{.*}}) {shard = 4096 : i64}
// CHECK-NEXT: }

// What only reads parameters gathers them, too.
// CHECK: exec.program @look scratch = 32768
// CHECK: exec.call "all_gather"
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.copy

// With no bucket ahead one is in memory at a time, and that at the turn is gathered once.
// ALONE: exec.program @step scratch = 32768
// ALONE: exec.call "all_gather"
// ALONE-NEXT: exec.wait
// ALONE-NEXT: exec.copy
// ALONE-NEXT: exec.call "all_gather"
// ALONE-NEXT: exec.wait
// ALONE-NEXT: exec.copy
// ALONE-NEXT: exec.call "all_gather"
// ALONE-NEXT: exec.wait
// ALONE-NEXT: exec.copy
// ALONE-NEXT: exec.copy
// ALONE-NEXT: exec.call "all_gather"
// ALONE-NEXT: exec.all_reduce
// ALONE-NEXT: exec.wait
// ALONE-NEXT: exec.copy
exec.region @param "state" bytes = 49152
exec.region @moment.m "state" bytes = 49152
exec.region @gradient "gradient" bytes = 49216
exec.region @scratch "scratch" bytes = 16384
exec.state @a : tensor<4096xf32> "param" in @param at 0 init = "a" trainable
exec.state @b : tensor<4096xf32> "param" in @param at 16384 init = "b" trainable
exec.state @c : tensor<4096xf32> "param" in @param at 32768 init = "c" trainable
exec.state @a.m : tensor<4096xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @a
exec.state @b.m : tensor<4096xf32> "moment" in @moment.m at 16384 init = 0.0 : f32 of = @b
exec.state @c.m : tensor<4096xf32> "moment" in @moment.m at 32768 init = 0.0 : f32 of = @c
exec.program @step scratch = 16384 attributes {dlc.gradient_head = 64 : i64} {
  %a = exec.buffer @param at 0 : memref<4096xf32>
  %b = exec.buffer @param at 16384 : memref<4096xf32>
  %c = exec.buffer @param at 32768 : memref<4096xf32>
  %am = exec.buffer @moment.m at 0 : memref<4096xf32>
  %bm = exec.buffer @moment.m at 16384 : memref<4096xf32>
  %cm = exec.buffer @moment.m at 32768 : memref<4096xf32>
  %ag = exec.buffer @gradient at 64 : memref<4096xf32>
  %bg = exec.buffer @gradient at 16448 : memref<4096xf32>
  %cg = exec.buffer @gradient at 32832 : memref<4096xf32>
  %x = exec.buffer @scratch at 0 : memref<4096xf32>
  exec.copy %a to %x : memref<4096xf32>, memref<4096xf32>
  exec.copy %b to %x : memref<4096xf32>, memref<4096xf32>
  exec.copy %c to %x : memref<4096xf32>, memref<4096xf32>
  exec.copy %c to %cg : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %cg bucket = 0 : memref<4096xf32>
  exec.copy %b to %bg : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %bg bucket = 1 : memref<4096xf32>
  exec.copy %a to %ag : memref<4096xf32>, memref<4096xf32>
  exec.all_reduce %ag bucket = 2 : memref<4096xf32>
  exec.wait %cg bucket = 0 : memref<4096xf32>
  exec.wait %bg bucket = 1 : memref<4096xf32>
  exec.wait %ag bucket = 2 : memref<4096xf32>
  exec.launch @move ins(%a, %am, %ag : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%a, %am : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
  exec.launch @move ins(%b, %bm, %bg : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%b, %bm : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
  exec.launch @move ins(%c, %cm, %cg : memref<4096xf32>, memref<4096xf32>, memref<4096xf32>) outs(%c, %cm : memref<4096xf32>, memref<4096xf32>) {shard, gather = array<i64: 0>}
}
exec.program @look scratch = 16384 {
  %b = exec.buffer @param at 16448 : memref<16xf32>
  %x = exec.buffer @scratch at 0 : memref<16xf32>
  exec.copy %b to %x : memref<16xf32>, memref<16xf32>
}
exec.kernel @move {
^bb0(%w: tensor<4096xf32>, %m: tensor<4096xf32>, %g: tensor<4096xf32>):
  %0 = dlc.add %m, %g : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = dlc.sub %w, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  dlc.yield %1, %0 : tensor<4096xf32>, tensor<4096xf32>
}

// -----

// Of less than 65 bytes, and of what the host reads as it is, nothing is in parts.
// CHECK: exec.program @step
// CHECK: %[[W:.*]] = exec.buffer @param at 64 : memref<16xf32>
// CHECK: exec.call "all_gather"
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.copy %{{.*}} to
// CHECK: exec.call "all_gather" ins(%[[W]] : memref<16xf32>) outs(%[[W]] : memref<16xf32>)
// ALONE: exec.program @step
// ALONE-NOT: exec.call
// ALONE: exec.launch @move
// ALONE-NEXT: exec.call "all_gather" ins(%[[W:.*]] : memref<16xf32>) outs(%[[W]] : memref<16xf32>)
exec.region @param "state" bytes = 128
exec.region @moment.m "state" bytes = 128
exec.region @scratch "scratch" bytes = 64
exec.state @v : tensor<16xf32> "param" in @param at 0 init = "v" trainable
exec.state @w : tensor<16xf32> "param" in @param at 64 init = "w" trainable
exec.state @v.m : tensor<16xf32> "moment" in @moment.m at 0 init = 0.0 : f32 of = @v
exec.state @w.m : tensor<16xf32> "moment" in @moment.m at 64 init = 0.0 : f32 of = @w
exec.program @step scratch = 64 {
  %v = exec.buffer @param at 0 : memref<16xf32>
  %vm = exec.buffer @moment.m at 0 : memref<16xf32>
  %w = exec.buffer @param at 64 : memref<16xf32>
  %wm = exec.buffer @moment.m at 64 : memref<16xf32>
  %x = exec.buffer @scratch at 0 : memref<16xf32>
  exec.copy %v to %x : memref<16xf32>, memref<16xf32>
  exec.launch @move ins(%v, %vm : memref<16xf32>, memref<16xf32>) outs(%v, %vm : memref<16xf32>, memref<16xf32>) {shard, gather = array<i64: 0>}
  exec.launch @move ins(%w, %wm : memref<16xf32>, memref<16xf32>) outs(%w, %wm : memref<16xf32>, memref<16xf32>) {shard, gather = array<i64: 0>}
  // expected-warning @+1 {{--zero=3: the parameters of '}}
  exec.port "output" "w" %w : memref<16xf32>
}
exec.kernel @move {
^bb0(%w: tensor<16xf32>, %m: tensor<16xf32>):
  %0 = dlc.sub %w, %m : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  dlc.yield %0, %0 : tensor<16xf32>, tensor<16xf32>
}
