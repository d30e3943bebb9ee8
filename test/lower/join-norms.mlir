// RUN: %dlc-opt %s --dlc-place '--dlc-decompose=parts' --dlc-join-norms | FileCheck %s
// RUN: %dlc-opt %s --dlc-place '--dlc-decompose=parts' --dlc-join-norms --dlc-plan-memory --dlc-merge-launches | FileCheck %s --check-prefix=LAUNCHES

// A norm of whole gradients adds up rows of each, then the rows of all. On adjacent gradients that is one launch, whose
// rows are as many as those of all were.
// CHECK-LABEL: func @train_step
// CHECK: %[[A:.*]] = dlc.all_reduce %arg0
// CHECK: %[[B:.*]] = dlc.all_reduce %arg1
// CHECK: %[[RA:.*]] = dlc.fused(%[[A]]) : (tensor<4096xf32>) -> tensor<8xf64>
// CHECK: %[[RB:.*]] = dlc.fused(%[[B]]) : (tensor<100xf32>) -> tensor<4xf64>
// CHECK: %[[ROWS:.*]] = dlc.concat %[[RA]], %[[RB]] {{.*}}dlc.in_place{{.*}} -> tensor<12xf64>
// CHECK: %[[NORM:.*]] = dlc.fused(%[[ROWS]]) : (tensor<12xf64>) -> tensor<f32>
// CHECK: return %[[NORM]]
// LAUNCHES: exec.program @train_step
// LAUNCHES-DAG: %[[G:.*]] = exec.buffer @gradient at {{.*}} : memref<4196xf32>
// LAUNCHES-DAG: %[[ROWS:.*]] = exec.buffer @scratch at {{.*}} : memref<12xf64>
// LAUNCHES: exec.wait
// LAUNCHES-NEXT: exec.launch @[[SUMS:.*flat0]] ins(%[[G]] : memref<4196xf32>) outs(%[[ROWS]] : memref<12xf64>)
// LAUNCHES-NEXT: exec.launch @{{.*}} : memref<12xf64>) outs({{.*}} : memref<f32>)
// LAUNCHES-NOT: exec.launch
// LAUNCHES: exec.kernel @[[SUMS]]
// LAUNCHES: dlc.pad {{.*}}high = array<i64: 412>{{.*}} -> tensor<4608xf32>
// LAUNCHES: dlc.reshape {{.*}} -> tensor<12x384xf32>
// LAUNCHES: dlc.cast {{.*}} -> tensor<12x384xf64>
// LAUNCHES: dlc.reduce_sum {{.*}} -> tensor<12xf64>
dlc.state @a : tensor<4096xf32> param init = "a" trainable
dlc.state @b : tensor<100xf32> param init = "b" trainable
func.func @train_step(%x: tensor<4096xf32>, %y: tensor<100xf32>) -> tensor<f32> {
  %g = dlc.all_reduce %x {bucket = 0 : i64, of = @a} : (tensor<4096xf32>) -> tensor<4096xf32>
  %h = dlc.all_reduce %y {bucket = 0 : i64, of = @b} : (tensor<100xf32>) -> tensor<100xf32>
  %norm = dlc.global_norm %g, %h : (tensor<4096xf32>, tensor<100xf32>) -> tensor<f32>
  dlc.write @a, %g : tensor<4096xf32>
  dlc.write @b, %h : tensor<100xf32>
  return %norm : tensor<f32>
}
