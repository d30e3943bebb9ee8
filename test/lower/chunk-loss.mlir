// RUN: %dlc-opt %s --dlc-chunk-loss=rows=64 --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-chunk-loss --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: %dlc-opt %s --dlc-chunk-loss=memory=65536 --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: %dlc-opt %s --dlc-chunk-loss=rows=64 --dlc-place --dlc-decompose --dlc-fuse --dlc-plan-memory --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PLAN
// RUN: %dlc-opt %s --dlc-chunk-loss=rows=64 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Pieces of 64, 64 and 22 rows, each from the product to the gradients before the next one. What a row has is read and
// written in ranges; the weight's and the bias's gradients add up in one place.
// CHECK-LABEL: func @train_step
// CHECK: %[[HA:.*]] = dlc.slice %{{.*}} {dlc.in_place, sizes = array<i64: 64, 8>, starts = array<i64: 0, 0>
// CHECK-NEXT: %[[XA:.*]] = dlc.matmul %[[HA]], %arg2, %arg3 {trans_b}
// CHECK-NEXT: %[[YA:.*]] = dlc.slice %arg1 {dlc.in_place, sizes = array<i64: 64>, starts = array<i64: 0>
// CHECK-NEXT: %[[LA:.*]], %[[EA:.*]] = dlc.softmax_cross_entropy %[[XA]], %[[YA]]
// CHECK: %[[GA:.*]] = dlc.softmax_cross_entropy_backward %{{.*}}, %[[XA]], %[[YA]], %[[EA]]
// CHECK-NEXT: %[[DA:.*]] = dlc.matmul %[[GA]], %arg2
// CHECK: %[[WA:.*]] = dlc.matmul %[[GA]], %{{.*}} {trans_a} : (tensor<64x100xf32>, tensor<64x8xf32>) -> tensor<100x8xf32>
// CHECK-NEXT: %[[BA:.*]] = dlc.reduce_sum %[[GA]] {axes = array<i64: 0>} : (tensor<64x100xf32>) -> tensor<100xf32>
// CHECK: dlc.slice %{{.*}} {dlc.in_place, sizes = array<i64: 64, 8>, starts = array<i64: 64, 0>
// CHECK: %[[WB:.*]] = dlc.matmul %{{.*}} {trans_a}
// CHECK: %[[W2:.*]] = dlc.add %[[WA]], %[[WB]] {dlc.overwrites}
// CHECK: dlc.add %[[BA]], %{{.*}} {dlc.overwrites}
// CHECK: dlc.slice %{{.*}} {dlc.in_place, sizes = array<i64: 22, 8>, starts = array<i64: 128, 0>
// CHECK: %[[WC:.*]] = dlc.matmul %{{.*}} {trans_a} : (tensor<22x100xf32>, tensor<22x8xf32>) -> tensor<100x8xf32>
// CHECK: %[[W3:.*]] = dlc.add %[[W2]], %[[WC]] {dlc.overwrites}
// CHECK: %[[B3:.*]] = dlc.add %{{.*}} {dlc.overwrites}
// CHECK: %[[L:.*]] = dlc.concat %[[LA]], %{{.*}} {axis = 0 : i64, dlc.in_place} : {{.*}} -> tensor<150xf32>
// CHECK: %[[X:.*]] = dlc.concat {{.*}} {axis = 0 : i64, dlc.in_place} : {{.*}} -> tensor<150x8xf32>
// CHECK: %[[XG:.*]] = dlc.reshape %[[X]] : (tensor<150x8xf32>) -> tensor<5x30x8xf32>
// CHECK: %[[M:.*]] = dlc.reduce_mean %[[L]]
// CHECK-NOT: 150x100
// CHECK: return %[[M]], %[[XG]], %[[W3]], %[[B3]]
// Little is left as it is.
// SMALL-LABEL: func @train_step
// SMALL: -> tensor<5x30x100xf32>
// Each sum is in the first one's place.
// PLAN-LABEL: exec.program @train_step
// PLAN-NOT: 150x100
// PLAN: exec.call "matmul" {{.*}} outs(%[[W:.*]] : memref<100x8xf32>)
// PLAN: exec.launch @{{.*}} ins(%[[W]], %{{.*}} : memref<100x8xf32>, memref<100x8xf32>) outs(%[[W]] : memref<100x8xf32>)
// PLAN: exec.launch @{{.*}} ins(%{{.*}}, %[[B:.*]] : memref<64x100xf32>, memref<100xf32>) outs(%[[B]] : memref<100xf32>)
// PLAN: exec.launch @{{.*}} ins(%[[W]], %{{.*}} : memref<100x8xf32>, memref<100x8xf32>) outs(%[[W]] : memref<100x8xf32>)
// PLAN-NOT: 150x100
// PLAN: exec.kernel
func.func @train_step(%h: tensor<5x30x8xf32>, %labels: tensor<150xi64>, %w: tensor<100x8xf32>, %b: tensor<100xf32>)
    -> (tensor<f32> {dlc.name = "loss"}, tensor<5x30x8xf32> {dlc.name = "dh"}, tensor<100x8xf32> {dlc.name = "dw"},
        tensor<100xf32> {dlc.name = "db"}) {
  %c = dlc.constant dense<0.00666> : tensor<1xf32>
  %x = dlc.matmul %h, %w, %b {trans_b} : (tensor<5x30x8xf32>, tensor<100x8xf32>, tensor<100xf32>) -> tensor<5x30x100xf32>
  %v = dlc.reshape %x : (tensor<5x30x100xf32>) -> tensor<150x100xf32>
  %loss, %lse = dlc.softmax_cross_entropy %v, %labels : (tensor<150x100xf32>, tensor<150xi64>) -> (tensor<150xf32>, tensor<150xf32>)
  %mean = dlc.reduce_mean %loss {axes = array<i64: 0>} : (tensor<150xf32>) -> tensor<f32>
  %d = dlc.broadcast %c : (tensor<1xf32>) -> tensor<150xf32>
  %g = dlc.softmax_cross_entropy_backward %d, %v, %labels, %lse
      : (tensor<150xf32>, tensor<150x100xf32>, tensor<150xi64>, tensor<150xf32>) -> tensor<150x100xf32>
  %gx = dlc.reshape %g : (tensor<150x100xf32>) -> tensor<5x30x100xf32>
  %dh = dlc.matmul %gx, %w : (tensor<5x30x100xf32>, tensor<100x8xf32>) -> tensor<5x30x8xf32>
  %hv = dlc.reshape %h : (tensor<5x30x8xf32>) -> tensor<150x8xf32>
  %dw = dlc.matmul %g, %hv {trans_a} : (tensor<150x100xf32>, tensor<150x8xf32>) -> tensor<100x8xf32>
  %db = dlc.reduce_sum %gx {axes = array<i64: 0, 1>} : (tensor<5x30x100xf32>) -> tensor<100xf32>
  return %mean, %dh, %dw, %db : tensor<f32>, tensor<5x30x8xf32>, tensor<100x8xf32>, tensor<100xf32>
}

// -----
// Hits of evaluation are found in pieces, too; what has a number a row goes along.
// CHECK-LABEL: func @eval_step
// CHECK-NOT: 150x100
// CHECK: dlc.argmax %{{.*}} {axes = array<i64: 1>} : (tensor<64x100xf32>) -> tensor<64xi64>
// CHECK: dlc.argmax %{{.*}} {axes = array<i64: 1>} : (tensor<22x100xf32>) -> tensor<22xi64>
// CHECK-NOT: 150x100
// CHECK: return
func.func @eval_step(%h: tensor<150x8xf32>, %labels: tensor<150xi64>, %w: tensor<8x100xf32>) -> (tensor<150xf32>, tensor<150xi1>) {
  %x = dlc.matmul %h, %w : (tensor<150x8xf32>, tensor<8x100xf32>) -> tensor<150x100xf32>
  %loss, %lse = dlc.softmax_cross_entropy %x, %labels : (tensor<150x100xf32>, tensor<150xi64>) -> (tensor<150xf32>, tensor<150xf32>)
  %best = dlc.argmax %x {axes = array<i64: 1>} : (tensor<150x100xf32>) -> tensor<150xi64>
  %hit = dlc.compare eq %best, %labels : (tensor<150xi64>, tensor<150xi64>) -> tensor<150xi1>
  return %loss, %hit : tensor<150xf32>, tensor<150xi1>
}

// -----
// Logits that are a result stay whole.
// WHY: warning: --loss-chunk: the logits of @returned, 58.6 KiB, are not split: the function's result reads or computes them
// CHECK-LABEL: func @returned
// CHECK: %[[X:.*]] = dlc.matmul {{.*}} -> tensor<150x100xf32>
// CHECK: return %{{.*}}, %[[X]]
func.func @returned(%h: tensor<150x8xf32>, %labels: tensor<150xi64>, %w: tensor<8x100xf32>) -> (tensor<150xf32>, tensor<150x100xf32>) {
  %x = dlc.matmul %h, %w : (tensor<150x8xf32>, tensor<8x100xf32>) -> tensor<150x100xf32>
  %loss, %lse = dlc.softmax_cross_entropy %x, %labels : (tensor<150x100xf32>, tensor<150xi64>) -> (tensor<150xf32>, tensor<150xf32>)
  return %loss, %x : tensor<150xf32>, tensor<150x100xf32>
}

// -----
// As do those whose gradient depends on all rows' losses.
// WHY: warning: --loss-chunk: the logits of @mixed, 58.6 KiB, are not split: dlc.reduce_mean reads or computes them
// CHECK-LABEL: func @mixed
// CHECK: dlc.softmax_cross_entropy %{{.*}} : (tensor<150x100xf32>
// CHECK: dlc.softmax_cross_entropy_backward {{.*}} -> tensor<150x100xf32>
func.func @mixed(%h: tensor<150x8xf32>, %labels: tensor<150xi64>, %w: tensor<8x100xf32>) -> tensor<8x100xf32> {
  %x = dlc.matmul %h, %w : (tensor<150x8xf32>, tensor<8x100xf32>) -> tensor<150x100xf32>
  %loss, %lse = dlc.softmax_cross_entropy %x, %labels : (tensor<150x100xf32>, tensor<150xi64>) -> (tensor<150xf32>, tensor<150xf32>)
  %mean = dlc.reduce_mean %loss {axes = array<i64: 0>} : (tensor<150xf32>) -> tensor<f32>
  %d = dlc.mul %loss, %mean : (tensor<150xf32>, tensor<f32>) -> tensor<150xf32>
  %g = dlc.softmax_cross_entropy_backward %d, %x, %labels, %lse
      : (tensor<150xf32>, tensor<150x100xf32>, tensor<150xi64>, tensor<150xf32>) -> tensor<150x100xf32>
  %dw = dlc.matmul %h, %g {trans_a} : (tensor<150x8xf32>, tensor<150x100xf32>) -> tensor<8x100xf32>
  return %dw : tensor<8x100xf32>
}
