// RUN: %dlc-opt %s --dlc-insert-all-reduce=ddp=2 | FileCheck %s
// RUN: %dlc-opt %s --dlc-insert-all-reduce="ddp=2 bucket-mb=25" | FileCheck %s --check-prefix=GIVEN

// 32 MiB of gradients: @a (4 MiB) fills the first bucket, of 1 MiB; the others, a sixteenth each, hold one gradient.
// CHECK: dlc.all_reduce {{%.*}} {bucket = 0 : i64, of = @a}
// CHECK: dlc.all_reduce {{%.*}} {bucket = 1 : i64, of = @b}
// CHECK: dlc.all_reduce {{%.*}} {bucket = 2 : i64, of = @c}
// CHECK: dlc.all_reduce {{%.*}} {bucket = 3 : i64, of = @d}

// GIVEN: dlc.all_reduce {{%.*}} {bucket = 0 : i64, of = @a}
// GIVEN: dlc.all_reduce {{%.*}} {bucket = 1 : i64, of = @b}
// GIVEN: dlc.all_reduce {{%.*}} {bucket = 1 : i64, of = @c}
// GIVEN: dlc.all_reduce {{%.*}} {bucket = 1 : i64, of = @d}
dlc.state @a : tensor<1024x1024xf32> param init = "a" trainable
dlc.state @b : tensor<1024x1024xf32> param init = "b" trainable
dlc.state @c : tensor<1024x2048xf32> param init = "c" trainable
dlc.state @d : tensor<2048x2048xf32> param init = "d" trainable
func.func @train_step(%loss: tensor<f32>, %a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x2048xf32>, %d: tensor<2048x2048xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a, %a : tensor<1024x1024xf32>
  dlc.gradient @b, %b : tensor<1024x1024xf32>
  dlc.gradient @c, %c : tensor<1024x2048xf32>
  dlc.gradient @d, %d : tensor<2048x2048xf32>
  return %loss : tensor<f32>
}
