// RUN: %dlc-opt %s '--dlc-matmul-epilogues=matmul=library matmul-epilogues=all' | FileCheck %s
// RUN: %dlc-opt %s --dlc-matmul-epilogues | FileCheck %s --check-prefix=AUTO

// Without a gradient nothing is kept, and matmul has the activation itself. A view between them moves behind.
// CHECK-LABEL: func @forward
// CHECK: %[[Y:.*]] = dlc.matmul %arg0, %arg1, %arg2 by = library {activation = "gelu_tanh", trans_b}
// CHECK-NEXT: %[[V:.*]] = dlc.reshape %[[Y]] : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: return %[[V]]
func.func @forward(%x: tensor<8x32xf32>, %w: tensor<16x32xf32>, %b: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %h = dlc.matmul %x, %w, %b {trans_b} : (tensor<8x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %v = dlc.reshape %h : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %y = dlc.gelu %v {tanh} : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %y : tensor<2x4x16xf32>
}

// What the library lacks: gelu by erf, tanh, f64, batches of second operands, rows of 5 elements.
// CHECK-LABEL: func @others
// CHECK-NOT: activation
// CHECK: return
func.func @others(%x: tensor<8x32xf32>, %w: tensor<32x16xf32>, %d: tensor<8x32xf64>, %dw: tensor<32x16xf64>,
    %bx: tensor<2x8x32xf32>, %bw: tensor<2x32x16xf32>, %odd: tensor<32x5xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf64>, tensor<2x8x16xf32>, tensor<8x5xf32>) {
  %h0 = dlc.matmul %x, %w : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %y0 = dlc.gelu %h0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %y1 = dlc.tanh %h0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %h2 = dlc.matmul %d, %dw : (tensor<8x32xf64>, tensor<32x16xf64>) -> tensor<8x16xf64>
  %y2 = dlc.relu %h2 : (tensor<8x16xf64>) -> tensor<8x16xf64>
  %h3 = dlc.matmul %bx, %bw : (tensor<2x8x32xf32>, tensor<2x32x16xf32>) -> tensor<2x8x16xf32>
  %y3 = dlc.relu %h3 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %h4 = dlc.matmul %x, %odd : (tensor<8x32xf32>, tensor<32x5xf32>) -> tensor<8x5xf32>
  %y4 = dlc.relu %h4 : (tensor<8x5xf32>) -> tensor<8x5xf32>
  return %y0, %y1, %y2, %y3, %y4 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf64>, tensor<2x8x16xf32>, tensor<8x5xf32>
}

// Others read relu's operand, which the library does not keep; those of gelu get it from the product. A large product in
// halves is the library's.
// CHECK-LABEL: func @shared
// CHECK: %[[H:.*]] = dlc.matmul %arg0
// CHECK: dlc.relu %[[H]]
// CHECK: %[[Y:.*]], %[[X:.*]] = dlc.matmul_activation %arg2
// CHECK: return %{{.*}}, %[[H]], %[[Y]], %[[X]]
// AUTO-LABEL: func @shared
// AUTO: dlc.matmul_activation %arg2
func.func @shared(%x: tensor<8x32xf32>, %w: tensor<32x16xf32>, %l: tensor<4096x4096xbf16>, %lw: tensor<4096x4096xbf16>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %h = dlc.matmul %x, %w : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %y = dlc.relu %h : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %m = dlc.matmul %l, %lw : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %g = dlc.gelu %m {tanh} : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %y, %h, %g, %m : tensor<8x16xf32>, tensor<8x16xf32>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// Sums that are not a bias's: over a part of the rows, over the columns, of a gradient that a product contracts over its
// columns, wanted before that product.
// CHECK-LABEL: func @sums
// CHECK-NOT: dlc.matmul_
// CHECK: return
func.func @sums(%a: tensor<8x16xf32>, %b: tensor<8x32xf32>, %c: tensor<2x8x16xf32>, %w: tensor<32x16xf32>)
    -> (tensor<16x32xf32>, tensor<8xf32>, tensor<2x16xf32>, tensor<2x8x32xf32>, tensor<16xf32>, tensor<8x32xf32>, tensor<16x32xf32>) {
  %p = dlc.matmul %a, %b {trans_a} : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %s = dlc.reduce_sum %a {axes = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  %t = dlc.reduce_sum %c {axes = array<i64: 1>} : (tensor<2x8x16xf32>) -> tensor<2x16xf32>
  %q = dlc.matmul %c, %w {trans_b} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %d = dlc.neg %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %u = dlc.reduce_sum %d {axes = array<i64: 0>} : (tensor<8x16xf32>) -> tensor<16xf32>
  %v = dlc.neg %u : (tensor<16xf32>) -> tensor<16xf32>
  %r = dlc.matmul %d, %w {trans_b} : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %e = dlc.matmul %d, %b {trans_a} : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  return %p, %s, %t, %q, %v, %r, %e : tensor<16x32xf32>, tensor<8xf32>, tensor<2x16xf32>, tensor<2x8x32xf32>, tensor<16xf32>, tensor<8x32xf32>, tensor<16x32xf32>
}

// A bias's gradient of a large product in halves: a sum of its own takes less time than the product loses.
// CHECK-LABEL: func @large_sum
// CHECK: dlc.matmul_bias_backward %arg0, %arg1 {of = "b", trans_a}
// AUTO-LABEL: func @large_sum
// AUTO-DAG: dlc.matmul %arg0, %arg1 {trans_a}
// AUTO-DAG: dlc.reduce_sum %arg1
// AUTO: return
func.func @large_sum(%x: tensor<32768x768xbf16>, %dy: tensor<32768x3072xbf16>) -> (tensor<768x3072xbf16>, tensor<3072xbf16>) {
  %dw = dlc.matmul %x, %dy {trans_a} : (tensor<32768x768xbf16>, tensor<32768x3072xbf16>) -> tensor<768x3072xbf16>
  %db = dlc.reduce_sum %dy {axes = array<i64: 0>} : (tensor<32768x3072xbf16>) -> tensor<3072xbf16>
  return %dw, %db : tensor<768x3072xbf16>, tensor<3072xbf16>
}

// A bias's gradient whose sum comes with the kernel of a norm costs no reading; another one of that size is the product's.
// CHECK-LABEL: func @sum_beside_norm
// AUTO-LABEL: func @sum_beside_norm
// AUTO: dlc.matmul_bias_backward %arg0, %arg1 {of = "b", trans_a}
// AUTO: %[[DX:.*]], %{{.*}}, %{{.*}} = dlc.layer_norm_backward
// AUTO: %[[SUM:.*]] = dlc.add %arg1, %[[DX]]
// AUTO-DAG: dlc.matmul %arg0, %[[SUM]] {trans_a}
// AUTO-DAG: dlc.reduce_sum %[[SUM]]
// AUTO: return
func.func @sum_beside_norm(%x: tensor<16384x768xbf16>, %dy: tensor<16384x768xbf16>, %scale: tensor<768xf32>, %mean: tensor<16384x1xf32>, %rstd: tensor<16384x1xf32>)
    -> (tensor<768x768xbf16>, tensor<768xbf16>, tensor<768x768xbf16>, tensor<768xbf16>) {
  %dv = dlc.matmul %x, %dy {trans_a} : (tensor<16384x768xbf16>, tensor<16384x768xbf16>) -> tensor<768x768xbf16>
  %dc = dlc.reduce_sum %dy {axes = array<i64: 0>} : (tensor<16384x768xbf16>) -> tensor<768xbf16>
  %dx, %dscale, %dbias = dlc.layer_norm_backward %dy, %x, %scale, %mean, %rstd {axis = 1 : i64} : (tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<768xf32>, tensor<16384x1xf32>, tensor<16384x1xf32>) -> (tensor<16384x768xbf16>, tensor<768xf32>, tensor<768xf32>)
  %d = dlc.add %dy, %dx : (tensor<16384x768xbf16>, tensor<16384x768xbf16>) -> tensor<16384x768xbf16>
  %dw = dlc.matmul %x, %d {trans_a} : (tensor<16384x768xbf16>, tensor<16384x768xbf16>) -> tensor<768x768xbf16>
  %db = dlc.reduce_sum %d {axes = array<i64: 0>} : (tensor<16384x768xbf16>) -> tensor<768xbf16>
  return %dv, %dc, %dw, %db : tensor<768x768xbf16>, tensor<768xbf16>, tensor<768x768xbf16>, tensor<768xbf16>
}
