// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute=memory=81984 --dlc-plan-memory 2>&1 | FileCheck %s

// Functions share their scratch memory: each of them must fit for the plan to fit.
// CHECK: remark: 80.1 KiB instead of 96.1 KiB
// CHECK: remark: 80.1 KiB instead of 96.1 KiB
// CHECK: exec.region @scratch "scratch" bytes = 81984
func.func @accumulate_step(%x: tensor<64x64xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<64x64xf32> {dlc.name = "g"}) {
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
