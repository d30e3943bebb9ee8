// RUN: %dlc-opt %s --dlc-decompose '--dlc-recompute-cheap=least=64' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-decompose --dlc-recompute-cheap --split-input-file | FileCheck %s --check-prefix=SMALL

// The gradient of the product reads y, which is made of x, that the backward part reads anyway, of a parameter and of one
// number a row: a chain in front of it reads those. The forward product reads what it read before.
// CHECK-LABEL: func @norm
// CHECK: %[[Y:.*]] = dlc.mul %{{.*}}, %arg4
// CHECK-NEXT: dlc.matmul %[[Y]], %arg2
// CHECK: %[[D:.*]] = dlc.matmul %arg3, %arg3
// CHECK-NEXT: %[[B:.*]] = dlc.broadcast %arg1
// CHECK-NEXT: %[[N:.*]] = dlc.mul %[[X:.*]], %[[B]]
// CHECK-NEXT: %[[A:.*]] = dlc.mul %[[N]], %arg4
// CHECK-NEXT: dlc.matmul %[[A]], %[[D]]
// CHECK-NEXT: dlc.mul %[[X]], %[[D]]
// What is small is kept.
// SMALL-LABEL: func @norm
// SMALL-COUNT-2: dlc.mul
// SMALL-NOT: dlc.broadcast
// SMALL: return
func.func @norm(%i: tensor<16x16xf32>, %r: tensor<16x1xf32>, %w: tensor<16x16xf32>, %g: tensor<16x16xf32>, %s: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = dlc.matmul %i, %i : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = dlc.broadcast %r : (tensor<16x1xf32>) -> tensor<16x16xf32>
  %n = dlc.mul %x, %b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = dlc.mul %n, %s : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = dlc.matmul %y, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dw = dlc.matmul %y, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dx = dlc.mul %x, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  return %p, %dw, %dx : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// -----
// Kept: what is made of an activation that nothing of the backward part reads, what costs more than to read it, and what is
// a result. A value that is kept is a leaf of others.
// CHECK-LABEL: func @kept
// CHECK: %[[R:.*]] = dlc.relu
// CHECK: %[[E:.*]] = dlc.exp %[[R]]
// CHECK: %[[M:.*]] = dlc.mul %[[R]], %[[R]]
// CHECK: %[[T:.*]] = dlc.neg %[[R]]
// CHECK: %[[D:.*]] = dlc.matmul
// CHECK-NEXT: dlc.matmul %[[R]], %[[D]]
// CHECK-NEXT: dlc.matmul %[[E]], %[[D]]
// CHECK-NEXT: %[[A:.*]] = dlc.mul %[[R]], %[[R]]
// CHECK-NEXT: dlc.matmul %[[A]], %[[D]]
// CHECK-NEXT: dlc.matmul %[[T]], %[[D]]
// CHECK-NEXT: return %{{.*}}, %[[T]],
func.func @kept(%i: tensor<16x16xf32>, %g: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = dlc.matmul %i, %i : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = dlc.relu %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = dlc.exp %r : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = dlc.mul %r, %r : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = dlc.matmul %e, %m : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %t = dlc.neg %r : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %1 = dlc.matmul %r, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %2 = dlc.matmul %e, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %3 = dlc.matmul %m, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %4 = dlc.matmul %t, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  return %p, %t, %1, %2, %3, %4 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// -----
// A library's batch norm is repeated by the statistics that it saved. With a residual it is kept.
// CHECK-LABEL: func @batch_norm
// CHECK: %[[Y:[^,]*]], %[[M:.*]], %[[R:.*]] = dlc.fused_batch_norm %[[X:.*]], %arg1, %arg2 {
// CHECK: %[[Z:[^,]*]], %{{.*}}, %{{.*}} = dlc.fused_batch_norm
// CHECK: dlc.matmul
// CHECK: %[[F:.*]] = dlc.mul %arg1, %[[R]]
// CHECK: %[[S:.*]] = dlc.sub %[[X]],
// CHECK: %[[N:.*]] = dlc.mul %[[S]],
// CHECK: %[[A:.*]] = dlc.add %[[N]],
// CHECK: %[[L:.*]] = dlc.relu %[[A]]
// CHECK: dlc.mul %[[L]],
// CHECK: dlc.mul %[[Z]],
func.func @batch_norm(%i: tensor<1x8x8x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>, %g: tensor<16x16xf32>)
    -> (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<16x16xf32>, tensor<1x8x8x4xf32>) {
  %x = dlc.exp %i : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %y, %m, %r = dlc.fused_batch_norm %x, %w, %b {epsilon = 1.0e-05 : f64, relu}
      : (tensor<1x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %z, %n, %s = dlc.fused_batch_norm %x, %w, %b, %y {epsilon = 1.0e-05 : f64, relu}
      : (tensor<1x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1x8x8x4xf32>) -> (tensor<1x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %t = dlc.exp %z : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %1 = dlc.mul %y, %x : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> loc(fused<"gradient">["d"])
  %2 = dlc.mul %z, %x : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32> loc(fused<"gradient">["d"])
  return %t, %1, %2, %d, %x : tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<16x16xf32>, tensor<1x8x8x4xf32>
}

// -----
// A GELU is computed again with its gradient, and the product that reads it waits for that; not where another op needs the
// product's result before, also one that is no gradient: what adds up the gradients of micro-batches.
// CHECK-LABEL: func @gelu
// CHECK: %[[X:.*]] = dlc.matmul
// CHECK: %[[Y:.*]] = dlc.gelu %[[X]]
// CHECK: %[[D:.*]] = dlc.matmul %arg1, %arg1
// CHECK: dlc.erf
// CHECK: %[[A:.*]] = dlc.gelu %[[X]]
// CHECK-NEXT: dlc.mul %[[D]],
// CHECK-NEXT: dlc.matmul %[[A]], %[[D]]
// CHECK-LABEL: func @needed
// CHECK: %[[Y:.*]] = dlc.gelu
// CHECK: dlc.matmul %[[Y]], %[[D:.*]] :
// CHECK-NOT: dlc.gelu %
// CHECK: return
// CHECK-LABEL: func @summed
// CHECK: %[[Y:.*]] = dlc.gelu
// CHECK-NEXT: dlc.matmul %[[Y]], %[[Y]]
// CHECK-NEXT: %[[D:.*]] = dlc.matmul %arg1, %arg1
// CHECK-NEXT: %[[W:.*]] = dlc.matmul %[[Y]], %[[D]]
// CHECK-NEXT: dlc.add %arg2, %[[W]]
// CHECK-NOT: dlc.gelu %
// CHECK: return
func.func @gelu(%i: tensor<16x16xf32>, %g: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = dlc.matmul %i, %i : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = dlc.gelu %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = dlc.matmul %y, %y : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dw = dlc.matmul %y, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dx = dlc.gelu_backward %d, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  return %p, %dw, %dx : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
func.func @needed(%i: tensor<16x16xf32>, %g: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = dlc.matmul %i, %i : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = dlc.gelu %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = dlc.matmul %y, %y : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dw = dlc.matmul %y, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dx = dlc.gelu_backward %dw, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  return %p, %dx : tensor<16x16xf32>, tensor<16x16xf32>
}
func.func @summed(%i: tensor<16x16xf32>, %g: tensor<16x16xf32>, %s: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = dlc.matmul %i, %i : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = dlc.gelu %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = dlc.matmul %y, %y : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = dlc.matmul %g, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %dw = dlc.matmul %y, %d : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  %sum = dlc.add %s, %dw : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %dx = dlc.gelu_backward %d, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc(fused<"gradient">["d"])
  return %p, %sum, %dx : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
