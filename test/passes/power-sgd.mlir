// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2 first-bucket-mb=1e-4 bucket-mb=1e-4" --dlc-power-sgd="ddp=2 compress=powersgd:2" | FileCheck %s
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2" --dlc-power-sgd="ddp=2 compress=powersgd:2:100" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=bf16" --dlc-power-sgd="ddp=2 compress=bf16" | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-power-sgd="ddp=2 compress=powersgd:2 zero=1" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %dlc-opt %s --dlc-power-sgd="ddp=2 compress=powersgd:2 target=cuda" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not %dlc-opt %s --dlc-power-sgd="ddp=2 compress=powersgd:0" 2>&1 | FileCheck %s --check-prefix=RANK

// What is as large as its factors, and a vector, travel as they are. P's are in the bucket of their gradients, Q's in one of
// their own behind the next bucket.
// CHECK-DAG: dlc.state @a.powersgd_error : tensor<8x4x5xf32> error init = 0.000000e+00 : f32 of = @a
// CHECK-DAG: dlc.state @a.powersgd_q : tensor<20x2xf32> factor init = {kind = "orthogonal", seed = 0 : i64} of = @a
// CHECK-NOT: @small.powersgd
// CHECK-NOT: @v.powersgd
// CHECK: @train_step([[LOSS:%.*]]: tensor<f32>, [[DA:%.*]]: tensor<8x4x5xf32>, [[DB:%.*]]: tensor<30x30xf32>
// CHECK: [[EA:%.*]] = dlc.read @a.powersgd_error
// CHECK: [[SUM:%.*]] = dlc.add [[DA]], [[EA]]
// CHECK: [[MA:%.*]] = dlc.reshape [[SUM]] : (tensor<8x4x5xf32>) -> tensor<8x20xf32>
// CHECK: [[QA:%.*]] = dlc.read @a.powersgd_q
// CHECK: [[OLD:%.*]] = dlc.orthogonalize [[QA]]
// CHECK: [[P:%.*]] = dlc.matmul [[MA]], [[OLD]] {{.*}} -> tensor<8x2xf32>
// CHECK: [[PA:%.*]] = dlc.all_reduce [[P]] {bucket = 0 : i64} : (tensor<8x2xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 1 : i64} : (tensor<30x2xf32>)
// CHECK: [[OA:%.*]] = dlc.orthogonalize [[PA]]
// CHECK: [[Q:%.*]] = dlc.matmul [[MA]], [[OA]] {trans_a} {{.*}} -> tensor<20x2xf32>
// CHECK: [[NEW:%.*]] = dlc.all_reduce [[Q]] {bucket = 3 : i64} : (tensor<20x2xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 2 : i64} : (tensor<4x4xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 2 : i64} : (tensor<100xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 4 : i64} : (tensor<30x2xf32>)
// CHECK: [[SENT:%.*]] = dlc.matmul [[OA]], [[NEW]] {trans_b} {{.*}} -> tensor<8x20xf32>
// CHECK: [[GA:%.*]] = dlc.reshape [[SENT]] : (tensor<8x20xf32>) -> tensor<8x4x5xf32>
// CHECK: [[LEFT:%.*]] = dlc.sub [[MA]], [[SENT]]
// CHECK: [[ERROR:%.*]] = dlc.reshape [[LEFT]]
// CHECK: dlc.gradient @a, [[GA]]
// CHECK: dlc.write @a.powersgd_error, [[ERROR]]
// CHECK: dlc.write @a.powersgd_q, [[NEW]]
// CHECK: dlc.gradient @b
// CHECK: dlc.gradient @small
// CHECK: dlc.gradient @v

// NOTHING: warning: --compress=powersgd has no effect: no gradient of two or more dimensions becomes smaller
// NOTHING-NOT: orthogonalize
// OFF-NOT: orthogonalize
// ZERO: error: --compress=powersgd does not go with --zero so far
// CUDA: error: --compress=powersgd does not go with --target=cuda so far
// RANK: compress: expected a whole number from 1 to 1024, found '0'
dlc.state @a : tensor<8x4x5xf32> param init = "a" trainable
dlc.state @b : tensor<30x30xf32> param init = "b" trainable
dlc.state @small : tensor<4x4xf32> param init = "small" trainable
dlc.state @v : tensor<100xf32> param init = "v" trainable
func.func @train_step(%loss: tensor<f32>, %da: tensor<8x4x5xf32>, %db: tensor<30x30xf32>, %ds: tensor<4x4xf32>, %dv: tensor<100xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a, %da : tensor<8x4x5xf32>
  dlc.gradient @b, %db : tensor<30x30xf32>
  dlc.gradient @small, %ds : tensor<4x4xf32>
  dlc.gradient @v, %dv : tensor<100xf32>
  return %loss : tensor<f32>
}
