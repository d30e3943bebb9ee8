// RUN: %dlc-opt %s --dlc-join-small | FileCheck %s

// The first three launches are one. The next one reads what the third writes, the one behind it is of another command's
// result, and sums are no small part.
// CHECK: exec.program @step
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @scratch at 0 : memref<4x8xf32>
// CHECK-DAG: %[[B:[0-9a-z]+]] = exec.buffer @scratch at 128 : memref<8x4xf32>
// CHECK-DAG: %[[C:[0-9a-z]+]] = exec.buffer @scratch at 256 : memref<8x4xf32>
// CHECK-DAG: %[[D:[0-9a-z]+]] = exec.buffer @scratch at 384 : memref<3xf32>
// CHECK: exec.launch @copy_beside ins(%[[A]], %[[A]], %[[D]] : memref<4x8xf32>, memref<4x8xf32>, memref<3xf32>) outs(%[[B]], %[[C]], %[[D]] : memref<8x4xf32>, memref<8x4xf32>, memref<3xf32>)
// CHECK-NEXT: exec.launch @negate ins(%[[D]]
// CHECK-NEXT: exec.launch @sum
// CHECK-NEXT: exec.launch @copy ins
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.launch @negate
// CHECK: exec.kernel @copy_beside {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>, %[[Z:.*]]: tensor<3xf32>):
// CHECK-NEXT: %[[ONE:.*]] = dlc.transpose %[[X]]
// CHECK-NEXT: exec.beside
// CHECK-NEXT: %[[TWO:.*]] = dlc.transpose %[[Y]]
// CHECK-NEXT: exec.beside
// CHECK-NEXT: %[[THREE:.*]] = dlc.neg %[[Z]]
// CHECK-NEXT: dlc.yield %[[ONE]], %[[TWO]], %[[THREE]]
exec.region @scratch "scratch" bytes = 512
exec.program @step scratch = 512 {
  %a = exec.buffer @scratch at 0 : memref<4x8xf32>
  %b = exec.buffer @scratch at 128 : memref<8x4xf32>
  %c = exec.buffer @scratch at 256 : memref<8x4xf32>
  %d = exec.buffer @scratch at 384 : memref<3xf32>
  %s = exec.buffer @scratch at 448 : memref<8xf32>
  exec.launch @copy ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>)
  exec.launch @copy ins(%a : memref<4x8xf32>) outs(%c : memref<8x4xf32>)
  exec.launch @negate ins(%d : memref<3xf32>) outs(%d : memref<3xf32>)
  exec.launch @negate ins(%d : memref<3xf32>) outs(%d : memref<3xf32>)
  exec.launch @sum ins(%a : memref<4x8xf32>) outs(%s : memref<8xf32>)
  exec.launch @copy ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>)
  exec.copy %b to %c : memref<8x4xf32>, memref<8x4xf32>
  exec.launch @negate ins(%d : memref<3xf32>) outs(%d : memref<3xf32>)
}
exec.kernel @copy {
^bb0(%x: tensor<4x8xf32>):
  %0 = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  dlc.yield %0 : tensor<8x4xf32>
}
exec.kernel @negate {
^bb0(%x: tensor<3xf32>):
  %0 = dlc.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  dlc.yield %0 : tensor<3xf32>
}
exec.kernel @sum {
^bb0(%x: tensor<4x8xf32>):
  %0 = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  dlc.yield %0 : tensor<8xf32>
}

// A copy to the host of other memory may start before them.
// CHECK: exec.program @beside
// CHECK: exec.offload
// CHECK-NEXT: exec.launch @copy_beside{{.*}} ins
// CHECK-NEXT: exec.wait_copy
// CHECK-NOT: exec.launch
exec.region @host "host" bytes = 64
exec.program @beside scratch = 512 {
  %a = exec.buffer @scratch at 0 : memref<4x8xf32>
  %b = exec.buffer @scratch at 128 : memref<8x4xf32>
  %c = exec.buffer @scratch at 256 : memref<8x4xf32>
  %d = exec.buffer @scratch at 384 : memref<3xf32>
  %h = exec.buffer @host at 0 : memref<3xf32>
  exec.launch @copy ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>)
  exec.offload %d to %h copy = 0 : memref<3xf32>, memref<3xf32>
  exec.launch @copy ins(%a : memref<4x8xf32>) outs(%c : memref<8x4xf32>)
  exec.wait_copy %d copy = 0 : memref<3xf32>
}
