// RUN: split-file %s %t
// RUN: not dlc-codegen %t/axes.mlir 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not dlc-codegen %t/beside.mlir 2>&1 | FileCheck %s --check-prefix=BESIDE
// RUN: not dlc-codegen %t/last.mlir 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: not dlc-codegen %t/last.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=APART
// RUN: not dlc-codegen %t/used.mlir 2>&1 | FileCheck %s --check-prefix=AXES-USED
// RUN: not dlc-codegen %t/row.mlir 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: not dlc-codegen %t/library.mlir 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: not dlc-codegen %t/first.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not dlc-codegen %t/bias.mlir 2>&1 | FileCheck %s --check-prefix=BIAS
// RUN: not dlc-codegen %t/products.mlir 2>&1 | FileCheck %s --check-prefix=PRODUCTS
// RUN: not dlc-codegen %t/element.mlir 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not dlc-codegen %t/rows.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not dlc-codegen %t/again.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not dlc-codegen %t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dlc-codegen %t/f16.mlir --cpu=z80 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not dlc-codegen %t/library.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not dlc-codegen %t/f16.mlir --cpu=x86-64 2>&1 | FileCheck %s --check-prefix=F16
// F16: computes in f16, which CPU 'x86-64' cannot convert; compile for one with f16c
// CPU: error: unknown CPU 'z80'
// EMIT: expected --emit=llvm, so, found 'ptx'

//--- axes.mlir
// AXES: axes.mlir:2:1: error: 'exec.kernel' op is not a legal cluster: dlc.reduce_sum: reductions of one cluster must run over the same loops
exec.kernel @axes {
^bb0(%x: tensor<8x9xf32>):
  %a = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<8x9xf32>) -> tensor<9xf32>
  %b = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x9xf32>) -> tensor<8xf32>
  dlc.yield %a, %b : tensor<9xf32>, tensor<8xf32>
}
//--- last.mlir
// LAST: 'exec.kernel' op is cut into parts, which needs a device that runs grids of threads
// APART: 'exec.kernel' op has exec.last behind sums whose blocks do not share columns
exec.kernel @last {
^bb0(%x: tensor<16x40x672xbf16>):
  %y = dlc.cast %x : (tensor<16x40x672xbf16>) -> tensor<16x40x672xf32>
  %a = dlc.reduce_sum %y {axes = array<i64: 1>} : (tensor<16x40x672xf32>) -> tensor<16x672xf32>
  exec.last
  %b = dlc.reduce_sum %a {axes = array<i64: 0>} : (tensor<16x672xf32>) -> tensor<672xf32>
  dlc.yield %a, %b : tensor<16x672xf32>, tensor<672xf32>
}
//--- beside.mlir
// BESIDE: 'exec.kernel' op sums columns beside reductions of rows, which a CPU computes in two kernels
exec.kernel @beside {
^bb0(%x: tensor<4x8x9xf32>):
  %a = dlc.reduce_sum %x {axes = array<i64: 2>} : (tensor<4x8x9xf32>) -> tensor<4x8xf32>
  %b = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<4x8x9xf32>) -> tensor<4x9xf32>
  dlc.yield %a, %b : tensor<4x8xf32>, tensor<4x9xf32>
}
//--- used.mlir
// AXES-USED: is not a legal cluster: dlc.reduce_sum: reductions of one cluster must run over the same loops
exec.kernel @used {
^bb0(%x: tensor<4x8x9xf32>):
  %a = dlc.reduce_sum %x {axes = array<i64: 2>} : (tensor<4x8x9xf32>) -> tensor<4x8xf32>
  %b = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<4x8x9xf32>) -> tensor<4x9xf32>
  %c = dlc.neg %b : (tensor<4x9xf32>) -> tensor<4x9xf32>
  dlc.yield %a, %b, %c : tensor<4x8xf32>, tensor<4x9xf32>, tensor<4x9xf32>
}
//--- row.mlir
// ROW: is not a legal cluster: dlc.reduce_sum: the result of a reduction must be used at its own row
exec.kernel @row {
^bb0(%x: tensor<8x8xf32>):
  %a = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  %y = dlc.add %x, %a : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  dlc.yield %y : tensor<8x8xf32>
}
//--- library.mlir
// LIBRARY: is not a legal cluster: dlc.conv: cannot be part of a kernel
exec.kernel @library {
^bb0(%x: tensor<8x4x1x1xf32>, %w: tensor<2x4x1x1xf32>):
  %y = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x4x1x1xf32>, tensor<2x4x1x1xf32>) -> tensor<8x2x1x1xf32>
  dlc.yield %y : tensor<8x2x1x1xf32>
}
//--- first.mlir
// FIRST: is not a legal cluster: images are channels first
exec.kernel @first {
^bb0(%x: tensor<8x4x1x1xf32>, %w: tensor<4x1x1x1xf32>):
  %y = dlc.conv %x, %w by = generated {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 4 : i64} : (tensor<8x4x1x1xf32>, tensor<4x1x1x1xf32>) -> tensor<8x4x1x1xf32>
  dlc.yield %y : tensor<8x4x1x1xf32>
}
//--- bias.mlir
// BIAS: is not a legal cluster: dlc.matmul: expected neither bias nor activation in a kernel
exec.kernel @bias {
^bb0(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %b: tensor<2xf32>):
  %y = dlc.matmul %x, %w, %b : (tensor<8x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  dlc.yield %y : tensor<8x2xf32>
}
//--- products.mlir
// PRODUCTS: is not a legal cluster: dlc.matmul: one kernel has one product
exec.kernel @products {
^bb0(%x: tensor<8x8xf32>):
  %y = dlc.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = dlc.matmul %y, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.yield %z : tensor<8x8xf32>
}
//--- element.mlir
// ELEMENT: is not a legal cluster: dlc.matmul: a product must be used at its own element
exec.kernel @element {
^bb0(%x: tensor<8x8xf32>):
  %y = dlc.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = dlc.transpose %y {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.yield %z : tensor<8x8xf32>
}
//--- rows.mlir
// ROWS: sums columns beside reductions of rows, which a CPU computes in two kernels
exec.kernel @rows {
^bb0(%x: tensor<8x8xf32>):
  %y = dlc.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = dlc.reduce_sum %y {axes = array<i64: 0>, keepdims} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  dlc.yield %s : tensor<1x8xf32>
}
//--- again.mlir
// AGAIN: is not a legal cluster: an element of a product depends on its column's sums
exec.kernel @again {
^bb0(%x: tensor<8x8xf32>):
  %y = dlc.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = dlc.reduce_sum %y {axes = array<i64: 0>, keepdims} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %z = dlc.div %y, %s : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  dlc.yield %z : tensor<8x8xf32>
}
//--- twice.mlir
// TWICE: is not a legal cluster: dlc.reduce_sum: cannot follow a sum of the same column
exec.kernel @twice {
^bb0(%x: tensor<8x8xf32>):
  %y = dlc.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = dlc.reduce_max %y {axes = array<i64: 0>, keepdims} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %d = dlc.sub %y, %m : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %s = dlc.reduce_sum %d {axes = array<i64: 0>, keepdims} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  dlc.yield %s : tensor<1x8xf32>
}
//--- f16.mlir
exec.kernel @f16 {
^bb0(%x: tensor<8xf32>):
  %y = dlc.cast %x : (tensor<8xf32>) -> tensor<8xf16>
  dlc.yield %y : tensor<8xf16>
}
