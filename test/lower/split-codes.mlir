// RUN: %dlc-opt %s --dlc-split-codes=bytes=4096 | FileCheck %s
// RUN: %dlc-opt %s --dlc-split-codes=bytes=8192 | FileCheck %s --check-prefix=WHOLE

// A weight that constant states of fewer bytes stand for is computed in pieces of its rows, from ranges of the states, before
// the products with them: results side by side, and a sum for the gradient of the input. A bias is added to all.
// CHECK-LABEL: func @rows
// CHECK-DAG: %[[C:.*]] = dlc.read @codes
// CHECK-DAG: %[[S:.*]] = dlc.read @scales
// CHECK: %[[C0:.*]] = dlc.slice %[[C]] {dlc.in_place, sizes = array<i64: 64, 4, 4>, starts = array<i64: 0, 0, 0>
// CHECK: %[[F0:.*]] = dlc.cast %[[C0]]
// CHECK: %[[S0:.*]] = dlc.slice %[[S]] {dlc.in_place, sizes = array<i64: 64, 4, 1>
// CHECK: dlc.mul %[[F0]], %[[S0]]
// CHECK: %[[W0:.*]] = dlc.reshape {{.*}} -> tensor<64x16xf32>
// CHECK: %[[Y0:.*]] = dlc.matmul %arg0, %[[W0]] {trans_b}
// CHECK: dlc.slice %[[C]] {dlc.in_place, sizes = array<i64: 36, 4, 4>, starts = array<i64: 64, 0, 0>
// CHECK: %[[W1:.*]] = dlc.reshape {{.*}} -> tensor<36x16xf32>
// CHECK: %[[Y1:.*]] = dlc.matmul %arg0, %[[W1]] {trans_b}
// CHECK: %[[Y:.*]] = dlc.concat %[[Y0]], %[[Y1]] {axis = 1 : i64}
// CHECK: %[[B:.*]] = dlc.add %[[Y]], %{{.*}}
// CHECK: %[[D0:.*]] = dlc.slice %[[B]] {sizes = array<i64: 3, 64>, starts = array<i64: 0, 0>
// CHECK: %[[X0:.*]] = dlc.matmul %[[D0]], %{{.*}} : (tensor<3x64xf32>, tensor<64x16xf32>)
// CHECK: %[[D1:.*]] = dlc.slice %[[B]] {sizes = array<i64: 3, 36>, starts = array<i64: 0, 64>
// CHECK: %[[X1:.*]] = dlc.matmul %[[D1]], %{{.*}} : (tensor<3x36xf32>, tensor<36x16xf32>)
// CHECK: %[[X:.*]] = dlc.add %[[X0]], %[[X1]] {dlc.overwrites}
// CHECK: return %[[X]]
// WHOLE-LABEL: func @rows
// WHOLE-NOT: dlc.slice
dlc.state @codes : tensor<100x4x4xi8> const init = "codes"
dlc.state @scales : tensor<100x4x1xf32> const init = "scales"
dlc.state @bias : tensor<100xf32> const init = "bias"
func.func @rows(%x: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %c = dlc.read @codes : tensor<100x4x4xi8>
  %s = dlc.read @scales : tensor<100x4x1xf32>
  %b = dlc.read @bias : tensor<100xf32>
  %f = dlc.cast %c : (tensor<100x4x4xi8>) -> tensor<100x4x4xf32>
  %m = dlc.mul %f, %s : (tensor<100x4x4xf32>, tensor<100x4x1xf32>) -> tensor<100x4x4xf32>
  %w = dlc.reshape %m : (tensor<100x4x4xf32>) -> tensor<100x16xf32>
  %y = dlc.matmul %x, %w, %b {trans_b} : (tensor<3x16xf32>, tensor<100x16xf32>, tensor<100xf32>) -> tensor<3x100xf32>
  %d = dlc.matmul %y, %w : (tensor<3x100xf32>, tensor<100x16xf32>) -> tensor<3x16xf32>
  return %d : tensor<3x16xf32>
}

// A trained weight, and one that constants of as many bytes stand for, stay whole.
// CHECK-LABEL: func @others
// CHECK-NOT: dlc.slice
// CHECK: return
dlc.state @trained : tensor<100x16xf32> param init = "trained" trainable
dlc.state @floats : tensor<100x16xf32> const init = "floats"
func.func @others(%x: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %t = dlc.read @trained : tensor<100x16xf32>
  %y = dlc.matmul %x, %t {trans_b} : (tensor<3x16xf32>, tensor<100x16xf32>) -> tensor<3x100xf32>
  %f = dlc.read @floats : tensor<100x16xf32>
  %e = dlc.exp %f : (tensor<100x16xf32>) -> tensor<100x16xf32>
  %d = dlc.matmul %y, %e : (tensor<3x100xf32>, tensor<100x16xf32>) -> tensor<3x16xf32>
  return %d : tensor<3x16xf32>
}
