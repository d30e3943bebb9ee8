// RUN: %dlc-opt %s --split-input-file --dlc-randomize=seed=5 | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-canonicalize | FileCheck %s --check-prefix=DEPTH

// Every dropout has a draw of its own, from the state that the step moves on; elsewhere it is the identity.
// CHECK: dlc.state @rng.draw : tensor<i64> step init = 0
// CHECK: dlc.state @rng.rank : tensor<i64> step init = 0
// CHECK: func.func @predict(%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: return %[[X]]
// CHECK: func.func @train_step
// CHECK: %[[D0:.*]] = dlc.read @rng.draw
// CHECK: %[[ONE:.*]] = dlc.constant dense<1>
// CHECK: %[[D1:.*]] = dlc.add %[[D0]], %[[ONE]]
// CHECK: %[[D2:.*]] = dlc.add %[[D1]], %[[ONE]]
// CHECK: %[[RANK:.*]] = dlc.read @rng.rank
// CHECK: %[[FACTOR:.*]] = dlc.constant dense<4294967296>
// CHECK: %[[SEED:.*]] = dlc.constant dense<5>
// CHECK: %[[SHIFTED:.*]] = dlc.mul %[[RANK]], %[[FACTOR]]
// CHECK: %[[KEY:.*]] = dlc.add %[[SHIFTED]], %[[SEED]]
// CHECK: %[[P:.*]] = dlc.position {{.*}} tensor<4x8xi64>
// CHECK: %[[U:.*]], %{{.*}} = dlc.uniform %[[P]], %[[D0]], %[[KEY]]
// CHECK: %[[RATIO:.*]] = dlc.constant dense<2.500000e-01>
// CHECK: %[[KEPT:.*]] = dlc.compare ge %[[U]], %[[RATIO]]
// CHECK: %[[SCALE:.*]] = dlc.constant dense<1.33333
// CHECK: %[[SCALED:.*]] = dlc.mul %{{.*}}, %[[SCALE]]
// CHECK: dlc.select %[[KEPT]], %[[SCALED]],
// One number for all columns of a row.
// CHECK: dlc.position {{.*}} tensor<4x1xi64>
// CHECK: dlc.uniform %{{.*}}, %[[D1]], %[[KEY]] : {{.*}} -> (tensor<4x1xf32>, tensor<4x1xf32>)
// CHECK: dlc.write @rng.draw, %[[D2]]
func.func @predict(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dlc.dropout %x {ratio = 0.25 : f64, shared = array<i64>, id = "a"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @train_step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dlc.dropout %x {ratio = 0.25 : f64, shared = array<i64>, id = "a"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dlc.dropout %0 {ratio = 0.5 : f64, shared = array<i64: 1>, id = "b"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----
// Noise is drawn in every function, but only the training step moves on; nothing random adds no state.
// CHECK: func.func @train_step
// CHECK: dlc.write @rng.draw
// CHECK: func.func @eval_step
// CHECK: dlc.uniform
// CHECK: dlc.cos
// CHECK-NOT: dlc.write
func.func @train_step() -> tensor<3xf32> {
  %0 = dlc.noise {id = "n"} : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @eval_step() -> tensor<3xf32> {
  %0 = dlc.noise {normal, id = "n"} : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// CHECK: // --{{-}}--
// CHECK-NOT: rng
// CHECK: func.func @train_step(%arg0
// CHECK-NEXT: return %arg0
func.func @train_step(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = dlc.dropout %x {ratio = 0.0 : f64, shared = array<i64>, id = "a"} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----
// Stochastic depth, written out, is a dropout of whole samples; a mask that is used twice or another scale is not.
// DEPTH: func.func @depth
// DEPTH: dlc.dropout %arg0 {id = "n", ratio = 2.500000e-01 : f64, shared = array<i64: 1>}
// DEPTH-NEXT: return
// DEPTH: func.func @train_step
// DEPTH-NOT: dlc.dropout
// DEPTH: return
func.func @depth(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %n = dlc.noise {id = "n"} : () -> tensor<4x1xf32>
  %p = dlc.constant dense<0.75> : tensor<f32>
  %c = dlc.compare lt %n, %p : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xi1>
  %m = dlc.cast %c : (tensor<4x1xi1>) -> tensor<4x1xf32>
  %s = dlc.div %m, %p : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %y = dlc.mul %x, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @train_step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %n = dlc.noise {id = "n"} : () -> tensor<4x1xf32>
  %p = dlc.constant dense<0.75> : tensor<f32>
  %q = dlc.constant dense<0.5> : tensor<f32>
  %c = dlc.compare lt %n, %p : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xi1>
  %m = dlc.cast %c : (tensor<4x1xi1>) -> tensor<4x1xf32>
  %s = dlc.div %m, %q : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %y = dlc.mul %x, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
