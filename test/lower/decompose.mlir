// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s

// Half floats are computed in f32 and rounded once.
// CHECK-LABEL: func @softmax
// CHECK: %[[X:.*]] = dlc.cast %arg0 {{.*}} -> tensor<2x3xf32>
// CHECK: %[[MAX:.*]] = dlc.reduce_max %[[X]] {axes = array<i64: 1>, keepdims}
// CHECK: %[[SHIFTED:.*]] = dlc.sub %[[X]], %[[MAX]]
// CHECK: %[[E:.*]] = dlc.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = dlc.reduce_sum %[[E]] {axes = array<i64: 1>, keepdims}
// CHECK: %[[Y:.*]] = dlc.div %[[E]], %[[SUM]]
// CHECK: dlc.cast %[[Y]] {{.*}} -> tensor<2x3xbf16>
func.func @softmax(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

// Inference batch norm is one multiply-add per element.
// CHECK-LABEL: func @batch_norm_infer
// CHECK: dlc.rsqrt {{.*}} -> tensor<3xf32>
// CHECK: dlc.mul %arg0, {{.*}} -> tensor<2x3x4x4xf32>
// CHECK: dlc.add {{.*}} -> tensor<2x3x4x4xf32>
// CHECK-NEXT: return
func.func @batch_norm_infer(%x: tensor<2x3x4x4xf32>, %p: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  %y = dlc.batch_norm_infer %x, %p, %p, %p, %p {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// A label is compared with the class numbers of its row; what nothing uses (lse) is gone.
// CHECK-LABEL: func @cross_entropy
// CHECK: %[[LOG:.*]] = dlc.log
// CHECK: dlc.iota {axis = 1 : i64} : () -> tensor<4x10xi32>
// CHECK: dlc.compare eq
// CHECK: %[[PICKED:.*]] = dlc.reduce_sum
// CHECK: %[[LOSS:.*]] = dlc.sub %[[LOG]], %[[PICKED]]
// CHECK-NEXT: %[[Y:.*]] = dlc.reshape %[[LOSS]] : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @cross_entropy(%x: tensor<4x10xf32>, %t: tensor<4xi64>) -> tensor<4xf32> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return %loss : tensor<4xf32>
}

// The maximum and the logarithm are subtracted one by one: their sum would lose digits of the logarithm.
// CHECK-LABEL: func @cross_entropy_backward
// CHECK: %[[MAX:.*]] = dlc.reduce_max %arg0
// CHECK: %[[LOG:.*]] = dlc.log
// CHECK: %[[SHIFTED:.*]] = dlc.sub %arg0, %[[MAX]]
// CHECK-NEXT: %[[BELOW:.*]] = dlc.sub %[[SHIFTED]], %[[LOG]]
// CHECK-NEXT: dlc.exp %[[BELOW]]
func.func @cross_entropy_backward(%x: tensor<4x10xf32>, %t: tensor<4xi64>, %dloss: tensor<4xf32>) -> tensor<4x10xf32> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %dx = dlc.softmax_cross_entropy_backward %dloss, %x, %t, %lse : (tensor<4xf32>, tensor<4x10xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x10xf32>
  return %dx : tensor<4x10xf32>
}

// The scale's and bias's gradients are column sums that exist only where they are used.
// CHECK-LABEL: func @layer_norm_backward
// CHECK-NOT: axes = array<i64: 0>
// CHECK: return
func.func @layer_norm_backward(%dy: tensor<4x8xf32>, %x: tensor<4x8xf32>, %s: tensor<8xf32>, %m: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %dx : tensor<4x8xf32>
}

// The variance is taken of the centred row: E[x^2] - E[x]^2 would cancel.
// CHECK-LABEL: func @layer_norm
// CHECK: %[[MEAN:.*]] = dlc.reduce_mean %arg0 {axes = array<i64: 1>, keepdims}
// CHECK: %[[CENTRED:.*]] = dlc.sub %arg0, %[[MEAN]]
// CHECK: %[[SQUARE:.*]] = dlc.mul %[[CENTRED]], %[[CENTRED]]
// CHECK: dlc.reduce_mean %[[SQUARE]] {axes = array<i64: 1>, keepdims}
// CHECK: dlc.constant dense<9.99999974E-6> : tensor<f32>
// CHECK: dlc.rsqrt {{.*}} -> tensor<4x1xf32>
func.func @layer_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %y, %mean, %rstd = dlc.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return %y : tensor<4x8xf32>
}

// A row whose label is ignored gets no gradient: its factor is zero, whatever its label compares with.
// CHECK-LABEL: func @ignored
// CHECK-DAG: %[[COLUMN:.*]] = dlc.reshape %arg2 : (tensor<4xi64>) -> tensor<4x1xi64>
// CHECK-DAG: %[[IGNORED:.*]] = dlc.constant dense<-100> : tensor<i64>
// CHECK: %[[SKIP:.*]] = dlc.compare eq %[[COLUMN]], %[[IGNORED]]
// CHECK: %[[ZERO:.*]] = dlc.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[FACTOR:.*]] = dlc.select %[[SKIP]], %[[ZERO]], %{{.*}} -> tensor<4x1xf32>
// CHECK: dlc.mul %{{.*}}, %[[FACTOR]] : (tensor<4x10xf32>, tensor<4x1xf32>)
// CHECK-NEXT: return
func.func @ignored(%dloss: tensor<4xf32>, %x: tensor<4x10xf32>, %t: tensor<4xi64>, %lse: tensor<4xf32>) -> tensor<4x10xf32> {
  %dx = dlc.softmax_cross_entropy_backward %dloss, %x, %t, %lse {ignore_index = -100 : i64} : (tensor<4xf32>, tensor<4x10xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x10xf32>
  return %dx : tensor<4x10xf32>
}

// Of more operands than a kernel has branches for: concats of 64, and one of these.
// CHECK-LABEL: func @concat_of_many
// CHECK: %[[A:.*]] = dlc.concat %arg0, {{.*}} -> tensor<64xf32>
// CHECK: %[[B:.*]] = dlc.concat %arg0, {{.*}} -> tensor<36xf32>
// CHECK: dlc.concat %[[A]], %[[B]] {axis = 0 : i64} : {{.*}} -> tensor<100xf32>
// CHECK-NOT: dlc.concat
// CHECK: return
func.func @concat_of_many(%x: tensor<1xf32>) -> tensor<100xf32> {
  %y = dlc.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {axis = 0} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<100xf32>
  return %y : tensor<100xf32>
}
