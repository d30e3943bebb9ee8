// RUN: %dlc-opt %s --dlc-release-gradients=least=64 | FileCheck %s

dlc.state @w : tensor<4x8xf32> param init = "w" trainable
dlc.state @v : tensor<4x8xf32> param init = "v" trainable
dlc.state @small : tensor<8xf32> param init = "small" trainable
dlc.state @table : tensor<16x8xf32> param init = "table" trainable

// A library's product that becomes f32 and is subtracted: a value as any other. What is small keeps its place, as does
// what a kernel sums, which shall not wait for the last reader of a parameter.
// CHECK-LABEL: func @train_step
// CHECK: %[[DW:.*]] = dlc.cast
// CHECK-NOT: of = @w
// CHECK: dlc.sub {{.*}}, %[[DW]]
// CHECK: dlc.all_reduce {{.*}} {of = @small}
// CHECK: dlc.all_reduce {{.*}} {of = @v}
func.func @train_step(%x: tensor<4x2xbf16>, %dy: tensor<2x8xbf16>, %p: tensor<3x4x8xf32>, %g: tensor<8xf32>) {
  %w = dlc.read @w : tensor<4x8xf32>
  %d = dlc.matmul %x, %dy by = library : (tensor<4x2xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  %dw = dlc.cast %d : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %rw = dlc.all_reduce %dw {of = @w} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %nw = dlc.sub %w, %rw : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  dlc.write @w, %nw : tensor<4x8xf32>
  %small = dlc.read @small : tensor<8xf32>
  %rs = dlc.all_reduce %g {of = @small} : (tensor<8xf32>) -> tensor<8xf32>
  %ns = dlc.sub %small, %rs : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @small, %ns : tensor<8xf32>
  %v = dlc.read @v : tensor<4x8xf32>
  %dv = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<3x4x8xf32>) -> tensor<4x8xf32>
  %rv = dlc.all_reduce %dv {of = @v} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %nv = dlc.sub %v, %rv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  dlc.write @v, %nv : tensor<4x8xf32>
  return
}

// Several ranks send it, and a norm reads all gradients before the first update.
// CHECK-LABEL: func @waits
// CHECK: dlc.all_reduce {{.*}} {bucket = 0 : i64, of = @w}
// CHECK: dlc.all_reduce {{.*}} {of = @v}
func.func @waits(%x: tensor<4x2xf32>, %dy: tensor<2x8xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<4x8xf32>
  %dw = dlc.matmul %x, %dy by = library : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %rw = dlc.all_reduce %dw {bucket = 0 : i64, of = @w} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %nw = dlc.sub %w, %rw : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  dlc.write @w, %nw : tensor<4x8xf32>
  %v = dlc.read @v : tensor<4x8xf32>
  %dv = dlc.matmul %x, %dy by = library : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %rv = dlc.all_reduce %dv {of = @v} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sum = dlc.reduce_sum %rv {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  %nv = dlc.sub %v, %rv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  dlc.write @v, %nv : tensor<4x8xf32>
  return %sum : tensor<f32>
}
