// RUN: %dlc-opt %s --dlc-fuse --dlc-fuse-matmul | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse '--dlc-fuse-matmul=matmul=generated' | FileCheck %s --check-prefixes=ALWAYS

// What computes the operands, the bias and what is computed from the elements are one kernel; a cast that two products
// read is in both, and runs no more.
// CHECK-LABEL: func @layer
// CHECK: %[[H:.*]] = dlc.fused(%arg0, %arg1, %arg2) : (tensor<2x32x64xbf16>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xbf16>
// CHECK: %[[W:.*]] = dlc.cast %{{.*}} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
// CHECK: %[[Y:.*]] = dlc.matmul %{{.*}}, %[[W]] by = generated {trans_b} : (tensor<2x32x64xbf16>, tensor<64x64xbf16>) -> tensor<2x32x64xbf16>
// CHECK: %[[B:.*]] = dlc.cast
// CHECK: %[[Z:.*]] = dlc.add %[[Y]], %[[B]]
// CHECK: dlc.gelu %[[Z]]
// CHECK: %[[R:.*]] = dlc.fused(%[[H]], %arg1)
// CHECK: dlc.cast
// CHECK: dlc.matmul
// CHECK: return %[[R]]
func.func @layer(%x: tensor<2x32x64xbf16>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<2x32x64xbf16> {
  %wh = dlc.cast %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %bh = dlc.cast %b : (tensor<64xf32>) -> tensor<64xbf16>
  %y = dlc.matmul %x, %wh, %bh {trans_b} : (tensor<2x32x64xbf16>, tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<2x32x64xbf16>
  %g = dlc.gelu %y {tanh} : (tensor<2x32x64xbf16>) -> tensor<2x32x64xbf16>
  %z = dlc.matmul %g, %wh : (tensor<2x32x64xbf16>, tensor<64x64xbf16>) -> tensor<2x32x64xbf16>
  return %z : tensor<2x32x64xbf16>
}

// The heads of one projection are read in place, without slices and transposes of their own. A product that others read,
// too, is stored; its view moves behind the kernel.
// CHECK-LABEL: func @heads
// CHECK: %[[S:.*]]:2 = dlc.fused(%arg0) : (tensor<2x32x192xbf16>) -> (tensor<2x4x32x32xbf16>, tensor<2x4x32x32xbf16>)
// CHECK-COUNT-2: dlc.transpose
// CHECK: dlc.matmul
// CHECK: dlc.mul
// CHECK: }
// CHECK-NEXT: %[[V:.*]] = dlc.reshape %[[S]]#1
// CHECK-NEXT: return %[[S]]#0, %[[V]]
func.func @heads(%qkv: tensor<2x32x192xbf16>) -> (tensor<2x4x32x32xbf16>, tensor<8x32x32xbf16>) {
  %q0 = dlc.slice %qkv {sizes = array<i64: 2, 32, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x32x192xbf16>) -> tensor<2x32x64xbf16>
  %k0 = dlc.slice %qkv {sizes = array<i64: 2, 32, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x32x192xbf16>) -> tensor<2x32x64xbf16>
  %q1 = dlc.reshape %q0 : (tensor<2x32x64xbf16>) -> tensor<2x32x4x16xbf16>
  %k1 = dlc.reshape %k0 : (tensor<2x32x64xbf16>) -> tensor<2x32x4x16xbf16>
  %q = dlc.transpose %q1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x16xbf16>) -> tensor<2x4x32x16xbf16>
  %k = dlc.transpose %k1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x32x4x16xbf16>) -> tensor<2x4x16x32xbf16>
  %s = dlc.matmul %q, %k : (tensor<2x4x32x16xbf16>, tensor<2x4x16x32xbf16>) -> tensor<2x4x32x32xbf16>
  %v = dlc.reshape %s : (tensor<2x4x32x32xbf16>) -> tensor<8x32x32xbf16>
  %c = dlc.constant dense<0.25> : tensor<bf16>
  %t = dlc.mul %s, %c : (tensor<2x4x32x32xbf16>, tensor<bf16>) -> tensor<2x4x32x32xbf16>
  return %t, %v : tensor<2x4x32x32xbf16>, tensor<8x32x32xbf16>
}

// Arithmetic bounds a large product: the library is faster even with separate kernels around it.
// CHECK-LABEL: func @large
// CHECK: dlc.fused
// CHECK: = dlc.matmul %{{[^ ]*}}, %{{[^ ]*}} by = library : (tensor<4096x4096xbf16>
// CHECK: dlc.fused
// ALWAYS-LABEL: func @large
// ALWAYS: = dlc.fused(%arg0, %arg1)
// ALWAYS-NOT: dlc.fused
// ALWAYS: return
func.func @large(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xbf16> {
  %wh = dlc.cast %w : (tensor<4096x4096xf32>) -> tensor<4096x4096xbf16>
  %y = dlc.matmul %x, %wh : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %z = dlc.tanh %y : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %z : tensor<4096x4096xbf16>
}

// Nothing to fuse: the library's call. Products of f32 are the library's in any case.
// CHECK-LABEL: func @alone
// CHECK-COUNT-2: = dlc.matmul
// CHECK: dlc.tanh
// ALWAYS-LABEL: func @alone
// ALWAYS: dlc.fused
// ALWAYS: dlc.matmul
// ALWAYS: }
// ALWAYS-NEXT: dlc.matmul %arg2, %arg3
// ALWAYS-NEXT: dlc.fused
func.func @alone(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>, %p: tensor<64x64xf32>, %q: tensor<64x64xf32>) -> (tensor<64x64xf16>, tensor<64x64xf32>) {
  %y = dlc.matmul %x, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %z = dlc.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = dlc.tanh %z : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y, %t : tensor<64x64xf16>, tensor<64x64xf32>
}

// A cluster that something else reads, too, stays, and so does one whose elements are others: rows.
// CHECK-LABEL: func @shared
// CHECK: %[[W:.*]] = dlc.fused(%arg1)
// CHECK: dlc.cast
// CHECK: %[[Y:.*]] = dlc.fused(%arg0, %[[W]])
// CHECK: dlc.matmul
// CHECK: dlc.fused(%[[Y]])
// CHECK: dlc.reduce_max
func.func @shared(%x: tensor<64x64xbf16>, %w: tensor<64x64xf32>) -> (tensor<64x1xf32>, tensor<64x64xbf16>) {
  %wh = dlc.cast %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %y = dlc.matmul %x, %wh : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %f = dlc.cast %y : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %m = dlc.reduce_max %f {axes = array<i64: 1>, keepdims} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  return %m, %wh : tensor<64x1xf32>, tensor<64x64xbf16>
}

// A convolution of one tap is a product of pixels. Its first reader reduces parts of the rows: mean, and squared distances
// from it. The result is stored for others, too.
// ALWAYS-LABEL: func @moments
// ALWAYS: %[[X:.*]] = dlc.reshape %arg0 : (tensor<4x16x16x64xbf16>) -> tensor<8x128x64xbf16>
// ALWAYS: %[[W:.*]] = dlc.reshape %arg1 : (tensor<128x1x1x64xbf16>) -> tensor<128x64xbf16>
// ALWAYS: %[[F:.*]]:3 = dlc.fused(%[[X]], %[[W]]) : (tensor<8x128x64xbf16>, tensor<128x64xbf16>) -> (tensor<8x1x128xf32>, tensor<8x1x128xf32>, tensor<8x128x128xbf16>)
// ALWAYS: %[[Y:.*]] = dlc.matmul %{{.*}}, %{{.*}} by = generated {trans_b}
// ALWAYS: dlc.slice %[[Y]] {sizes = array<i64: 8, 1, 128>
// ALWAYS-COUNT-2: dlc.reduce_sum
// ALWAYS: dlc.yield %{{.*}}, %{{.*}}, %[[Y]]
// ALWAYS: %[[I:.*]] = dlc.reshape %[[F]]#2 : (tensor<8x128x128xbf16>) -> tensor<4x16x16x128xbf16>
// ALWAYS: return %[[F]]#1, %[[F]]#0, %[[I]]
func.func @moments(%x: tensor<4x16x16x64xbf16>, %w: tensor<128x1x1x64xbf16>) -> (tensor<8x1x128xf32>, tensor<8x1x128xf32>, tensor<4x16x16x128xbf16>) {
  %y = dlc.conv %x, %w by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x16x16x64xbf16>, tensor<128x1x1x64xbf16>) -> tensor<4x16x16x128xbf16>
  %p = dlc.reshape %y : (tensor<4x16x16x128xbf16>) -> tensor<8x128x128xbf16>
  %first = dlc.slice %p {sizes = array<i64: 8, 1, 128>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<8x128x128xbf16>) -> tensor<8x1x128xbf16>
  %a = dlc.cast %first : (tensor<8x1x128xbf16>) -> tensor<8x1x128xf32>
  %f = dlc.cast %p : (tensor<8x128x128xbf16>) -> tensor<8x128x128xf32>
  %d = dlc.sub %f, %a : (tensor<8x128x128xf32>, tensor<8x1x128xf32>) -> tensor<8x128x128xf32>
  %s = dlc.reduce_sum %d {axes = array<i64: 1>, keepdims} : (tensor<8x128x128xf32>) -> tensor<8x1x128xf32>
  %q = dlc.mul %d, %d : (tensor<8x128x128xf32>, tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  %t = dlc.reduce_sum %q {axes = array<i64: 1>, keepdims} : (tensor<8x128x128xf32>) -> tensor<8x1x128xf32>
  %m = dlc.add %a, %s : (tensor<8x1x128xf32>, tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  return %m, %t, %y : tensor<8x1x128xf32>, tensor<8x1x128xf32>, tensor<4x16x16x128xbf16>
}

// The gradient of the images of such a convolution, too, with what follows. Strides, other taps, channels first and
// groups are left to the library.
// ALWAYS-LABEL: func @gradient
// ALWAYS: = dlc.fused
// ALWAYS: dlc.matmul %{{.*}}, %{{.*}} by = generated : (tensor<2x8x8x128xbf16>, tensor<128x64xbf16>)
// ALWAYS: dlc.add
// ALWAYS-NOT: dlc.fused
// ALWAYS: return
func.func @gradient(%dy: tensor<2x8x8x128xbf16>, %w: tensor<128x1x1x64xbf16>, %r: tensor<2x8x8x64xbf16>) -> tensor<2x8x8x64xbf16> {
  %dx = dlc.conv_backward_data %dy, %w by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x8x8x128xbf16>, tensor<128x1x1x64xbf16>) -> tensor<2x8x8x64xbf16>
  %z = dlc.add %dx, %r : (tensor<2x8x8x64xbf16>, tensor<2x8x8x64xbf16>) -> tensor<2x8x8x64xbf16>
  return %z : tensor<2x8x8x64xbf16>
}
// ALWAYS-LABEL: func @others
// ALWAYS-COUNT-3: dlc.conv {{.*}} by = library
func.func @others(%x: tensor<2x8x8x64xbf16>, %v: tensor<2x64x8x8xbf16>, %w: tensor<64x1x1x64xbf16>, %k: tensor<64x1x1x32xbf16>)
    -> (tensor<2x4x4x64xbf16>, tensor<2x64x8x8xbf16>, tensor<2x8x8x64xbf16>) {
  %a = dlc.conv %x, %w by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x8x8x64xbf16>, tensor<64x1x1x64xbf16>) -> tensor<2x4x4x64xbf16>
  %b = dlc.conv %v, %w by = library {dilations = array<i64: 1, 1>, filters_last, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x64x8x8xbf16>, tensor<64x1x1x64xbf16>) -> tensor<2x64x8x8xbf16>
  %c = dlc.conv %x, %k by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, group = 2 : i64} : (tensor<2x8x8x64xbf16>, tensor<64x1x1x32xbf16>) -> tensor<2x8x8x64xbf16>
  return %a, %b, %c : tensor<2x4x4x64xbf16>, tensor<2x64x8x8xbf16>, tensor<2x8x8x64xbf16>
}

// A softmax over rows needs each element again after the sums: it remains a kernel of its own.
// ALWAYS-LABEL: func @softmax
// ALWAYS: %[[Y:.*]] = dlc.fused(%arg0, %arg1)
// ALWAYS: dlc.matmul
// ALWAYS-NEXT: dlc.yield
// ALWAYS: dlc.reshape %[[Y]]
// ALWAYS: dlc.fused
func.func @softmax(%x: tensor<256x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x128x64xf32> {
  %y = dlc.matmul %x, %w : (tensor<256x64xbf16>, tensor<64x64xbf16>) -> tensor<256x64xbf16>
  %p = dlc.reshape %y : (tensor<256x64xbf16>) -> tensor<2x128x64xbf16>
  %f = dlc.cast %p : (tensor<2x128x64xbf16>) -> tensor<2x128x64xf32>
  %m = dlc.reduce_max %f {axes = array<i64: 1>, keepdims} : (tensor<2x128x64xf32>) -> tensor<2x1x64xf32>
  %d = dlc.sub %f, %m : (tensor<2x128x64xf32>, tensor<2x1x64xf32>) -> tensor<2x128x64xf32>
  %e = dlc.exp %d : (tensor<2x128x64xf32>) -> tensor<2x128x64xf32>
  %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<2x128x64xf32>) -> tensor<2x1x64xf32>
  %z = dlc.div %e, %s : (tensor<2x128x64xf32>, tensor<2x1x64xf32>) -> tensor<2x128x64xf32>
  return %z : tensor<2x128x64xf32>
}
