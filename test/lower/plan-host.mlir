// RUN: %dlc-opt %s --dlc-plan-memory | FileCheck %s
// RUN: %dlc-opt %s --dlc-plan-memory | FileCheck %s --check-prefix=BUSY

// The first tensor has left the host's memory when the second one takes its place there. What a copy reads or writes on the
// device is occupied from its start to the wait for it. A tensor that has been fetched may be overwritten.
// BUSY: exec.offload %[[A:[0-9]+]] to
// BUSY-NOT: outs(%[[A]] :
// BUSY: exec.wait_copy %[[A]] copy = 0
// CHECK: exec.region @host "host" bytes = 64
// CHECK: exec.program @step
// CHECK: %[[H:[0-9]+]] = exec.buffer @host at 0 : memref<16xf32>
// CHECK: exec.launch @{{.*}} outs(%[[A:[0-9]+]] :
// CHECK-NEXT: exec.offload %[[A]] to %[[H]] copy = 0
// CHECK-NEXT: exec.launch @{{.*}} outs(%[[B:[0-9]+]] :
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[B]] : memref<16xf32>) outs(%[[C:[0-9]+]] :
// CHECK-NEXT: exec.wait_copy %[[A]] copy = 0
// CHECK-NEXT: exec.fetch %[[H]] to %[[F:[0-9]+]] copy = 1
// CHECK-NEXT: exec.wait_copy %[[F]] copy = 1
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[F]] : memref<16xf32>) outs(%[[F]] :
// CHECK-NEXT: exec.offload %[[C]] to %[[H]] copy = 2
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = dlc.fused(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%v: tensor<16xf32>):
    %0 = dlc.exp %v : (tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  %h = dlc.offload %a : (tensor<16xf32>) -> tensor<16xf32, "host">
  %b = dlc.fused(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%v: tensor<16xf32>):
    %0 = dlc.neg %v : (tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  %c = dlc.fused(%b) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%v: tensor<16xf32>):
    %0 = dlc.tanh %v : (tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  %k = dlc.wait_copy %h, %a : (tensor<16xf32, "host">, tensor<16xf32>) -> tensor<16xf32, "host">
  %f = dlc.fetch %k : (tensor<16xf32, "host">) -> tensor<16xf32>
  %y = dlc.wait_copy %f, %k : (tensor<16xf32>, tensor<16xf32, "host">) -> tensor<16xf32>
  %d = dlc.fused(%y) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%v: tensor<16xf32>):
    %0 = dlc.exp %v : (tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  %h2 = dlc.offload %c : (tensor<16xf32>) -> tensor<16xf32, "host">
  %k2 = dlc.wait_copy %h2, %c : (tensor<16xf32, "host">, tensor<16xf32>) -> tensor<16xf32, "host">
  %f2 = dlc.fetch %k2 : (tensor<16xf32, "host">) -> tensor<16xf32>
  %y2 = dlc.wait_copy %f2, %k2 : (tensor<16xf32>, tensor<16xf32, "host">) -> tensor<16xf32>
  %e = dlc.fused(%d, %y2) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%v: tensor<16xf32>, %w: tensor<16xf32>):
    %0 = dlc.add %v, %w : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    dlc.yield %0 : tensor<16xf32>
  }
  return %e : tensor<16xf32>
}
