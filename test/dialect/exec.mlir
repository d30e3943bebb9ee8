// RUN: %dlc-opt %s | %dlc-opt | FileCheck %s

// Every op of exec, printed and read back.
// CHECK: exec.region @param "state" bytes = 128
exec.region @param "state" bytes = 128
exec.region @gradient "gradient" bytes = 64
exec.region @scratch "scratch" bytes = 64
// CHECK: exec.state @w : tensor<4x4xf32> "param" in @param at 0 init = "w" trainable
exec.state @w : tensor<4x4xf32> "param" in @param at 0 init = "w" trainable
// CHECK: exec.state @w.m : tensor<4x4xf32> "moment" in @param at 64 init = 0.000000e+00 : f32 of = @w
exec.state @w.m : tensor<4x4xf32> "moment" in @param at 64 init = 0.0 : f32 of = @w
// CHECK: exec.part @param at 64 bytes = 64 item = 48 extent = 2
exec.part @param at 64 bytes = 64 item = 48 extent = 2
// CHECK: exec.program @train_step scratch = 64 {
exec.program @train_step scratch = 64 {
  // CHECK: %[[W:.*]] = exec.buffer @param at 0 : memref<4x4xf32>
  %w = exec.buffer @param at 0 : memref<4x4xf32>
  %g = exec.buffer @gradient at 0 : memref<4x4xf32>
  %x = exec.buffer @scratch at 0 : memref<4x4xf32>
  // CHECK: exec.port "input" "x" %{{.*}} {limit = 7 : i64} : memref<4x4xf32>
  exec.port "input" "x" %x {limit = 7 : i64} : memref<4x4xf32>
  // CHECK: exec.port "output" "y" %{{.*}} : memref<4x4xf32>
  exec.port "output" "y" %x : memref<4x4xf32>
  // CHECK: exec.call "matmul" ins(%{{.*}}, %{{.*}} : memref<4x4xf32>, memref<4x4xf32>) outs(%{{.*}} : memref<4x4xf32>) {trans_a} {flops = 128 : i64}
  exec.call "matmul" ins(%x, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%g : memref<4x4xf32>) {trans_a} {flops = 128 : i64}
  // CHECK: exec.all_reduce %{{.*}} bucket = 0 : memref<4x4xf32>
  exec.all_reduce %g bucket = 0 : memref<4x4xf32>
  // CHECK: exec.all_reduce %{{.*}} bucket = 1 op = "sum" ahead : memref<4x4xf32>
  exec.all_reduce %g bucket = 1 op = "sum" ahead : memref<4x4xf32>
  // CHECK: exec.wait %{{.*}} bucket = 0 : memref<4x4xf32>
  exec.wait %g bucket = 0 : memref<4x4xf32>
  // CHECK: exec.launch @k ins(%{{.*}}, %[[W]] : memref<4x4xf32>, memref<4x4xf32>) outs(%[[W]] : memref<4x4xf32>)
  exec.launch @k ins(%g, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%w : memref<4x4xf32>)
  // CHECK: exec.copy %{{.*}} to %{{.*}} : memref<4x4xf32>, memref<4x4xf32>
  exec.copy %g to %x : memref<4x4xf32>, memref<4x4xf32>
}
// CHECK: exec.kernel @k schedule = #exec.schedule<columns, outer = {{\[\[}}0, 1]: 16], inner = {{\[\[}}2]: 3], block = 16, grain = 2, flops = 5, bytes = 7> {
exec.kernel @k schedule = #exec.schedule<columns, outer = [[0, 1]: 16], inner = [[2]: 3], block = 16, grain = 2, flops = 5, bytes = 7> {
^bb0(%g: tensor<4x4xf32>, %w: tensor<4x4xf32>):
  %0 = dlc.add %g, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.yield %0 : tensor<4x4xf32>
}

// What follows waits for all threads.
// CHECK: exec.kernel @last {
exec.kernel @last {
^bb0(%x: tensor<4x4xf32>):
  %0 = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: exec.last
  exec.last
  // CHECK-NEXT: dlc.neg
  %1 = dlc.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  dlc.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK: exec.kernel @beside {
exec.kernel @beside {
^bb0(%x: tensor<4xf32>, %y: tensor<8xf32>):
  %0 = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: exec.beside
  exec.beside
  // CHECK-NEXT: dlc.exp
  %1 = dlc.exp %y : (tensor<8xf32>) -> tensor<8xf32>
  dlc.yield %0, %1 : tensor<4xf32>, tensor<8xf32>
}

// How kernels lie on threads.
// CHECK: exec.kernel @sparse schedule = #exec.schedule<{{.*}}> threads = #exec.threads<grid = 3, block = 64, vector = 2, across = 32, chunks = 4, index = 64, sparse> {
exec.kernel @sparse schedule = #exec.schedule<rows> threads = #exec.threads<grid = 3, block = 64, vector = 2, across = 32, chunks = 4, index = 64, sparse> {
^bb0(%g: tensor<4x4xf32>):
  dlc.yield %g : tensor<4x4xf32>
}
// CHECK: exec.kernel @registers schedule = #exec.schedule<{{.*}}> threads = #exec.threads<grid = 0, block = 1, registers> {
exec.kernel @registers schedule = #exec.schedule<rows> threads = #exec.threads<vector = 1, registers> {
^bb0(%g: tensor<4x4xf32>):
  dlc.yield %g : tensor<4x4xf32>
}
// CHECK: exec.kernel @transposed schedule = #exec.schedule<{{.*}}> threads = #exec.threads<grid = 1, block = 256, transposed = 1> {
exec.kernel @transposed schedule = #exec.schedule<rows> threads = #exec.threads<grid = 1, block = 256, index = 32, transposed = 1> {
^bb0(%g: tensor<4x4xf32>):
  dlc.yield %g : tensor<4x4xf32>
}
// CHECK: exec.kernel @product schedule = #exec.schedule<{{.*}}> threads = #exec.threads<grid = 8, block = 256, vector = 4, tile = 128x64x32, warps = 4x2, left = depth x 8 copied, right = outer x 2> {
exec.kernel @product schedule = #exec.schedule<rows> threads = #exec.threads<grid = 8, block = 256, vector = 4, tile = 128x64x32, warps = 4x2, slots = 2, left = depth x 8 copied, right = outer x 2> {
^bb0(%g: tensor<4x4xf32>):
  dlc.yield %g : tensor<4x4xf32>
}
// CHECK: exec.kernel @attention schedule = #exec.schedule<{{.*}}> threads = #exec.threads<grid = 8, block = 128, tile = 64x16, warps = 4x1, slots = 1> {
exec.kernel @attention schedule = #exec.schedule<whole> threads = #exec.threads<grid = 8, block = 128, tile = 64x16, warps = 4x1, slots = 1> {
^bb0(%g: tensor<4x4xf32>):
  dlc.yield %g : tensor<4x4xf32>
}
