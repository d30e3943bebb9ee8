// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s

// Every index is compared with all others, in parts, and updates are added at the first position of their index.
// CHECK-LABEL: func @pairs
// CHECK: [[INDEX:%.*]] = dlc.cast {{.*}} : (tensor<34xi64>) -> tensor<34xi32>
// CHECK: [[OWN:%.*]] = dlc.broadcast {{.*}} : (tensor<1x1x34xi32>) -> tensor<17x2x34xi32>
// CHECK: [[OTHER:%.*]] = dlc.broadcast {{.*}} : (tensor<17x2x1xi32>) -> tensor<17x2x34xi32>
// CHECK: [[SAME:%.*]] = dlc.compare eq [[OTHER]], [[OWN]]
// CHECK: [[PLACE:%.*]] = dlc.select [[SAME]], {{.*}}, {{%.*}} : (tensor<17x2x34xi1>
// CHECK: [[PART:%.*]] = dlc.reduce_min [[PLACE]] {axes = array<i64: 1>}
// CHECK: [[ALL:%.*]] = dlc.reduce_min [[PART]] {axes = array<i64: 0>}
// CHECK: [[FIRST:%.*]] = dlc.select {{.*}}, [[ALL]], {{%.*}}
// CHECK: [[IS:%.*]] = dlc.compare eq [[FIRST]], {{.*}} : (tensor<34xi32>, tensor<34xi32>)
// CHECK: [[ROWS:%.*]] = dlc.select [[IS]], [[INDEX]], {{%.*}} : (tensor<34xi1>
// CHECK: dlc.reduce_sum {{.*}} {axes = array<i64: 1>} : (tensor<1x34x34x3xf32>) -> tensor<1x34x3xf32>
func.func @pairs(%i: tensor<34xi64>, %u: tensor<34x3xf32>) -> (tensor<34xi64>, tensor<34x3xf32>) {
  %rows, %sums = dlc.unique_rows %i, %u by = decomposed {size = 9 : i64} : (tensor<34xi64>, tensor<34x3xf32>) -> (tensor<34xi64>, tensor<34x3xf32>)
  return %rows, %sums : tensor<34xi64>, tensor<34x3xf32>
}

// CHECK-LABEL: func @sorted
// CHECK: dlc.unique_rows
func.func @sorted(%i: tensor<34xi64>, %u: tensor<34x3xf32>) -> (tensor<34xi64>, tensor<34x3xf32>) {
  %rows, %sums = dlc.unique_rows %i, %u by = library {size = 9 : i64} : (tensor<34xi64>, tensor<34x3xf32>) -> (tensor<34xi64>, tensor<34x3xf32>)
  return %rows, %sums : tensor<34xi64>, tensor<34x3xf32>
}
