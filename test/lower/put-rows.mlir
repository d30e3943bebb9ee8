// RUN: %dlc-opt %s --dlc-decompose --dlc-generate-ops --dlc-plan-memory | FileCheck %s

// A kernel stores the rows: in the state if that is written, else in a copy of it.
// CHECK-LABEL: exec.program @train_step
// CHECK: [[W:%.*]] = exec.buffer @param at 0 : memref<9x3xf32>
// CHECK-NOT: exec.copy
// CHECK: exec.launch [[KERNEL:@.*]] ins([[W]], {{.*}} outs([[W]] : memref<9x3xf32>)
// CHECK-LABEL: exec.program @predict
// CHECK: [[Y:%.*]] = exec.buffer @scratch at {{.*}} : memref<9x3xf32>
// CHECK: [[W:%.*]] = exec.buffer @param at 0 : memref<9x3xf32>
// CHECK: exec.copy [[W]] to [[Y]]
// CHECK-NEXT: exec.launch [[KERNEL]] ins([[W]], {{.*}} outs([[Y]] : memref<9x3xf32>)
// CHECK: exec.kernel [[KERNEL]] {
// CHECK-NEXT: ^bb0(%arg0: tensor<9x3xf32>, %arg1: tensor<4xi64>, %arg2: tensor<4x3xf32>):
// CHECK-NEXT: dlc.put_rows %arg0, %arg1, %arg2 by = generated
dlc.state @w : tensor<9x3xf32> param init = "w" trainable
func.func @train_step(%i: tensor<4xi64>, %v: tensor<4x3xf32>) {
  %w = dlc.read @w : tensor<9x3xf32>
  %y = dlc.put_rows %w, %i, %v by = generated : (tensor<9x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<9x3xf32>
  dlc.write @w, %y : tensor<9x3xf32>
  return
}
func.func @predict(%i: tensor<4xi64>, %v: tensor<4x3xf32>) -> tensor<9x3xf32> {
  %w = dlc.read @w : tensor<9x3xf32>
  %y = dlc.put_rows %w, %i, %v by = generated : (tensor<9x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<9x3xf32>
  return %y : tensor<9x3xf32>
}
