// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=memory=98368 | FileCheck %s --check-prefix=ALL
// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=memory=81984 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=memory=1 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=memory=81984 --dlc-plan-memory | FileCheck %s --check-prefix=PLAN

// The backward part reads %m, %r, %n and %s, of 16 kB each, and where the loss is computed these, the input and the
// loss' operand are alive. As much is enough. With a tensor less, the first relu is computed again: it costs least for a
// byte. What a limit cannot reach becomes as small as is found.
// ALL-COUNT-2: dlc.relu
// ALL-NOT: dlc.relu

// ONE: remark: 80.1 KiB instead of 96.1 KiB: 1 of 6 forward commands are computed again
// ONE: {{^module}}
// ONE-COUNT-7: = dlc.matmul
// ONE-NOT: = dlc.matmul

// LEAST: remark: 80.1 KiB instead of 96.1 KiB

// PLAN: exec.region @scratch "scratch" bytes = 81984
func.func @train_step(%x: tensor<64x64xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<64x64xf32> {dlc.name = "g"}) {
  %m = dlc.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("m")
  %r = dlc.relu %m : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("r")
  %n = dlc.matmul %r, %r : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("n")
  %s = dlc.relu %n : (tensor<64x64xf32>) -> tensor<64x64xf32> loc("s")
  %p = dlc.matmul %s, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("p")
  %loss = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<64x64xf32>) -> tensor<f32>
  %d = dlc.matmul %p, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc(fused<"gradient">["d"])
  %e = dlc.matmul %d, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc(fused<"gradient">["d"])
  %f = dlc.matmul %e, %r : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %f, %m : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc(fused<"gradient">["d"])
  return %loss, %g : tensor<f32>, tensor<64x64xf32>
}
