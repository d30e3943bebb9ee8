// RUN: %dlc-opt %s --dlc-fuse --split-input-file | FileCheck %s

// A chain is one kernel, with its constants; a bias is broadcast in it.
// CHECK-LABEL: func @chain
// CHECK: dlc.fused(%arg0, %arg1)
// CHECK: dlc.constant
// CHECK: dlc.add
// CHECK-NEXT: dlc.tanh
// CHECK-NEXT: %[[Y:.*]] = dlc.mul
// CHECK-NEXT: dlc.yield %[[Y]] :
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @chain(%x: tensor<8x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
  %0 = dlc.add %x, %b : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %1 = dlc.tanh %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %c = dlc.constant dense<2.0> : tensor<f32>
  %2 = dlc.mul %1, %c : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----
// Reductions of rows with what is computed from them: softmax is one kernel that reads its input once.
// CHECK-LABEL: func @softmax
// CHECK: dlc.fused(%arg0) : (tensor<32x64xf32>) -> tensor<32x64xf32>
// CHECK: dlc.reduce_max
// CHECK: dlc.reduce_sum
// CHECK: dlc.yield
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @softmax(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<32x64xf32>) -> tensor<32x1xf32>
  %0 = dlc.sub %x, %m : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  %e = dlc.exp %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<32x64xf32>) -> tensor<32x1xf32>
  %y = dlc.div %e, %s : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// -----
// Few long rows would leave threads idle: the row is read again by a kernel of its own.
// CHECK-LABEL: func @few_rows
// CHECK: %[[M:.*]] = dlc.fused(%arg0) : (tensor<4x65536xf32>) -> tensor<4x1xf32>
// CHECK: dlc.reduce_max
// CHECK: dlc.fused(%arg0, %[[M]]) : {{.*}} -> tensor<4x65536xf32>
// CHECK: dlc.sub
func.func @few_rows(%x: tensor<4x65536xf32>) -> tensor<4x65536xf32> {
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<4x65536xf32>) -> tensor<4x1xf32>
  %y = dlc.sub %x, %m : (tensor<4x65536xf32>, tensor<4x1xf32>) -> tensor<4x65536xf32>
  return %y : tensor<4x65536xf32>
}

// -----
// A sum of columns takes in what it sums and what follows from the sums, but is complete only
// when all rows are read: what broadcasts it back is another kernel.
// CHECK-LABEL: func @columns
// CHECK: %[[T:.*]] = dlc.fused(%arg0, %arg1) : {{.*}} -> tensor<64xf32>
// CHECK: dlc.mul
// CHECK: dlc.reduce_sum
// CHECK: dlc.neg
// CHECK: dlc.yield
// CHECK: dlc.fused(%arg0, %[[T]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dlc.add
// CHECK-NEXT: dlc.yield
func.func @columns(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>) -> (tensor<64xf32>, tensor<32x64xf32>) {
  %0 = dlc.mul %x, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = dlc.reduce_sum %0 {axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<64xf32>
  %t = dlc.neg %s : (tensor<64xf32>) -> tensor<64xf32>
  %1 = dlc.add %x, %t : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  return %t, %1 : tensor<64xf32>, tensor<32x64xf32>
}

// -----
// tanh and add may not be one kernel: the product needs the one and feeds the other.
// CHECK-LABEL: func @no_cycle
// CHECK: %[[A:.*]] = dlc.fused(%arg0)
// CHECK: dlc.tanh
// CHECK-NEXT: dlc.yield
// CHECK: %[[B:.*]] = dlc.matmul %[[A]], %[[A]]
// CHECK: dlc.fused(%[[A]], %[[B]])
// CHECK: dlc.add
// CHECK-NEXT: dlc.yield
func.func @no_cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dlc.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dlc.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----
// Values that are needed outside, before the product and behind it, leave one kernel together.
// CHECK-LABEL: func @two_outputs
// CHECK: %[[K:.*]]:2 = dlc.fused(%arg0)
// CHECK: %[[T:.*]] = dlc.tanh
// CHECK: %[[E:.*]] = dlc.exp %[[T]]
// CHECK: dlc.yield %[[T]], %[[E]]
// CHECK: %[[P:.*]] = dlc.matmul %arg0, %[[K]]#1
// CHECK: %[[S:.*]] = dlc.fused(%[[K]]#0, %[[P]])
// CHECK: return %[[S]], %[[K]]#1
func.func @two_outputs(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = dlc.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dlc.exp %0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.matmul %x, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = dlc.add %0, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----
// A view that regroups dimensions, and a constant that a library reads, need memory.
// CHECK-LABEL: func @memory
// CHECK: %[[C:.*]] = dlc.fused() : () -> tensor<8x8xf32>
// CHECK: dlc.constant
// CHECK: %[[Y:.*]] = dlc.matmul %arg0, %[[C]]
// CHECK: %[[V:.*]] = dlc.reshape %[[Y]]
// CHECK: dlc.fused(%[[V]]) : (tensor<64xf32>)
// CHECK: dlc.exp
func.func @memory(%x: tensor<8x8xf32>) -> tensor<64xf32> {
  %c = dlc.constant dense<0.5> : tensor<8x8xf32>
  %0 = dlc.matmul %x, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dlc.reshape %0 : (tensor<8x8xf32>) -> tensor<64xf32>
  %2 = dlc.exp %1 : (tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----
// Different index spaces are different kernels, even side by side.
// CHECK-LABEL: func @shapes
// CHECK-COUNT-2: dlc.fused(
// CHECK-NOT: dlc.fused(
// CHECK: return
func.func @shapes(%x: tensor<8x8xf32>, %z: tensor<65xf32>) -> (tensor<8x8xf32>, tensor<65xf32>) {
  %0 = dlc.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dlc.exp %z : (tensor<65xf32>) -> tensor<65xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<65xf32>
}

// -----
// Writes take effect at the end of the step, so they part nothing: update and average are one kernel.
// CHECK-LABEL: func @writes
// CHECK: %[[W:.*]] = dlc.read @w
// CHECK: %[[E:.*]] = dlc.read @e
// CHECK: %[[K:.*]]:2 = dlc.fused(
// CHECK: dlc.sub
// CHECK: dlc.lerp
// CHECK: dlc.yield
// CHECK-NOT: dlc.fused
// CHECK: dlc.write @w, %[[K]]#0
// CHECK: dlc.write @e, %[[K]]#1
dlc.state @w : tensor<8xf32> param init = "w" trainable
dlc.state @e : tensor<8xf32> ema init = @w of = @w
func.func @writes(%g: tensor<8xf32>, %t: tensor<f32>) {
  %w = dlc.read @w : tensor<8xf32>
  %w1 = dlc.sub %w, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @w, %w1 : tensor<8xf32>
  %e = dlc.read @e : tensor<8xf32>
  %e1 = dlc.lerp %e, %w1, %t : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  dlc.write @e, %e1 : tensor<8xf32>
  return
}

// -----
// Each concat doubles the places at which what is read through it is computed: the chain is several kernels.
// CHECK-LABEL: func @doubled
// CHECK: dlc.fused(%arg0) : (tensor<1x8xf32>) -> tensor<32x8xf32>
// CHECK: dlc.fused({{.*}}) : (tensor<32x8xf32>) -> tensor<4096x8xf32>
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @doubled(%0: tensor<1x8xf32>) -> tensor<4096x8xf32> {
  %1 = dlc.concat %0, %0 {axis = 0} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %2 = dlc.concat %1, %1 {axis = 0} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %3 = dlc.concat %2, %2 {axis = 0} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %4 = dlc.concat %3, %3 {axis = 0} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %5 = dlc.concat %4, %4 {axis = 0} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %6 = dlc.concat %5, %5 {axis = 0} : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  %7 = dlc.concat %6, %6 {axis = 0} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<128x8xf32>
  %8 = dlc.concat %7, %7 {axis = 0} : (tensor<128x8xf32>, tensor<128x8xf32>) -> tensor<256x8xf32>
  %9 = dlc.concat %8, %8 {axis = 0} : (tensor<256x8xf32>, tensor<256x8xf32>) -> tensor<512x8xf32>
  %10 = dlc.concat %9, %9 {axis = 0} : (tensor<512x8xf32>, tensor<512x8xf32>) -> tensor<1024x8xf32>
  %11 = dlc.concat %10, %10 {axis = 0} : (tensor<1024x8xf32>, tensor<1024x8xf32>) -> tensor<2048x8xf32>
  %12 = dlc.concat %11, %11 {axis = 0} : (tensor<2048x8xf32>, tensor<2048x8xf32>) -> tensor<4096x8xf32>
  return %12 : tensor<4096x8xf32>
}
