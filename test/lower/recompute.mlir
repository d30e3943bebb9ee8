// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=nodes=relu --split-input-file | FileCheck %s --check-prefixes=CHECK,RELU
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=nodes=relu,first" --split-input-file | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=nodes=other --split-input-file | FileCheck %s --check-prefixes=CHECK,NONE

// A product of the backward part reads the relu's result. A copy of the relu's whole cluster stands in front of that
// product and reads what the cluster read, or a copy of that; what comes later reads the same copies.
// CHECK-LABEL: func @chain
// CHECK: %[[M:.*]] = dlc.matmul %arg0, %arg0
// CHECK: %[[R:.*]]:2 = dlc.fused(%[[M]])
// CHECK: dlc.matmul %[[R]]#1, %[[R]]#1
// CHECK: %[[L:.*]] = dlc.fused
// CHECK: %[[D:.*]] = dlc.matmul %arg1, %arg1
// RELU-NEXT: %[[A:.*]]:2 = dlc.fused(%[[M]])
// RELU: dlc.relu
// RELU-NEXT: dlc.tanh
// RELU-NEXT: dlc.yield
// RELU: %[[G:.*]] = dlc.matmul %[[A]]#0, %[[D]]
// RELU-NEXT: dlc.matmul %[[M]], %[[G]]
// BOTH-NEXT: %[[N:.*]] = dlc.matmul %arg0, %arg0
// BOTH-NEXT: %[[A:.*]]:2 = dlc.fused(%[[N]])
// BOTH: %[[G:.*]] = dlc.matmul %[[A]]#0, %[[D]]
// BOTH-NEXT: dlc.matmul %[[N]], %[[G]]
// NONE-NEXT: %[[G:.*]] = dlc.matmul %[[R]]#0, %[[D]]
// NONE-NEXT: dlc.matmul %[[M]], %[[G]]
// CHECK: return %[[L]]
func.func @chain(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<4x4xf32> {dlc.name = "g"}) {
  %m = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
  %r = dlc.relu %m : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("relu")
  %t = dlc.tanh %r : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = dlc.matmul %t, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %d = dlc.matmul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %r, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %h = dlc.matmul %m, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  return %loss, %h : tensor<f32>, tensor<4x4xf32>
}

// -----
// What nothing of the backward part reads would have to be kept for the copy, so it is computed again, too. A view of a copy
// is a view again.
// CHECK-LABEL: func @through
// CHECK: %[[M:.*]] = dlc.matmul %arg0, %arg0
// CHECK: dlc.fused
// CHECK: dlc.matmul %arg1, %arg1
// RELU: dlc.matmul %arg0, %arg0
// RELU-NEXT: %[[A:.*]] = dlc.fused
// RELU: %[[V:.*]] = dlc.reshape %[[A]]
// RELU-NEXT: dlc.matmul %{{.*}}, %[[V]]
// NONE-NOT: dlc.matmul %arg0, %arg0
// CHECK: return
func.func @through(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<2x2xf32> {dlc.name = "g"}) {
  %m = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = dlc.relu %m : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("relu")
  %p = dlc.matmul %r, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %v = dlc.reshape %r : (tensor<4x4xf32>) -> tensor<8x2xf32>
  %d = dlc.matmul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %w = dlc.reshape %d : (tensor<4x4xf32>) -> tensor<2x8xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %w, %v : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32> loc(fused<"gradient">["d"])
  return %loss, %g : tensor<f32>, tensor<2x2xf32>
}

// -----
// The new value of a state is there to the end anyway; nor is there anything to repeat without gradients.
// CHECK-LABEL: func @states
// CHECK-COUNT-1: dlc.relu
// CHECK-NOT: dlc.relu
dlc.state @s : tensor<4x4xf32> buffer init = 0.0 : f32
func.func @states(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<4x4xf32> {dlc.name = "g"}) {
  %r = dlc.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("relu")
  %p = dlc.matmul %r, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %d = dlc.matmul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %r, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  dlc.write @s, %r : tensor<4x4xf32>
  return %loss, %g : tensor<f32>, tensor<4x4xf32>
}

// -----
// CHECK-LABEL: func @predict
// CHECK-COUNT-1: dlc.relu
// CHECK-NOT: dlc.relu
func.func @predict(%x: tensor<4x4xf32>) -> (tensor<4x4xf32> {dlc.name = "y"}) {
  %r = dlc.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("relu")
  %p = dlc.matmul %r, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = dlc.matmul %r, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %q : tensor<4x4xf32>
}
