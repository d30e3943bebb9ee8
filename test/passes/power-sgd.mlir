// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2 first-bucket-mb=1e-4 bucket-mb=1e-4" | FileCheck %s
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2:100" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=bf16" | FileCheck %s --check-prefix=OFF
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=1 compress=powersgd:2 zero=1" 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2 zero=1" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:2 target=cuda" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not %dlc-opt %s --dlc-insert-all-reduce="ddp=2 compress=powersgd:0" 2>&1 | FileCheck %s --check-prefix=RANK

// What is as large as its factors, and a vector, travel as they are.
// CHECK-DAG: dlc.state @a.powersgd_error : tensor<8x4x5xf32> error init = 0.000000e+00 : f32 of = @a
// CHECK-DAG: dlc.state @a.powersgd_q : tensor<20x2xf32> factor init = {kind = "orthogonal", seed = 0 : i64} of = @a
// CHECK-NOT: @small.powersgd
// CHECK-NOT: @v.powersgd
// CHECK: @train_step([[LOSS:%.*]]: tensor<f32>, [[DA:%.*]]: tensor<8x4x5xf32>, [[DB:%.*]]: tensor<30x30xf32>
// CHECK: [[GA:%.*]] = dlc.all_reduce [[DA]] {bucket = 0 : i64, error = @a.powersgd_error, factor = @a.powersgd_q, of = @a}
// CHECK: dlc.all_reduce [[DB]] {bucket = 1 : i64, error = @b.powersgd_error, factor = @b.powersgd_q, of = @b}
// CHECK: dlc.all_reduce {{.*}} {bucket = 2 : i64, of = @small}
// CHECK: dlc.all_reduce {{.*}} {bucket = 2 : i64, of = @v}
// All are declared behind, where what travelled has come.
// CHECK-NEXT: dlc.gradient @a, [[GA]]
// CHECK-NEXT: dlc.gradient @b
// CHECK-NEXT: dlc.gradient @small
// CHECK-NEXT: dlc.gradient @v

// NOTHING: warning: --compress=powersgd has no effect: no gradient of two or more dimensions becomes smaller
// NOTHING-NOT: factor
// OFF-NOT: factor
// ZERO: error: --compress=powersgd does not support --zero: 
// CUDA: error: --compress=powersgd does not support --target=cuda: 
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
