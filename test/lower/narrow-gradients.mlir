// RUN: %dlc-opt %s --dlc-fuse --dlc-plan-memory --dlc-merge-launches | FileCheck %s

// Gradients that travel as halves lie at half their parameter's offset, behind those that do not: they are one range, and one
// launch updates both parameters.
// CHECK: exec.region @gradient "gradient" bytes = 416
// CHECK: exec.program @train_step
// CHECK-DAG: exec.buffer @gradient at 0 : memref<f32>
// CHECK-DAG: exec.buffer @gradient at 192 : memref<3xf32>
// CHECK-DAG: exec.buffer @gradient at 320 : memref<19xbf16>
// CHECK-DAG: %[[P:[0-9a-z]+]] = exec.buffer @param at 0 : memref<19xf32>
// CHECK: exec.all_reduce %{{.*}} : memref<19xbf16>
// CHECK: exec.launch @{{.*}}flat{{.*}} ins(%{{.*}}, %[[P]] : {{.*}}) outs(%[[P]] :
dlc.state @a : tensor<4x4xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
dlc.state @c : tensor<3xf32> param init = "c" trainable
func.func @train_step(%x: tensor<4x4xf32>, %y: tensor<3xf32>, %l: tensor<f32>) -> tensor<f32> {
  %loss = dlc.neg %l : (tensor<f32>) -> tensor<f32>
  %mean = dlc.all_reduce %loss {bucket = 0 : i64} : (tensor<f32>) -> tensor<f32>
  %0 = dlc.cast %x : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %1 = dlc.all_reduce %0 {bucket = 1 : i64, of = @a} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %2 = dlc.cast %y : (tensor<3xf32>) -> tensor<3xbf16>
  %3 = dlc.all_reduce %2 {bucket = 1 : i64, of = @b} : (tensor<3xbf16>) -> tensor<3xbf16>
  %4 = dlc.neg %y : (tensor<3xf32>) -> tensor<3xf32>
  %5 = dlc.all_reduce %4 {bucket = 1 : i64, of = @c} : (tensor<3xf32>) -> tensor<3xf32>
  %a = dlc.read @a : tensor<4x4xf32>
  %b = dlc.read @b : tensor<3xf32>
  %c = dlc.read @c : tensor<3xf32>
  %da = dlc.cast %1 : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %db = dlc.cast %3 : (tensor<3xbf16>) -> tensor<3xf32>
  %a1 = dlc.sub %a, %da : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b1 = dlc.sub %b, %db : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %c1 = dlc.sub %c, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  dlc.write @a, %a1 : tensor<4x4xf32>
  dlc.write @b, %b1 : tensor<3xf32>
  dlc.write @c, %c1 : tensor<3xf32>
  return %mean : tensor<f32>
}
