// RUN: %dlc-opt %s --dlc-group-matmul | FileCheck %s

// As torch exports a mixture of experts: the matrix of each token's expert is looked up, then multiplied by its vector.
// CHECK-LABEL: func @experts
// CHECK: [[X:%.*]] = dlc.reshape %arg0 : (tensor<6x4x1xf32>) -> tensor<6x4xf32>
// CHECK: [[Y:%.*]] = dlc.grouped_matmul [[X]], %arg1, %arg2 {trans_w} : (tensor<6x4xf32>, tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5xf32>
// CHECK: [[R:%.*]] = dlc.reshape [[Y]] : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
// CHECK-NEXT: return [[R]]
func.func @experts(%x: tensor<6x4x1xf32>, %w: tensor<3x5x4xf32>, %i: tensor<6xi64>) -> tensor<6x5x1xf32> {
  %g = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %y = dlc.matmul %g, %x : (tensor<6x5x4xf32>, tensor<6x4x1xf32>) -> tensor<6x5x1xf32>
  return %y : tensor<6x5x1xf32>
}

// Each transposition, on either side; a vector of a token for its two experts.
// CHECK-LABEL: func @sides
// CHECK: dlc.grouped_matmul {{.*}}, %arg1, %arg2 : (tensor<6x5xf32>, tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
// CHECK: dlc.grouped_matmul {{.*}}, %arg1, %arg2 : (tensor<6x5xf32>, tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
// CHECK: dlc.grouped_matmul {{.*}}, %arg1, %arg2 {trans_w} : (tensor<6x4xf32>, tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5xf32>
// CHECK: [[B:%.*]] = dlc.broadcast {{.*}} -> tensor<3x2x4xf32>
// CHECK: [[X:%.*]] = dlc.reshape [[B]] : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
// CHECK: dlc.grouped_matmul [[X]], %arg1, {{.*}} {trans_w} : {{.*}} -> tensor<6x5xf32>
// CHECK-NOT: dlc.gather
func.func @sides(%a: tensor<6x1x5xf32>, %w: tensor<3x5x4xf32>, %i: tensor<6xi64>, %b: tensor<6x1x4xf32>, %c: tensor<3x1x4x1xf32>, %j: tensor<3x2xi64>)
    -> (tensor<6x4x1xf32>, tensor<6x1x4xf32>, tensor<6x1x5xf32>, tensor<3x2x5x1xf32>) {
  %g = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %0 = dlc.matmul %g, %a {trans_a, trans_b} : (tensor<6x5x4xf32>, tensor<6x1x5xf32>) -> tensor<6x4x1xf32>
  %h = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %1 = dlc.matmul %a, %h : (tensor<6x1x5xf32>, tensor<6x5x4xf32>) -> tensor<6x1x4xf32>
  %k = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %2 = dlc.matmul %b, %k {trans_b} : (tensor<6x1x4xf32>, tensor<6x5x4xf32>) -> tensor<6x1x5xf32>
  %l = dlc.gather %w, %j {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<3x2xi64>) -> tensor<3x2x5x4xf32>
  %3 = dlc.matmul %l, %c : (tensor<3x2x5x4xf32>, tensor<3x1x4x1xf32>) -> tensor<3x2x5x1xf32>
  return %0, %1, %2, %3 : tensor<6x4x1xf32>, tensor<6x1x4xf32>, tensor<6x1x5xf32>, tensor<3x2x5x1xf32>
}

// Left as they are: several rows for a matrix, matrices that something else reads, rows of a table, and more rows than indices.
// CHECK-LABEL: func @left
// CHECK-NOT: grouped_matmul
func.func @left(%w: tensor<3x5x4xf32>, %i: tensor<6xi64>, %m: tensor<6x4x2xf32>, %x: tensor<6x4x1xf32>, %t: tensor<3x4xf32>, %v: tensor<4x1xf32>, %n: tensor<2x6x4x1xf32>)
    -> (tensor<6x5x2xf32>, tensor<6x5x1xf32>, tensor<6x5x4xf32>, tensor<6x1xf32>, tensor<2x6x5x1xf32>) {
  %a = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %0 = dlc.matmul %a, %m : (tensor<6x5x4xf32>, tensor<6x4x2xf32>) -> tensor<6x5x2xf32>
  %b = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %1 = dlc.matmul %b, %x : (tensor<6x5x4xf32>, tensor<6x4x1xf32>) -> tensor<6x5x1xf32>
  %c = dlc.gather %t, %i {axis = 0 : i64} : (tensor<3x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %2 = dlc.matmul %c, %v : (tensor<6x4xf32>, tensor<4x1xf32>) -> tensor<6x1xf32>
  %d = dlc.gather %w, %i {axis = 0 : i64} : (tensor<3x5x4xf32>, tensor<6xi64>) -> tensor<6x5x4xf32>
  %3 = dlc.matmul %d, %n : (tensor<6x5x4xf32>, tensor<2x6x4x1xf32>) -> tensor<2x6x5x1xf32>
  return %0, %1, %b, %2, %3 : tensor<6x5x2xf32>, tensor<6x5x1xf32>, tensor<6x5x4xf32>, tensor<6x1xf32>, tensor<2x6x5x1xf32>
}
