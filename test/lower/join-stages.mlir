// RUN: %dlc-opt %s --dlc-join-stages --dlc-merge-launches --split-input-file | FileCheck %s

// The last blocks put the parts together and update the running sum, which is another input, in place. Equal pairs
// have one kernel.
// CHECK: exec.program @step
// CHECK-DAG: %[[X:[0-9a-z]+]] = exec.buffer @scratch at 0 : memref<16x40x64xf32>
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @scratch at 163840 : memref<16x1x64xf32>
// CHECK-DAG: %[[R:[0-9a-z]+]] = exec.buffer @param at 0 : memref<64xf32>
// CHECK: exec.launch @sums_last ins(%[[X]], %[[R]] : memref<16x40x64xf32>, memref<64xf32>) outs(%[[A]], %[[R]] : memref<16x1x64xf32>, memref<64xf32>)
// CHECK-NEXT: exec.launch @sums_last ins
// CHECK-NOT: exec.launch
// CHECK: exec.kernel @sums_last {
// CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<16x40x64xf32>, %[[OLD:.*]]: tensor<64xf32>):
// CHECK-NEXT: %[[PARTS:.*]] = dlc.reduce_sum %[[IN]]
// CHECK-NEXT: exec.last
// CHECK-NEXT: %[[SUM:.*]] = dlc.reduce_sum %[[PARTS]]
// CHECK-NEXT: %[[NEW:.*]] = dlc.add %[[OLD]], %[[SUM]]
// CHECK-NEXT: dlc.yield %[[PARTS]], %[[NEW]] : tensor<16x1x64xf32>, tensor<64xf32>
// CHECK-NOT: exec.kernel
exec.region @param "state" bytes = 256
exec.region @scratch "scratch" bytes = 167936
exec.program @step scratch = 167936 {
  %x = exec.buffer @scratch at 0 : memref<16x40x64xf32>
  %a = exec.buffer @scratch at 163840 : memref<16x1x64xf32>
  %r = exec.buffer @param at 0 : memref<64xf32>
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.launch @all ins(%r, %a : memref<64xf32>, memref<16x1x64xf32>) outs(%r : memref<64xf32>)
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.launch @all ins(%r, %a : memref<64xf32>, memref<16x1x64xf32>) outs(%r : memref<64xf32>)
}
exec.kernel @sums {
^bb0(%x: tensor<16x40x64xf32>):
  %0 = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<16x40x64xf32>) -> tensor<16x1x64xf32>
  dlc.yield %0 : tensor<16x1x64xf32>
}
exec.kernel @all {
^bb0(%r: tensor<64xf32>, %a: tensor<16x1x64xf32>):
  %0 = dlc.reduce_sum %a {axes = array<i64: 0, 1>} : (tensor<16x1x64xf32>) -> tensor<64xf32>
  %1 = dlc.add %r, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %1 : tensor<64xf32>
}

// -----
// Apart stay: a second launch that writes where other blocks of the first still read, one that sums rows of the parts,
// one behind another command, and one that reads nothing of the first.
// CHECK: exec.program @apart
// CHECK: exec.launch @sums ins
// CHECK-NEXT: exec.launch @all ins
// CHECK-NEXT: exec.launch @sums ins
// CHECK-NEXT: exec.launch @rows ins
// CHECK-NEXT: exec.launch @sums ins
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.launch @all ins
// CHECK-NEXT: exec.launch @sums ins
// CHECK-NEXT: exec.launch @all ins
// CHECK-NOT: exec.last
exec.region @scratch "scratch" bytes = 181248
exec.program @apart scratch = 181248 {
  %x = exec.buffer @scratch at 0 : memref<16x40x64xf32>
  %front = exec.buffer @scratch at 0 : memref<64xf32>
  %a = exec.buffer @scratch at 163840 : memref<16x1x64xf32>
  %y = exec.buffer @scratch at 167936 : memref<64xf32>
  %z = exec.buffer @scratch at 168192 : memref<16xf32>
  %b = exec.buffer @scratch at 168448 : memref<16x1x64xf32>
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.launch @all ins(%a : memref<16x1x64xf32>) outs(%front : memref<64xf32>)
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.launch @rows ins(%a : memref<16x1x64xf32>) outs(%z : memref<16xf32>)
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.copy %a to %b : memref<16x1x64xf32>, memref<16x1x64xf32>
  exec.launch @all ins(%a : memref<16x1x64xf32>) outs(%y : memref<64xf32>)
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.launch @all ins(%b : memref<16x1x64xf32>) outs(%y : memref<64xf32>)
}
exec.kernel @sums {
^bb0(%x: tensor<16x40x64xf32>):
  %0 = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<16x40x64xf32>) -> tensor<16x1x64xf32>
  dlc.yield %0 : tensor<16x1x64xf32>
}
exec.kernel @all {
^bb0(%a: tensor<16x1x64xf32>):
  %0 = dlc.reduce_sum %a {axes = array<i64: 0, 1>} : (tensor<16x1x64xf32>) -> tensor<64xf32>
  dlc.yield %0 : tensor<64xf32>
}
exec.kernel @rows {
^bb0(%a: tensor<16x1x64xf32>):
  %0 = dlc.reduce_sum %a {axes = array<i64: 1, 2>} : (tensor<16x1x64xf32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}

// -----
// The first launch may run behind a copy to the host of other memory, and the wait for it; not behind one that reads its result.
// CHECK: exec.program @beside
// CHECK: exec.offload
// CHECK-NEXT: exec.wait_copy
// CHECK-NEXT: exec.launch @sums_last ins
// CHECK-NEXT: exec.launch @sums ins
// CHECK-NEXT: exec.offload
// CHECK-NEXT: exec.launch @all ins
// CHECK-NEXT: exec.wait_copy
exec.region @param "state" bytes = 256
exec.region @scratch "scratch" bytes = 172032
exec.region @host "host" bytes = 4096
exec.program @beside scratch = 172032 {
  %x = exec.buffer @scratch at 0 : memref<16x40x64xf32>
  %a = exec.buffer @scratch at 163840 : memref<16x1x64xf32>
  %o = exec.buffer @scratch at 167936 : memref<16x1x64xf32>
  %h = exec.buffer @host at 0 : memref<16x1x64xf32>
  %r = exec.buffer @param at 0 : memref<64xf32>
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.offload %o to %h copy = 0 : memref<16x1x64xf32>, memref<16x1x64xf32>
  exec.wait_copy %o copy = 0 : memref<16x1x64xf32>
  exec.launch @all ins(%r, %a : memref<64xf32>, memref<16x1x64xf32>) outs(%r : memref<64xf32>)
  exec.launch @sums ins(%x : memref<16x40x64xf32>) outs(%a : memref<16x1x64xf32>)
  exec.offload %a to %h copy = 1 : memref<16x1x64xf32>, memref<16x1x64xf32>
  exec.launch @all ins(%r, %a : memref<64xf32>, memref<16x1x64xf32>) outs(%r : memref<64xf32>)
  exec.wait_copy %a copy = 1 : memref<16x1x64xf32>
}
exec.kernel @sums {
^bb0(%x: tensor<16x40x64xf32>):
  %0 = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<16x40x64xf32>) -> tensor<16x1x64xf32>
  dlc.yield %0 : tensor<16x1x64xf32>
}
exec.kernel @all {
^bb0(%r: tensor<64xf32>, %a: tensor<16x1x64xf32>):
  %0 = dlc.reduce_sum %a {axes = array<i64: 0, 1>} : (tensor<16x1x64xf32>) -> tensor<64xf32>
  %1 = dlc.add %r, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %1 : tensor<64xf32>
}
