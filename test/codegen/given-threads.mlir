// RUN: split-file %s %t
// RUN: dlc-codegen %t/given.mlir --sm=90 --emit=ptx | FileCheck %s --check-prefix=GIVEN
// RUN: not dlc-codegen %t/block.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not dlc-codegen %t/index.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not dlc-codegen %t/vector.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not dlc-codegen %t/grid.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not dlc-codegen %t/squares.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SQUARES
// RUN: not dlc-codegen %t/kind.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not dlc-codegen %t/row.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: not dlc-codegen %t/columns.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not dlc-codegen %t/sum.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not dlc-codegen %t/sparse.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SPARSE
// RUN: not dlc-codegen %t/no-product.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=NO-PRODUCT
// RUN: not dlc-codegen %t/tile.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not dlc-codegen %t/operand.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=OPERAND
// RUN: not dlc-codegen %t/attention.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=ATTENTION

// Code is made for the threads that a kernel has, whatever dlc-map-threads would decide: two elements a thread.
// GIVEN: .entry f(
// GIVEN: .maxntid 64
// GIVEN: ld.global.v2.b32
//--- given.mlir
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 8, block = 64, vector = 2> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
//--- block.mlir
// BLOCK: 'exec.kernel' op has threads in blocks that are not whole warps
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 32, block = 33> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
//--- index.mlir
// INDEX: 'exec.kernel' op has threads whose indices are too narrow
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 4294967296]> threads = #exec.threads<grid = 16777216, block = 256> {
^bb0(%x: tensor<4294967296xf32>):
  %y = dlc.neg %x : (tensor<4294967296xf32>) -> tensor<4294967296xf32>
  dlc.yield %y : tensor<4294967296xf32>
}
//--- vector.mlir
// VECTOR: 'exec.kernel' op has threads with vectors that do not divide their loop
exec.kernel @f schedule = #exec.schedule<elementwise, outer = [[0]: 8], inner = [[1]: 30]> threads = #exec.threads<grid = 1, block = 64, vector = 4> {
^bb0(%x: tensor<8x30xf32>):
  %y = dlc.neg %x : (tensor<8x30xf32>) -> tensor<8x30xf32>
  dlc.yield %y : tensor<8x30xf32>
}
//--- grid.mlir
// GRID: 'exec.kernel' op has threads in another number of blocks than its loops need
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 7, block = 128> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
//--- squares.mlir
// SQUARES: 'exec.kernel' op has threads that cannot transpose in shared memory
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 64, [1]: 64]> threads = #exec.threads<grid = 4, block = 256, transposed = 0> {
^bb0(%x: tensor<64x64xf32>):
  %y = dlc.neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  dlc.yield %y : tensor<64x64xf32>
}
//--- kind.mlir
// KIND: 'exec.kernel' op has threads that are of another kind than the schedule
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 8, block = 128, registers> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
//--- row.mlir
// ROW: 'exec.kernel' op has threads that do not cover a row
exec.kernel @f schedule = #exec.schedule<rows, outer = [[0]: 96], inner = [[1]: 64]> threads = #exec.threads<grid = 12, block = 256, across = 32, chunks = 3, registers> {
^bb0(%x: tensor<96x64xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<96x64xf32>) -> tensor<96xf32>
  dlc.yield %y : tensor<96xf32>
}
//--- columns.mlir
// COLUMNS: 'exec.kernel' op has threads that cannot sum columns
exec.kernel @f schedule = #exec.schedule<rows, outer = [[0]: 4, [1]: 96], inner = [[2]: 64]> threads = #exec.threads<grid = 4, block = 256, across = 32, chunks = 2> {
^bb0(%x: tensor<4x96x64xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 2>} : (tensor<4x96x64xf32>) -> tensor<4x96xf32>
  %z = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<4x96x64xf32>) -> tensor<4x64xf32>
  dlc.yield %y, %z : tensor<4x96xf32>, tensor<4x64xf32>
}
//--- sum.mlir
// SUM: 'exec.kernel' op has threads that cannot share a sum
exec.kernel @f schedule = #exec.schedule<columns, outer = [[1]: 64], inner = [[0]: 96], block = 16> threads = #exec.threads<grid = 1, block = 192, across = 64> {
^bb0(%x: tensor<96x64xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<96x64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}
//--- sparse.mlir
// SPARSE: 'exec.kernel' op has threads that cannot skip elements
exec.kernel @f schedule = #exec.schedule<columns, outer = [[1]: 64], inner = [[0]: 96], block = 16> threads = #exec.threads<grid = 1, block = 256, across = 32, sparse> {
^bb0(%x: tensor<96x64xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<96x64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}
//--- no-product.mlir
// NO-PRODUCT: 'exec.kernel' op has threads with a tile but no product, or no tile for a product
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 8, block = 128, tile = 64x32> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
//--- tile.mlir
// TILE: 'exec.kernel' op has threads with a tile that no product has
exec.kernel @f schedule = #exec.schedule<rows, outer = [[0]: 64, [1]: 64], inner = [[2]: 64]> threads = #exec.threads<grid = 2, block = 128, vector = 8, tile = 48x32x64, warps = 2x2, left = depth x 8 copied, right = depth x 8 copied> {
^bb0(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>):
  %y = dlc.matmul %x, %w {trans_b} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  dlc.yield %y : tensor<64x64xbf16>
}
//--- operand.mlir
// OPERAND: 'exec.kernel' op has threads whose operands have another layout in memory
exec.kernel @f schedule = #exec.schedule<rows, outer = [[0]: 64, [1]: 64], inner = [[2]: 64]> threads = #exec.threads<grid = 4, block = 128, vector = 8, tile = 32x32x64, warps = 2x2, left = outer x 8 copied, right = depth x 8 copied> {
^bb0(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>):
  %y = dlc.matmul %x, %w {trans_b} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  dlc.yield %y : tensor<64x64xbf16>
}
//--- attention.mlir
// ATTENTION: 'exec.kernel' op has threads with a tile that no attention has
exec.kernel @f schedule = #exec.schedule<whole> threads = #exec.threads<grid = 8, block = 128, tile = 64x64, warps = 4x1> {
^bb0(%q: tensor<2x64x4x64xf16>, %k: tensor<2x64x4x64xf16>, %v: tensor<2x64x4x64xf16>):
  %y, %l = dlc.attention %q, %k, %v {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x64x4x64xf16>, tensor<2x64x4x64xf16>, tensor<2x64x4x64xf16>) -> (tensor<2x64x4x64xf16>, tensor<2x4x64x1xf32>)
  dlc.yield %y, %l : tensor<2x64x4x64xf16>, tensor<2x4x64x1xf32>
}
