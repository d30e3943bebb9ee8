// RUN: %dlc-opt %s | %dlc-opt | FileCheck %s

// CHECK-LABEL: @float8
// CHECK: dlc.float8_encode %arg0 {format = "e4m3"} : (tensor<16x32xf32>) -> tensor<16x32xi8>
// CHECK: dlc.float8_encode %arg1 {format = "e5m2"} : (tensor<48x32xf32>) -> tensor<48x32xi8>
// CHECK: dlc.float8_decode {{.*}} {format = "e5m2"} : (tensor<48x32xi8>) -> tensor<48x32xf32>
// CHECK: dlc.scaled_matmul %{{.*}}, %{{.*}}, %arg2, %arg2 {format_a = "e4m3", format_b = "e5m2"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
// CHECK: dlc.scaled_matmul %{{.*}}, %{{.*}}, %arg2, %arg2, %arg3 by = library {format_a = "e5m2", format_b = "e4m3"}
func.func @float8(%x: tensor<16x32xf32>, %w: tensor<48x32xf32>, %s: tensor<f32>, %bias: tensor<16xbf16>) -> (tensor<48x32xf32>, tensor<16x48xbf16>, tensor<48x16xbf16>) {
  %a = dlc.float8_encode %x {format = "e4m3"} : (tensor<16x32xf32>) -> tensor<16x32xi8>
  %b = dlc.float8_encode %w {format = "e5m2"} : (tensor<48x32xf32>) -> tensor<48x32xi8>
  %v = dlc.float8_decode %b {format = "e5m2"} : (tensor<48x32xi8>) -> tensor<48x32xf32>
  %y = dlc.scaled_matmul %a, %b, %s, %s {format_a = "e4m3", format_b = "e5m2"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  %z = dlc.scaled_matmul %b, %a, %s, %s, %bias by = library {format_a = "e5m2", format_b = "e4m3"} : (tensor<48x32xi8>, tensor<16x32xi8>, tensor<f32>, tensor<f32>, tensor<16xbf16>) -> tensor<48x16xbf16>
  return %v, %y, %z : tensor<48x32xf32>, tensor<16x48xbf16>, tensor<48x16xbf16>
}
