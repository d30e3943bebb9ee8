// RUN: split-file %s %t
// RUN: dlc-codegen %t/blocks.mlir --emit=llvm -O0 | FileCheck %s --check-prefix=BLOCKS
// RUN: not dlc-codegen %t/loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: not dlc-codegen %t/left-out.mlir 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: not dlc-codegen %t/size.mlir 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not dlc-codegen %t/reduced.mlir 2>&1 | FileCheck %s --check-prefix=REDUCED
// RUN: not dlc-codegen %t/apart.mlir 2>&1 | FileCheck %s --check-prefix=APART
// RUN: not dlc-codegen %t/items.mlir 2>&1 | FileCheck %s --check-prefix=ITEMS
// RUN: not dlc-codegen %t/kind.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=KIND

// Code is made by the schedule that a kernel has, whatever dlc-schedule-kernels would decide: blocks of 7.
// BLOCKS: define void @f(
// BLOCKS: mul nsw i64 %{{.*}}, 7
//--- blocks.mlir
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 64], block = 7> {
^bb0(%x: tensor<64xf32>):
  %y = dlc.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}
//--- loop.mlir
// LOOP: 'exec.kernel' op has a schedule that names a loop that the body does not have
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[3]: 64]> {
^bb0(%x: tensor<64xf32>):
  %y = dlc.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}
//--- left-out.mlir
// LEFT: has a schedule that leaves out a loop
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0]: 8]> {
^bb0(%x: tensor<8x9xf32>):
  %y = dlc.neg %x : (tensor<8x9xf32>) -> tensor<8x9xf32>
  dlc.yield %y : tensor<8x9xf32>
}
//--- size.mlir
// SIZE: has a schedule that gives a group another size than its loops
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0, 1]: 70]> {
^bb0(%x: tensor<8x9xf32>):
  %y = dlc.neg %x : (tensor<8x9xf32>) -> tensor<8x9xf32>
  dlc.yield %y : tensor<8x9xf32>
}
//--- reduced.mlir
// REDUCED: has a schedule that mixes loops that are kept and loops that are reduced
exec.kernel @f schedule = #exec.schedule<rows, outer = [[0, 1]: 72]> {
^bb0(%x: tensor<8x9xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x9xf32>) -> tensor<8xf32>
  dlc.yield %y : tensor<8xf32>
}
//--- apart.mlir
// APART: has a schedule that joins loops that some access does not join
exec.kernel @f schedule = #exec.schedule<elementwise, inner = [[0, 1]: 72]> {
^bb0(%x: tensor<8x9xf32>, %b: tensor<9xf32>):
  %y = dlc.add %x, %b : (tensor<8x9xf32>, tensor<9xf32>) -> tensor<8x9xf32>
  dlc.yield %y : tensor<8x9xf32>
}
//--- items.mlir
// ITEMS: has a schedule of other items than the convolution's
exec.kernel @f schedule = #exec.schedule<whole, outer = [[]: 7]> {
^bb0(%x: tensor<1x4x4x4xf32>, %w: tensor<4x1x3x3xf32>):
  %y = dlc.conv %x, %w by = generated {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 4 : i64, layout = "nhwc"} : (tensor<1x4x4x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x4x4xf32>
  dlc.yield %y : tensor<1x4x4x4xf32>
}
//--- kind.mlir
// KIND: has a schedule that is of another kind than the body
exec.kernel @f schedule = #exec.schedule<columns, outer = [[0]: 8], inner = [[1]: 9], block = 8> {
^bb0(%x: tensor<8x9xf32>):
  %y = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x9xf32>) -> tensor<8xf32>
  dlc.yield %y : tensor<8xf32>
}
