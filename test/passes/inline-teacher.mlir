// The teacher stands in the step, as it computes in inference, and nowhere else.
// RUN: %dlc-opt %s --dlc-train-mode --dlc-randomize --dlc-inline-teacher | FileCheck %s
// RUN: not %dlc-opt %s --dlc-inline-teacher --dlc-inline-teacher 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: dlc.state @mean
// CHECK-NOT: @teacher(
// CHECK: func.func @train_step([[X:%.*]]: tensor<4x3xf32>)
// CHECK-NOT: dlc.uniform
// CHECK: [[M:%.*]] = dlc.read @mean
// CHECK: [[Y:%.*]] = dlc.batch_norm_infer [[X]], {{%.*}}, {{%.*}}, [[M]],
// CHECK: [[SUM:%.*]] = dlc.add [[X]], [[Y]]
// CHECK: return [[SUM]]
// CHECK-NOT: @teacher(

// NONE: expected a function @teacher
dlc.state @scale : tensor<3xf32> const init = "scale"
dlc.state @mean : tensor<3xf32> const init = "mean"
func.func @teacher(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %s = dlc.read @scale : tensor<3xf32>
  %m = dlc.read @mean : tensor<3xf32>
  %n = dlc.batch_norm_infer %x, %s, %m, %m, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %d = dlc.dropout %n {id = "d", ratio = 0.5 : f64, shared = array<i64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %d : tensor<4x3xf32>
}
func.func @train_step(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %t = func.call @teacher(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = dlc.add %x, %t : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
