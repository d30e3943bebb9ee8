// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=33554432 offload=only" | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=33554432 offload=only" --dlc-plan-memory | FileCheck %s --check-prefix=PLAN
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=33554432" 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=33554432 offload=off" 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=29360128" 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=29360128 offload=only" 2>&1 | FileCheck %s --check-prefix=WAITS

// The first product is idle longest. Its copy to the host starts behind its last use in the forward part, and its memory is
// released where the copy is predicted to be done; the copy back starts as late as it still arrives in time.
// CHECK-LABEL: func @train_step
// CHECK: %[[A:.*]] = dlc.matmul %arg0, %arg0
// CHECK-NEXT: dlc.matmul %[[A]], %arg0
// CHECK-NEXT: %[[H:.*]] = dlc.offload %[[A]]
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: %[[K:.*]] = dlc.wait_copy %[[H]], %[[A]]
// CHECK: dlc.reduce_sum
// CHECK: %[[F:.*]] = dlc.fetch %[[K]]
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: dlc.matmul
// CHECK-NEXT: %[[B:.*]] = dlc.wait_copy %[[F]], %[[K]]
// CHECK-NEXT: dlc.matmul %[[B]], %{{.*}}
// CHECK-NEXT: return

// A later product takes the memory of the first; that of the host is not counted.
// PLAN: exec.region @scratch "scratch" bytes = 33554432
// PLAN: exec.region @host "host" bytes = 4194304
// PLAN: %[[HOST:.*]] = exec.buffer @host at 0
// PLAN: exec.call "matmul" {{.*}} outs(%[[A:[0-9]+]] :
// PLAN: exec.offload %[[A]] to %[[HOST]] copy = 0
// PLAN: exec.wait_copy %[[A]] copy = 0
// PLAN-NEXT: exec.call "matmul" {{.*}} outs(%[[A]] :
// PLAN: exec.fetch %[[HOST]] to %[[B:.*]] copy = 1
// PLAN: exec.wait_copy %[[B]] copy = 1
// PLAN-NEXT: exec.call "matmul" ins(%[[B]],

// Copies that commands hide cost less than a product; where there is no time for more copies, products cost less.
// AUTO: remark: 32.0 MiB instead of 36.0 MiB: 4.00 MiB in 1 tensor goes to the host and back, in 0.184 ms beside other commands, which wait for 0 ms of that
// OFF: remark: 28.0 MiB instead of 36.0 MiB: 2 of 8 forward commands are computed again
// LESS: remark: 24.0 MiB instead of 36.0 MiB: 3 of 8 forward commands are computed again, {{[^;]*$}}
// WAITS: remark: 28.0 MiB instead of 36.0 MiB: 8.00 MiB in 2 tensors goes to the host and back, in 0.368 ms beside other commands, which wait for 0.139 ms of that
func.func @train_step(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<1024x1024xf32> {dlc.name = "g"}) {
  %a = dlc.matmul %x, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("a")
  %b = dlc.matmul %a, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("b")
  %c = dlc.matmul %b, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("c")
  %d = dlc.matmul %c, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("d")
  %e = dlc.matmul %d, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("e")
  %f = dlc.matmul %e, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("f")
  %h = dlc.matmul %f, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("h")
  %loss = dlc.reduce_sum %h {axes = array<i64: 0, 1>} : (tensor<1024x1024xf32>) -> tensor<f32>
  %g0 = dlc.matmul %f, %y : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["h"])
  %g1 = dlc.matmul %e, %g0 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["f"])
  %g2 = dlc.matmul %d, %g1 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["e"])
  %g3 = dlc.matmul %c, %g2 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %g4 = dlc.matmul %b, %g3 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["c"])
  %g5 = dlc.matmul %a, %g4 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["b"])
  return %loss, %g5 : tensor<f32>, tensor<1024x1024xf32>
}
