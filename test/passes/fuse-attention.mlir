// RUN: %dlc-opt %s --dlc-fuse-attention="target=cuda amp" --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse-attention="target=cuda attention=generated" --split-input-file | FileCheck %s

// Factors on q and k, k transposed behind a reshape; no transpose is left.
// CHECK-LABEL: func @length_first(%arg0: {{.*}}, %arg1: {{.*}}, %arg2: {{.*}})
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = dlc.attention %arg0, %arg1, %arg2 {layout = "bthd", scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
module {
func.func @length_first(%q0: tensor<2x6x4x8xf32>, %k0: tensor<2x6x4x8xf32>, %v0: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
  %c = dlc.constant dense<0.5> : tensor<1xf32>
  %q = dlc.transpose %q0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf32>) -> tensor<2x4x6x8xf32>
  %k = dlc.transpose %k0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf32>) -> tensor<2x4x6x8xf32>
  %v = dlc.transpose %v0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf32>) -> tensor<2x4x6x8xf32>
  %k1 = dlc.reshape %k : (tensor<2x4x6x8xf32>) -> tensor<8x6x8xf32>
  %k2 = dlc.transpose %k1 {perm = array<i64: 0, 2, 1>} : (tensor<8x6x8xf32>) -> tensor<8x8x6xf32>
  %k3 = dlc.reshape %k2 : (tensor<8x8x6xf32>) -> tensor<2x4x8x6xf32>
  %q4 = dlc.mul %q, %c : (tensor<2x4x6x8xf32>, tensor<1xf32>) -> tensor<2x4x6x8xf32>
  %k4 = dlc.mul %k3, %c : (tensor<2x4x8x6xf32>, tensor<1xf32>) -> tensor<2x4x8x6xf32>
  %s = dlc.matmul %q4, %k4 : (tensor<2x4x6x8xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %y = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %o = dlc.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x6x8xf32>) -> tensor<2x6x4x8xf32>
  return %o : tensor<2x6x4x8xf32>
}
}

// -----

// A mask that the importer found to be a triangle.
// CHECK-LABEL: func @added_triangle
// CHECK-NEXT: dlc.attention %arg0, %arg1, %arg2 {causal, scale = 2.500000e-01 : f64}
module {
  dlc.state @mask : tensor<6x6xf32> const init = "mask" {dlc.triangle = [0.0, 0xFFF0000000000000 : f64]}
func.func @added_triangle(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %m = dlc.read @mask : tensor<6x6xf32>
  %s = dlc.add %s1, %m : (tensor<2x4x6x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// All queries share one head of keys and values, as in Falcon.
// CHECK-LABEL: func @one_head_of_keys
// CHECK: %[[K:.*]] = dlc.broadcast %arg1 : (tensor<2x1x6x8xf32>) -> tensor<2x4x6x8xf32>
// CHECK: %[[V:.*]] = dlc.broadcast %arg2 : (tensor<2x1x6x8xf32>) -> tensor<2x4x6x8xf32>
// CHECK: dlc.attention %arg0, %[[K]], %[[V]] {scale = 1.000000e+00 : f64}
func.func @one_head_of_keys(%q: tensor<2x4x6x8xf32>, %k: tensor<2x1x6x8xf32>, %v: tensor<2x1x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %s = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x1x6x8xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x1x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}

// -----

// The same for each sample.
// CHECK-LABEL: func @triangles
// CHECK-NEXT: dlc.attention %arg0, %arg1, %arg2 {causal, scale = 1.000000e+00 : f64}
module {
  dlc.state @mask : tensor<2x1x6x6xf32> const init = "mask" {dlc.triangle = [0.0, 0xFFF0000000000000 : f64]}
func.func @triangles(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %m = dlc.read @mask : tensor<2x1x6x6xf32>
  %s = dlc.add %s0, %m : (tensor<2x4x6x6xf32>, tensor<2x1x6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// masked_fill(tril == 0, -inf)
// CHECK-LABEL: func @sliced_triangle
// CHECK: dlc.attention %arg0, %arg1, %arg2 {causal, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return
module {
  dlc.state @tril : tensor<1x1x9x9xf32> const init = "tril" {dlc.triangle = [1.0, 0.0]}
func.func @sliced_triangle(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %n = dlc.constant dense<0xFF800000> : tensor<f32>
  %z = dlc.constant dense<0.0> : tensor<f32>
  %m = dlc.read @tril : tensor<1x1x9x9xf32>
  %m1 = dlc.slice %m {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 1, 1, 6, 6>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x1x9x9xf32>) -> tensor<1x1x6x6xf32>
  %m2 = dlc.compare eq %m1, %z : (tensor<1x1x6x6xf32>, tensor<f32>) -> tensor<1x1x6x6xi1>
  %s = dlc.select %m2, %n, %s1 : (tensor<1x1x6x6xi1>, tensor<f32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// Trilu, and the lowest number in place of -inf
// CHECK-LABEL: func @positions
// CHECK: dlc.attention %arg0, %arg1, %arg2 {causal, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return
module {
func.func @positions(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %n = dlc.constant dense<-3.0e38> : tensor<f32>
  %z = dlc.constant dense<0> : tensor<i64>
  %i = dlc.iota {axis = 0 : i64} : () -> tensor<6x6xi64>
  %j = dlc.iota {axis = 1 : i64} : () -> tensor<6x6xi64>
  %d = dlc.sub %j, %i : (tensor<6x6xi64>, tensor<6x6xi64>) -> tensor<6x6xi64>
  %m = dlc.compare le %d, %z : (tensor<6x6xi64>, tensor<i64>) -> tensor<6x6xi1>
  %s = dlc.select %m, %s1, %n : (tensor<6x6xi1>, tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// BERT's mask of keys, and the softmax that is safe from rows without any
// CHECK-LABEL: func @padding
// CHECK: %[[M:.*]] = dlc.mul
// CHECK-NEXT: dlc.attention %arg0, %arg1, %arg2, %[[M]] {scale = 2.500000e-01 : f64} : ({{.*}}, tensor<2x1x1x6xf32>)
// CHECK-NEXT: return
module {
func.func @padding(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %m: tensor<2x6xi64>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %n = dlc.constant dense<-3.0e38> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %z = dlc.constant dense<0.0> : tensor<f32>
  %m1 = dlc.reshape %m : (tensor<2x6xi64>) -> tensor<2x1x1x6xi64>
  %m2 = dlc.cast %m1 : (tensor<2x1x1x6xi64>) -> tensor<2x1x1x6xf32>
  %m3 = dlc.sub %one, %m2 : (tensor<f32>, tensor<2x1x1x6xf32>) -> tensor<2x1x1x6xf32>
  %m4 = dlc.mul %m3, %n : (tensor<2x1x1x6xf32>, tensor<f32>) -> tensor<2x1x1x6xf32>
  %s = dlc.add %m4, %s1 : (tensor<2x1x1x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %p0 = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %nan = dlc.compare ne %p0, %p0 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xi1>
  %p = dlc.select %nan, %z, %p0 : (tensor<2x4x6x6xi1>, tensor<f32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// Causality and a condition on keys
// CHECK-LABEL: func @two_masks
// CHECK: %[[M:.*]] = dlc.select %arg3, %{{.*}}, %{{.*}} : (tensor<2x1x1x6xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x6xf32>
// CHECK-NEXT: dlc.attention %arg0, %arg1, %arg2, %[[M]] {causal, scale = 2.500000e-01 : f64}
module {
  dlc.state @mask : tensor<6x6xf32> const init = "mask" {dlc.triangle = [0.0, 0xFFF0000000000000 : f64]}
func.func @two_masks(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %m: tensor<2x1x1x6xi1>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %n = dlc.constant dense<0xFF800000> : tensor<f32>
  %t = dlc.read @mask : tensor<6x6xf32>
  %s2 = dlc.select %m, %s1, %n : (tensor<2x1x1x6xi1>, tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %s = dlc.add %s2, %t : (tensor<2x4x6x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// A finite number does not hide what another mask makes as small.
// CHECK-LABEL: func @finite_and_another
// CHECK: %[[M:.*]] = dlc.add %arg3, %{{.*}} : (tensor<2x1x1x6xf32>, tensor<6x6xf32>) -> tensor<2x1x6x6xf32>
// CHECK-NEXT: dlc.attention %arg0, %arg1, %arg2, %[[M]] {scale = 2.500000e-01 : f64}
module {
  dlc.state @mask : tensor<6x6xf32> const init = "mask" {dlc.triangle = [0.0, -3.0e38]}
func.func @finite_and_another(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %m: tensor<2x1x1x6xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %t = dlc.read @mask : tensor<6x6xf32>
  %s2 = dlc.add %s1, %t : (tensor<2x4x6x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6x6xf32>
  %s = dlc.add %s2, %m : (tensor<2x4x6x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// Batch and heads in one dimension
// CHECK-LABEL: func @joined_heads
// CHECK: %[[Y:.*]], %{{.*}} = dlc.attention {{.*}} {scale = 1.000000e+00 : f64} : (tensor<8x1x6x8xf32>, tensor<8x1x6x8xf32>, tensor<8x1x6x8xf32>, tensor<8x1x6x6xf32>)
// CHECK-NEXT: dlc.reshape %[[Y]] : (tensor<8x1x6x8xf32>) -> tensor<8x6x8xf32>
module {
func.func @joined_heads(%q: tensor<8x6x8xf32>, %k: tensor<8x6x8xf32>, %v: tensor<8x6x8xf32>, %m: tensor<8x6x6xf32>) -> tensor<8x6x8xf32> {
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<8x6x8xf32>, tensor<8x6x8xf32>) -> tensor<8x6x6xf32>
  %s = dlc.add %s0, %m : (tensor<8x6x6xf32>, tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
  %p = dlc.softmax %s {axis = 2 : i64} : (tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<8x6x6xf32>, tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  return %o : tensor<8x6x8xf32>
}
}

// -----

// What only looks like it stays.

// The weights are read elsewhere, too.
// CHECK-LABEL: func @scores_read
// CHECK-NOT: dlc.attention
module {
func.func @scores_read(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s1 {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %y = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %r = dlc.reduce_sum %p {axes = array<i64: 3>, keepdims} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x1xf32>
  %o = dlc.add %y, %r : (tensor<2x4x6x8xf32>, tensor<2x4x6x1xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// A softmax over the queries
// CHECK-LABEL: func @other_axis
// CHECK-NOT: dlc.attention
module {
func.func @other_axis(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s1 {axis = 2 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// The mask is trained: it would need a gradient.
// CHECK-LABEL: func @trained_bias
// CHECK-NOT: dlc.attention
module {
  dlc.state @bias : tensor<4x6x6xf32> param init = "bias" trainable
func.func @trained_bias(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %m = dlc.read @bias : tensor<4x6x6xf32>
  %s = dlc.add %s1, %m : (tensor<2x4x6x6xf32>, tensor<4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// The factor is on the mask as well.
// CHECK-LABEL: func @scaled_mask
// CHECK-NOT: dlc.attention
module {
func.func @scaled_mask(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>, %m: tensor<6x6xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<0.25> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.add %s0, %m : (tensor<2x4x6x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6x6xf32>
  %s = dlc.mul %s1, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// Weights with dropout
// CHECK-LABEL: func @dropped
// CHECK-NOT: dlc.attention
module {
func.func @dropped(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p0 = dlc.softmax %s1 {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.dropout %p0 {ratio = 0.1, shared = array<i64>, id = "d"} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}

// -----

// One v for all heads
// CHECK-LABEL: func @weights_shared
// CHECK-NOT: dlc.attention
module {
func.func @weights_shared(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<6x8xf32>) -> tensor<2x4x6x8xf32> {
  %c = dlc.constant dense<4.0> : tensor<f32>
  %s0 = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %s1 = dlc.div %s0, %c : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s1 {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<6x8xf32>) -> tensor<2x4x6x8xf32>
  return %o : tensor<2x4x6x8xf32>
}
}
