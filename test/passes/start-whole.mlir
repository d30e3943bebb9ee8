// RUN: %dlc-opt %s --dlc-start-whole="ddp=2 compress=powersgd:2:2:7" | FileCheck %s
// RUN: %dlc-opt %s --dlc-start-whole="ddp=2 compress=powersgd:2" | FileCheck %s --check-prefix=NONE
// RUN: not %dlc-opt %s --dlc-start-whole="ddp=2 compress=powersgd:2:2:x" 2>&1 | FileCheck %s --check-prefix=WORD

// CHECK: func.func @train_step
// CHECK: dlc.all_reduce %{{.*}} {bucket = 0 : i64, error = @a.error, factor = @a.q, of = @a}
// CHECK: func.func @start_step({{.*}}) -> {{.*}} attributes {dlc.updates = 7 : i64}
// CHECK: dlc.all_reduce %{{.*}} {bucket = 0 : i64, of = @a}
// CHECK: dlc.write @a
// NONE-NOT: @start_step
// WORD: compress: expected a whole number from 0 to 1073741824, found 'x'
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @a.error : tensor<8x8xf32> error init = 0.0 : f32 of = @a
dlc.state @a.q : tensor<8x2xf32> factor init = 1.0 : f32 of = @a
func.func @train_step(%da: tensor<8x8xf32> {dlc.name = "x"}) -> (tensor<8x8xf32> {dlc.name = "y"}) {
  %ga = dlc.all_reduce %da {bucket = 0 : i64, of = @a, error = @a.error, factor = @a.q} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %ga : tensor<8x8xf32>
  return %da : tensor<8x8xf32>
}
