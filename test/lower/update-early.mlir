// RUN: %dlc-opt %s --dlc-update-early=least=64 | FileCheck %s
// RUN: %dlc-opt %s --dlc-update-early=least=64 --dlc-plan-memory | FileCheck %s --check-prefix=PLAN

dlc.state @a : tensor<8x4xf32> param init = "a" trainable
dlc.state @b : tensor<4xf32> param init = "b" trainable
dlc.state @c : tensor<4x4xf32> param init = "c" trainable
dlc.state @lr : tensor<f32> step init = 1.0

// The gradient of c is there first, but the product behind it reads c. The rate is computed at the beginning. Small states
// lie in front.
// CHECK-LABEL: func @train_step
// CHECK: dlc.read @lr
// CHECK-NEXT: %[[RATE:.*]] = dlc.fused
// CHECK: %[[DC:.*]] = dlc.matmul %arg1, %arg2
// CHECK: %[[DX:.*]] = dlc.matmul %arg2
// CHECK-NEXT: %[[C:.*]] = dlc.fused(%{{.*}}, %[[DC]], %[[RATE]])
// CHECK: %[[DA:.*]] = dlc.matmul %arg0, %[[DX]]
// CHECK-NEXT: %[[A:.*]] = dlc.fused(%{{.*}}, %[[DA]], %[[RATE]])
// CHECK: %[[B:.*]] = dlc.fused
// CHECK: dlc.write @b, %[[B]]
// CHECK: dlc.write @a, %[[A]]
// CHECK: dlc.write @c, %[[C]]

// Each in place.
// PLAN: exec.state @a : tensor<8x4xf32> "param" in @param at 64
// PLAN: exec.state @b : tensor<4xf32> "param" in @param at 0
// PLAN: exec.state @c : tensor<4x4xf32> "param" in @param at 192
// PLAN: exec.program @train_step
// PLAN-NOT: exec.copy
// PLAN: exec.program @sends
func.func @train_step(%x: tensor<8x2xf32>, %h: tensor<4x2xf32>, %dy: tensor<2x4xf32>, %db: tensor<4xf32>) {
  %a = dlc.read @a : tensor<8x4xf32>
  %b = dlc.read @b : tensor<4xf32>
  %c = dlc.read @c : tensor<4x4xf32>
  %dc = dlc.matmul %h, %dy by = library : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %dx = dlc.matmul %dy, %c by = library : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %da = dlc.matmul %x, %dx by = library : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %lr = dlc.read @lr : tensor<f32>
  %rate = dlc.fused(%lr) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%l: tensor<f32>):
    %r = dlc.sqrt %l : (tensor<f32>) -> tensor<f32>
    dlc.yield %r : tensor<f32>
  }
  %na = dlc.fused(%a, %da, %rate) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32> {
  ^bb0(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %r: tensor<f32>):
    %d = dlc.mul %r, %g : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %n = dlc.sub %p, %d : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    dlc.yield %n : tensor<8x4xf32>
  }
  %nb = dlc.fused(%b, %db, %rate) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>, %g: tensor<4xf32>, %r: tensor<f32>):
    %d = dlc.mul %r, %g : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %n = dlc.sub %p, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dlc.yield %n : tensor<4xf32>
  }
  %nc = dlc.fused(%c, %dc, %rate) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %g: tensor<4x4xf32>, %r: tensor<f32>):
    %d = dlc.mul %r, %g : (tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = dlc.sub %p, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    dlc.yield %n : tensor<4x4xf32>
  }
  dlc.write @a, %na : tensor<8x4xf32>
  dlc.write @b, %nb : tensor<4xf32>
  dlc.write @c, %nc : tensor<4x4xf32>
  return
}

// Gradients that travel are waited for behind all of the backward part.
// CHECK-LABEL: func @sends
// CHECK: dlc.matmul
// CHECK: dlc.matmul
// CHECK: dlc.fused
func.func @sends(%x: tensor<8x2xf32>, %dy: tensor<2x4xf32>, %loss: tensor<f32>) -> tensor<8x4xf32> {
  %a = dlc.read @a : tensor<8x4xf32>
  %da = dlc.matmul %x, %dy by = library : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %y = dlc.matmul %x, %dy by = library : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %mean = dlc.all_reduce %loss {bucket = 0 : i64} : (tensor<f32>) -> tensor<f32>
  %na = dlc.fused(%a, %da) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>):
    %n = dlc.sub %p, %g : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    dlc.yield %n : tensor<8x4xf32>
  }
  dlc.write @a, %na : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
