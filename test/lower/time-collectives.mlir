// RUN: %dlc-opt %s --dlc-time-collectives | FileCheck %s
// RUN: %dlc-opt %s --dlc-time-collectives="ahead=0" | FileCheck %s --check-prefix=ALONE

// Three layers there and back, each its own bucket. Two are in memory at a time: c takes a's place as soon as that was used, beside
// the use of b; both stay for the way back, until a takes c's place.
// CHECK-LABEL: func @step
// CHECK: %[[A:.*]] = dlc.all_gather %{{.*}} {bucket = 0 : i64} : (tensor<4096xf32, @a>)
// CHECK: %[[B:.*]] = dlc.all_gather %{{.*}} {bucket = 1 : i64} : (tensor<4096xf32, @b>)
// CHECK: dlc.fused(%[[A]])
// CHECK: %[[C:.*]] = dlc.all_gather %{{.*}} {bucket = 2 : i64} : (tensor<4096xf32, @c>)
// CHECK: dlc.fused(%[[B]])
// CHECK: dlc.fused(%[[C]])
// CHECK: dlc.fused(%[[C]])
// CHECK: %[[AGAIN:.*]] = dlc.all_gather %{{.*}} {bucket = 3 : i64} : (tensor<4096xf32, @a>)
// CHECK: dlc.fused(%[[B]])
// CHECK-NOT: all_gather
// CHECK: dlc.fused(%[[AGAIN]])

// What only reads parameters gathers them, too; views are of what was gathered.
// CHECK-LABEL: func @look
// CHECK: %[[ALL:.*]] = dlc.all_gather %{{.*}} {bucket = 0 : i64} : (tensor<4096xf32, @b>)
// CHECK: dlc.reshape %[[ALL]]

// With no bucket ahead one is in memory at a time, and that at the turn is gathered once.
// ALONE-LABEL: func @step
// ALONE: dlc.all_gather
// ALONE: dlc.fused
// ALONE: dlc.all_gather
// ALONE: dlc.fused
// ALONE: dlc.all_gather
// ALONE: dlc.fused
// ALONE-NOT: dlc.all_gather
// ALONE: dlc.fused
// ALONE: dlc.all_gather
// ALONE: dlc.fused
// ALONE: dlc.all_gather
dlc.state @a : tensor<4096xf32, @a> param init = "a" trainable {dlc.together = array<i64: 2, 2>}
dlc.state @b : tensor<4096xf32, @b> param init = "b" trainable {dlc.together = array<i64: 1, 1>}
dlc.state @c : tensor<4096xf32, @c> param init = "c" trainable {dlc.together = array<i64: 0, 0>}
func.func @step() {
  %pa = dlc.read @a : tensor<4096xf32, @a>
  %a = dlc.all_gather %pa : (tensor<4096xf32, @a>) -> tensor<4096xf32>
  %pb = dlc.read @b : tensor<4096xf32, @b>
  %b = dlc.all_gather %pb : (tensor<4096xf32, @b>) -> tensor<4096xf32>
  %pc = dlc.read @c : tensor<4096xf32, @c>
  %c = dlc.all_gather %pc : (tensor<4096xf32, @c>) -> tensor<4096xf32>
  %u0 = dlc.fused(%a) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %u1 = dlc.fused(%b) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %u2 = dlc.fused(%c) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %u3 = dlc.fused(%c) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %u4 = dlc.fused(%b) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  %u5 = dlc.fused(%a) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = dlc.exp %p : (tensor<4096xf32>) -> tensor<4096xf32>
    dlc.yield %0 : tensor<4096xf32>
  }
  return
}
func.func @look() -> tensor<64x64xf32> {
  %pb = dlc.read @b : tensor<4096xf32, @b>
  %b = dlc.all_gather %pb : (tensor<4096xf32, @b>) -> tensor<4096xf32>
  %v = dlc.reshape %b : (tensor<4096xf32>) -> tensor<64x64xf32>
  %y = dlc.fused(%v) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%p: tensor<64x64xf32>):
    %0 = dlc.exp %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
    dlc.yield %0 : tensor<64x64xf32>
  }
  return %y : tensor<64x64xf32>
}
