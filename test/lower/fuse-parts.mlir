// RUN: %dlc-opt %s --dlc-fuse=repeat --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse --split-input-file | FileCheck %s --check-prefix=KEEP

// Queries, keys and values, cut out of one product, are one kernel.
// CHECK-LABEL: func @parts
// CHECK: %[[X:.*]] = dlc.matmul
// CHECK: dlc.fused(%[[X]]) : (tensor<32x192xbf16>) -> (tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>)
// CHECK-NOT: dlc.fused
// CHECK: return
// KEEP-LABEL: func @parts
// KEEP-COUNT-3: dlc.fused
func.func @parts(%a: tensor<32x64xbf16>, %w: tensor<64x192xbf16>) -> tensor<64x64xbf16> {
  %x = dlc.matmul %a, %w by = library : (tensor<32x64xbf16>, tensor<64x192xbf16>) -> tensor<32x192xbf16>
  %q = dlc.slice %x {sizes = array<i64: 32, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x64xbf16>
  %k = dlc.slice %x {sizes = array<i64: 32, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x64xbf16>
  %v = dlc.slice %x {sizes = array<i64: 32, 64>, starts = array<i64: 0, 128>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x64xbf16>
  %s = dlc.matmul %q, %k by = library {trans_a} : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
  %y = dlc.matmul %v, %v by = library {trans_a} : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
  %z = dlc.matmul %s, %y by = library : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %z : tensor<64x64xbf16>
}

// -----
// Not a part that is wanted before the next: the first product reads it; nor parts of other shapes.
// CHECK-LABEL: func @wanted
// CHECK-COUNT-3: dlc.fused({{.*}}) : (tensor<32x192xbf16>) -> tensor<
func.func @wanted(%a: tensor<32x64xbf16>, %w: tensor<64x192xbf16>) -> (tensor<64x64xbf16>, tensor<32x64xbf16>, tensor<32x32xbf16>) {
  %x = dlc.matmul %a, %w by = library : (tensor<32x64xbf16>, tensor<64x192xbf16>) -> tensor<32x192xbf16>
  %q = dlc.slice %x {sizes = array<i64: 32, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x64xbf16>
  %s = dlc.matmul %q, %q by = library {trans_a} : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
  %k = dlc.slice %x {sizes = array<i64: 32, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x64xbf16>
  %v = dlc.slice %x {sizes = array<i64: 32, 32>, starts = array<i64: 0, 128>, steps = array<i64: 1, 1>} : (tensor<32x192xbf16>) -> tensor<32x32xbf16>
  return %s, %k, %v : tensor<64x64xbf16>, tensor<32x64xbf16>, tensor<32x32xbf16>
}
