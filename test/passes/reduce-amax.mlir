// RUN: %dlc-opt %s --dlc-reduce-amax=ddp=2 | FileCheck %s
// RUN: %dlc-opt %s --dlc-reduce-amax | FileCheck %s --check-prefix=ALONE

// Each rank's magnitudes are a row of a sum, in the bucket after the gradients'; more ranks than two share rows.
// CHECK: dlc.state @rng.rank
// CHECK-LABEL: @train_step
// CHECK: dlc.all_reduce {{.*}} {bucket = 4 : i64}
// CHECK: [[RANK:%.*]] = dlc.read @rng.rank
// CHECK: [[N:%.*]] = dlc.div [[RANK]]
// CHECK: [[ROW:%.*]] = dlc.sub [[RANK]]
// CHECK: [[ROWS:%.*]] = dlc.iota {axis = 0 : i64} : () -> tensor<2x3xi64>
// CHECK: [[MINE:%.*]] = dlc.compare eq [[ROWS]], [[ROW]]
// CHECK: [[OWN:%.*]] = dlc.select [[MINE]]
// CHECK: [[ALL:%.*]] = dlc.all_reduce [[OWN]] op = sum {bucket = 5 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: [[MAX:%.*]] = dlc.reduce_max [[ALL]] {axes = array<i64: 0>}
// CHECK: [[COLUMN:%.*]] = dlc.reshape [[MAX]] : {{.*}} -> tensor<3x1xf32>
// CHECK: [[Y:%.*]] = dlc.concat [[COLUMN]], %{{.*}} {axis = 1 : i64}
// CHECK: dlc.write @scaler.amax, [[Y]]
// CHECK-LABEL: @accumulate_step
// CHECK-NOT: dlc.write
// ALONE-LABEL: @train_step
// ALONE: dlc.concat %arg0, %arg1 {axis = 1 : i64}
// ALONE: dlc.write @scaler.amax
// ALONE-LABEL: @accumulate_step
// ALONE-NOT: dlc.write
dlc.state @scaler.amax : tensor<3x4xf32> scaler init = 0.0 : f32
func.func @train_step(%a: tensor<3x1xf32>, %h: tensor<3x3xf32>, %g: tensor<2xf32>) -> tensor<2xf32> {
  %r = dlc.all_reduce %g {bucket = 4 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %y = dlc.concat %a, %h {axis = 1 : i64} : (tensor<3x1xf32>, tensor<3x3xf32>) -> tensor<3x4xf32>
  dlc.write @scaler.amax, %y : tensor<3x4xf32>
  return %r : tensor<2xf32>
}
func.func @accumulate_step(%a: tensor<3x1xf32>, %h: tensor<3x3xf32>) {
  %y = dlc.concat %a, %h {axis = 1 : i64} : (tensor<3x1xf32>, tensor<3x3xf32>) -> tensor<3x4xf32>
  dlc.write @scaler.amax, %y : tensor<3x4xf32>
  return
}
