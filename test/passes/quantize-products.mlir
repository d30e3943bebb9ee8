// Products of layers in 8-bit floats: marked by autocast, their gradients by autodiff, then quantized.
// RUN: %dlc-opt %s --dlc-autocast=amp-dtype=fp8 | FileCheck %s --check-prefix=MARKED
// RUN: %dlc-opt %s --dlc-autocast=amp-dtype=fp8 --dlc-autodiff --dlc-quantize-products | FileCheck %s
// RUN: %dlc-opt %s --dlc-autocast=amp-dtype=fp8 --dlc-autodiff '--dlc-quantize-products=fp8-scaling=delayed(history=4,margin=1)' | FileCheck %s --check-prefix=DELAYED
// RUN: %dlc-opt %s '--dlc-autocast=amp-dtype=fp8 amp-node=^f1$:half' | FileCheck %s --check-prefix=NODE

// MARKED-LABEL: @train_step
// MARKED: dlc.matmul {{.*}} {dlc.float8 = ["e4m3", "e4m3"], trans_b} : (tensor<2x8x16xbf16>, tensor<32x16xbf16>, tensor<32xbf16>) -> tensor<2x8x32xbf16>
// The second layer has 8 outputs.
// MARKED: dlc.matmul {{.*}} {trans_b} : (tensor<2x8x32xbf16>, tensor<8x32xbf16>) -> tensor<2x8x8xbf16>
// Only the training step: a prediction is not to depend on the batch's other rows.
// MARKED-LABEL: @predict
// MARKED-NOT: dlc.float8
// NODE-NOT: dlc.float8

// The input and the weight are quantized once, to E4M3.
// CHECK-LABEL: @train_step
// CHECK: [[X:%.*]] = dlc.cast %arg0 : {{.*}} -> tensor<2x8x16xbf16>
// CHECK: [[W:%.*]] = dlc.cast %{{.*}} : (tensor<2x8x16xbf16>) -> tensor<2x8x16xf32>
// CHECK: [[ABS:%.*]] = dlc.abs [[W]]
// CHECK: [[AMAX:%.*]] = dlc.reduce_max [[ABS]] {axes = array<i64: 0, 1, 2>} : (tensor<2x8x16xf32>) -> tensor<f32>
// CHECK: [[FINITE:%.*]] = dlc.is_finite [[AMAX]]
// CHECK: [[ABOVE:%.*]] = dlc.compare gt [[AMAX]]
// CHECK: [[USABLE:%.*]] = dlc.and [[ABOVE]], [[FINITE]]
// CHECK: [[RATIO:%.*]] = dlc.div %{{.*}}, [[AMAX]]
// CHECK: [[BOUND:%.*]] = dlc.min [[RATIO]]
// CHECK: [[SCALE:%.*]] = dlc.select [[USABLE]], [[BOUND]]
// CHECK: [[INVERSE:%.*]] = dlc.div %{{.*}}, [[SCALE]]
// CHECK: [[SCALED:%.*]] = dlc.mul [[W]], [[SCALE]]
// CHECK: [[CODES:%.*]] = dlc.float8_encode [[SCALED]] {format = "e4m3"} : (tensor<2x8x16xf32>) -> tensor<2x8x16xi8>
// CHECK: [[WCODES:%.*]] = dlc.float8_encode %{{.*}} {format = "e4m3"} : (tensor<32x16xf32>) -> tensor<32x16xi8>
// CHECK: [[ROWS:%.*]] = dlc.reshape [[CODES]] : {{.*}} -> tensor<16x16xi8>
// CHECK: [[Y:%.*]] = dlc.scaled_matmul [[ROWS]], [[WCODES]], [[INVERSE]], %{{.*}}, %{{.*}} {format_a = "e4m3", format_b = "e4m3"} : {{.*}} -> tensor<16x32xbf16>
// CHECK: dlc.reshape [[Y]] : (tensor<16x32xbf16>) -> tensor<2x8x32xbf16>
// The gradient is of E5M2; both operands of its product have the contracted dimension last.
// CHECK: [[DY:%.*]] = dlc.float8_encode %{{.*}} {format = "e5m2"} : (tensor<2x8x32xf32>) -> tensor<2x8x32xi8>
// CHECK: [[DYT:%.*]] = dlc.transpose %{{.*}} {perm = array<i64: 1, 0>} : (tensor<16x32xi8>) -> tensor<32x16xi8>
// CHECK: [[XT:%.*]] = dlc.transpose %{{.*}} {perm = array<i64: 1, 0>} : (tensor<16x16xi8>) -> tensor<16x16xi8>
// CHECK: dlc.scaled_matmul [[DYT]], [[XT]], %{{.*}}, [[INVERSE]] {format_a = "e5m2", format_b = "e4m3"} : {{.*}} -> tensor<32x16xbf16>
// CHECK-NOT: dlc.float8 =

// DELAYED: dlc.state @scaler.amax : tensor<3x4xf32> scaler init = 0.000000e+00 : f32
// DELAYED-LABEL: @train_step
// DELAYED: [[H:%.*]] = dlc.read @scaler.amax : tensor<3x4xf32>
// DELAYED: [[LARGEST:%.*]] = dlc.constant dense<[4.480000e+02, 4.480000e+02, 5.734400e+04]> : tensor<3xf32>
// DELAYED: [[M:%.*]] = dlc.reduce_max [[H]] {axes = array<i64: 1>}
// DELAYED: dlc.div [[LARGEST]], [[M]]
// DELAYED: dlc.constant dense<5.000000e-01> : tensor<f32>
// DELAYED-COUNT-6: dlc.slice {{.*}} -> tensor<1xf32>
// DELAYED-COUNT-3: dlc.float8_encode
// DELAYED: [[NEW:%.*]] = dlc.concat {{.*}} {axis = 0 : i64} : {{.*}} -> tensor<3x1xf32>
// DELAYED: [[F:%.*]] = dlc.is_finite [[NEW]]
// DELAYED: [[KEPT:%.*]] = dlc.select [[F]], [[NEW]]
// DELAYED: [[OLD:%.*]] = dlc.slice {{.*}} {sizes = array<i64: 3, 3>, starts = array<i64: 0, 0>
// DELAYED: [[ALL:%.*]] = dlc.concat [[KEPT]], [[OLD]] {axis = 1 : i64} : {{.*}} -> tensor<3x4xf32>
// DELAYED: dlc.write @scaler.amax, [[ALL]]
dlc.state @w : tensor<32x16xf32> param init = "w" trainable
dlc.state @b : tensor<32xf32> param init = "b" trainable
dlc.state @v : tensor<8x32xf32> param init = "v" trainable
func.func @train_step(%x: tensor<2x8x16xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<32x16xf32>
  %b = dlc.read @b : tensor<32xf32>
  %v = dlc.read @v : tensor<8x32xf32>
  %h = dlc.matmul %x, %w, %b {trans_b} : (tensor<2x8x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<2x8x32xf32> loc("f1")
  %y = dlc.matmul %h, %v {trans_b} : (tensor<2x8x32xf32>, tensor<8x32xf32>) -> tensor<2x8x8xf32> loc("f2")
  %l = dlc.reduce_mean %y {axes = array<i64: 0, 1, 2>} : (tensor<2x8x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func @predict(%x: tensor<2x8x16xf32>) -> tensor<2x8x32xf32> {
  %w = dlc.read @w : tensor<32x16xf32>
  %h = dlc.matmul %x, %w {trans_b} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  return %h : tensor<2x8x32xf32>
}
