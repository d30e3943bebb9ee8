// RUN: %dlc-opt %s --dlc-merge-launches --split-input-file | FileCheck %s

// Updates of 16 and 3 elements that lie 64 bytes apart in every region become one of 19, with the
// same scalar. Other values keep their buffers; kernels and buffers that nobody uses are gone.
// CHECK: exec.program @step
// CHECK-DAG: %[[LR:[0-9a-z]+]] = exec.buffer @scratch at 0 : memref<f32>
// CHECK-DAG: %[[W:[0-9a-z]+]] = exec.buffer @param at 0 : memref<19xf32>
// CHECK-DAG: %[[G:[0-9a-z]+]] = exec.buffer @gradient at 64 : memref<19xf32>
// CHECK-NOT: exec.buffer {{.*}} memref<3xf32>
// CHECK: exec.launch @[[K:.*]] ins(%[[W]], %[[G]], %[[LR]] : memref<19xf32>, memref<19xf32>, memref<f32>) outs(%[[W]] : memref<19xf32>)
// CHECK-NOT: exec.launch
// CHECK-NOT: exec.kernel @big
// CHECK: exec.kernel @[[K]]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<19xf32>, %{{.*}}: tensor<19xf32>, %{{.*}}: tensor<f32>):
// CHECK: dlc.constant dense<2.000000e+00> : tensor<19xf32>
// CHECK: dlc.yield %{{.*}} : tensor<19xf32>
// CHECK-NOT: exec.kernel
exec.region @param "state" bytes = 128
exec.region @gradient "gradient" bytes = 192
exec.region @scratch "scratch" bytes = 64
exec.program @step scratch = 64 {
  %lr = exec.buffer @scratch at 0 : memref<f32>
  %w = exec.buffer @param at 0 : memref<4x4xf32>
  %b = exec.buffer @param at 64 : memref<3xf32>
  %dw = exec.buffer @gradient at 64 : memref<4x4xf32>
  %db = exec.buffer @gradient at 128 : memref<3xf32>
  exec.port "input" "lr" %lr : memref<f32>
  exec.launch @big ins(%w, %dw, %lr : memref<4x4xf32>, memref<4x4xf32>, memref<f32>) outs(%w : memref<4x4xf32>)
  exec.launch @small ins(%b, %db, %lr : memref<3xf32>, memref<3xf32>, memref<f32>) outs(%b : memref<3xf32>)
}
exec.kernel @big {
^bb0(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>, %lr: tensor<f32>):
  %two = dlc.constant dense<2.0> : tensor<4x4xf32>
  %0 = dlc.mul %g, %two : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.mul %0, %lr : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = dlc.sub %w, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.yield %2 : tensor<4x4xf32>
}
exec.kernel @small {
^bb0(%w: tensor<3xf32>, %g: tensor<3xf32>, %lr: tensor<f32>):
  %two = dlc.constant dense<2.0> : tensor<3xf32>
  %0 = dlc.mul %g, %two : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = dlc.mul %0, %lr : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = dlc.sub %w, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  dlc.yield %2 : tensor<3xf32>
}

// -----
// Not merged: another kernel (@weaker, one constant differs) and a buffer that does not follow (@c, at 192).
// CHECK: exec.program @different
// CHECK: exec.launch @scale
// CHECK-NEXT: exec.launch @weaker
// CHECK-NEXT: exec.launch @scale
// CHECK-NOT: exec.launch
// CHECK-NOT: _flat
exec.region @param "state" bytes = 256
exec.program @different scratch = 0 {
  %a = exec.buffer @param at 0 : memref<16xf32>
  %b = exec.buffer @param at 64 : memref<16xf32>
  %c = exec.buffer @param at 192 : memref<16xf32>
  exec.launch @scale ins(%a : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.launch @weaker ins(%b : memref<16xf32>) outs(%b : memref<16xf32>)
  exec.launch @scale ins(%c : memref<16xf32>) outs(%c : memref<16xf32>)
}
exec.kernel @scale {
^bb0(%w: tensor<16xf32>):
  %s = dlc.constant dense<2.0> : tensor<f32>
  %0 = dlc.mul %w, %s : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}
exec.kernel @weaker {
^bb0(%w: tensor<16xf32>):
  %s = dlc.constant dense<1.5> : tensor<f32>
  %0 = dlc.mul %w, %s : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}

// -----
// Not merged: each launch has a learning rate of its own.
// CHECK: exec.program @scalars
// CHECK-COUNT-2: exec.launch @scale
// CHECK-NOT: _flat
exec.region @param "state" bytes = 128
exec.region @scratch "scratch" bytes = 128
exec.program @scalars scratch = 128 {
  %r = exec.buffer @scratch at 0 : memref<f32>
  %s = exec.buffer @scratch at 64 : memref<f32>
  %a = exec.buffer @param at 0 : memref<16xf32>
  %b = exec.buffer @param at 64 : memref<16xf32>
  exec.launch @scale ins(%a, %r : memref<16xf32>, memref<f32>) outs(%a : memref<16xf32>)
  exec.launch @scale ins(%b, %s : memref<16xf32>, memref<f32>) outs(%b : memref<16xf32>)
}
exec.kernel @scale {
^bb0(%w: tensor<16xf32>, %s: tensor<f32>):
  %0 = dlc.mul %w, %s : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}

// -----
// A merged launch stands at the place of its last: a command in between that reads what the first
// wrote forbids it (@a), and one that touches neither does not (@c and @d, behind the call).
// CHECK: exec.program @between
// CHECK: exec.launch @negate ins(%[[A:[0-9a-z]+]]
// CHECK-NEXT: exec.call "matmul" ins(%[[A]], %[[A]]
// CHECK-NEXT: exec.launch @negate
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch @[[K:negate_flat.*]] ins(%{{.*}} : memref<32xf32>)
// CHECK-NOT: exec.launch
// CHECK: exec.kernel @[[K]]
exec.region @param "state" bytes = 128
exec.region @buffer "state" bytes = 128
exec.region @scratch "scratch" bytes = 128
exec.program @between scratch = 128 {
  %a = exec.buffer @param at 0 : memref<4x4xf32>
  %b = exec.buffer @param at 64 : memref<4x4xf32>
  %c = exec.buffer @buffer at 0 : memref<4x4xf32>
  %d = exec.buffer @buffer at 64 : memref<4x4xf32>
  %s = exec.buffer @scratch at 0 : memref<4x4xf32>
  %t = exec.buffer @scratch at 64 : memref<4x4xf32>
  exec.launch @negate ins(%a : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  exec.call "matmul" ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%s : memref<4x4xf32>) {has_bias = 0 : i64}
  exec.launch @negate ins(%b : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  exec.launch @negate ins(%c : memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  exec.call "matmul" ins(%s, %s : memref<4x4xf32>, memref<4x4xf32>) outs(%t : memref<4x4xf32>) {has_bias = 0 : i64}
  exec.launch @negate ins(%d : memref<4x4xf32>) outs(%d : memref<4x4xf32>)
}
exec.kernel @negate {
^bb0(%w: tensor<4x4xf32>):
  %0 = dlc.neg %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.yield %0 : tensor<4x4xf32>
}

// -----
// Nor is a wait passed by: @b's gradient may be read behind it only, so @a's update moves there.
// CHECK: exec.program @waits
// CHECK: exec.wait {{.*}} bucket = 0
// CHECK-NEXT: exec.wait {{.*}} bucket = 1
// CHECK-NEXT: exec.launch @{{.*}}_flat{{.*}} : memref<32xf32>, memref<32xf32>)
// CHECK-NOT: exec.launch
exec.region @param "state" bytes = 128
exec.region @gradient "gradient" bytes = 128
exec.program @waits scratch = 0 {
  %a = exec.buffer @param at 0 : memref<16xf32>
  %b = exec.buffer @param at 64 : memref<16xf32>
  %da = exec.buffer @gradient at 0 : memref<16xf32>
  %db = exec.buffer @gradient at 64 : memref<16xf32>
  exec.all_reduce %da bucket = 0 : memref<16xf32>
  exec.all_reduce %db bucket = 1 : memref<16xf32>
  exec.wait %da bucket = 0 : memref<16xf32>
  exec.launch @update ins(%a, %da : memref<16xf32>, memref<16xf32>) outs(%a : memref<16xf32>)
  exec.wait %db bucket = 1 : memref<16xf32>
  exec.launch @update ins(%b, %db : memref<16xf32>, memref<16xf32>) outs(%b : memref<16xf32>)
}
exec.kernel @update {
^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
  %0 = dlc.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  dlc.yield %0 : tensor<16xf32>
}
