// Who computes what is written on each op, by the target's choice or as the user says.
// RUN: %dlc-opt %s --dlc-place=explain-placement | FileCheck %s
// RUN: %dlc-opt %s '--dlc-place=place=norm=library' | FileCheck %s --check-prefix=LIBRARY
// RUN: %dlc-opt %s '--dlc-place=place=^n2$:norm=library' | FileCheck %s --check-prefix=NODE
// RUN: %dlc-opt %s '--dlc-place=norm=library place=^n1$:norm=decomposed' | FileCheck %s --check-prefix=FIRST
// RUN: not %dlc-opt %s '--dlc-place=place=matmul=generated' 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not %dlc-opt %s '--dlc-place=place=pool=library' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %dlc-opt %s '--dlc-place=norm=libary' 2>&1 | FileCheck %s --check-prefix=WORD

// CHECK: module attributes {dlc.placements = [
// CHECK-SAME: ["n1", "norm", "decomposed", "preferred (decomposed, library)"]
// CHECK-SAME: ["n2", "norm", "decomposed", "preferred (decomposed, library)"]
// CHECK-SAME: ["f1", "matmul", "library", "the only way (library, generated: generated kernels multiply 16-bit floats only)"]
// CHECK-SAME: ["p1", "pool", "decomposed", "the only way"]
// CHECK-SAME: ["e1", "gather", "generated", "the only way"]
// CHECK-LABEL: func @train_step
// CHECK-COUNT-2: dlc.layer_norm {{.*}} by = decomposed {
// CHECK: dlc.matmul %{{.*}} by = library :
// CHECK: dlc.matmul %{{[^ ]*}}, %{{[^ ]*}} :
// CHECK: dlc.max_pool %{{.*}} by = decomposed {
// CHECK: dlc.gather %{{.*}} by = generated {
// LIBRARY: dlc.placed = ["--place=norm=library"]
// LIBRARY-COUNT-2: dlc.layer_norm {{.*}} by = library {
// NODE: dlc.layer_norm {{.*}} by = decomposed {
// NODE: dlc.layer_norm {{.*}} by = library {
// FIRST: dlc.layer_norm {{.*}} by = decomposed {
// FIRST: dlc.layer_norm {{.*}} by = library {
// REFUSED: --place=matmul=generated cannot be: generated kernels multiply 16-bit floats only; without it the target chooses
// WORD: norm: 'libary' is not one of auto, library, generated; did you mean 'library'?
// NONE: --place=pool=library cannot be: cuda has only decomposed; without it the target chooses
func.func @train_step(%x: tensor<4x16xf32>, %s: tensor<16xf32>, %w: tensor<16x16xf32>, %h: tensor<16x16xbf16>, %m: tensor<1x4x8x8xf32>, %i: tensor<2xi64>) -> (tensor<4x16xf32>, tensor<16x16xbf16>, tensor<1x4x4x4xf32>, tensor<2x16xf32>) {
  %a:3 = dlc.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) loc("n1")
  %b:3 = dlc.layer_norm %a#0, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) loc("n2")
  %c = dlc.matmul %b#0, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("f1")
  // Left to dlc-fuse-matmul.
  %d = dlc.matmul %h, %h : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16> loc("f2")
  %p, %k = dlc.max_pool %m {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>) loc("p1")
  %e = dlc.gather %x, %i {axis = 0 : i64} : (tensor<4x16xf32>, tensor<2xi64>) -> tensor<2x16xf32> loc("e1")
  return %c, %d, %p, %e : tensor<4x16xf32>, tensor<16x16xbf16>, tensor<1x4x4x4xf32>, tensor<2x16xf32>
}
