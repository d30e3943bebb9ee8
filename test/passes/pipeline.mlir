// The story in order: what is there after each phase, and what is not yet.
// RUN: %dlc-opt %s --dlc-train=stop-after=loss | FileCheck %s --check-prefix=LOSS
// RUN: %dlc-opt %s --dlc-train="stop-after=autodiff amp amp-dtype=bf16" | FileCheck %s --check-prefix=AUTODIFF
// RUN: %dlc-opt %s --dlc-train="stop-after=unscale amp amp-dtype=fp16 ddp=2" | FileCheck %s --check-prefix=UNSCALE
// RUN: %dlc-opt %s --dlc-train="amp amp-dtype=fp16 ddp=2 clip-grad=1 ema optimizer=adamw" | FileCheck %s
// RUN: not %dlc-opt %s --dlc-train=stop-after=autodif 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// LOSS: @train_step
// LOSS-NOT: dlc.gradient

// AUTODIFF: dlc.cast {{.*}} -> tensor<10x8xbf16>
// AUTODIFF: dlc.seed
// AUTODIFF: [[G:%.*]] = dlc.cast {{.*}} -> tensor<10x8xf32>
// AUTODIFF: dlc.gradient @w, [[G]]

// UNSCALE: dlc.read @scaler.scale
// UNSCALE: [[G:%.*]] = dlc.all_reduce {{.*}} {bucket = 0 : i64, of = @{{.*}}} : (tensor<10x8xf32>)
// UNSCALE: dlc.all_finite [[G]]
// UNSCALE: dlc.gradient
// UNSCALE-NOT: dlc.global_norm

// The norm is taken of the scaled gradients and then unscaled, so that lowering reads each gradient once.
// CHECK: @train_step({{.*}}) -> ({{.*}}"loss"}, {{.*}}"loss_scale"}, {{.*}}"found_inf"}, {{.*}}"grad_norm"}, {{.*}}"lr"})
// CHECK: [[G:%.*]] = dlc.all_reduce {{.*}} : (tensor<10x8xf32>)
// CHECK: [[OK:%.*]] = dlc.all_finite [[G]]
// CHECK: dlc.global_norm [[G]]
// CHECK: dlc.read @w.v
// CHECK: [[KEPT:%.*]] = dlc.select [[OK]],
// CHECK-NEXT: dlc.write @w, [[KEPT]]
// CHECK: dlc.lerp {{.*}}, [[KEPT]],
// CHECK: dlc.write @"ema/w"

// UNKNOWN: unknown phase 'autodif', known are import, canonicalize, infer-shapes, lora, pack, loss, decode, slice-early, trim-taps, group-matmul, attention, autocast, place-attention, autodiff, quantize-products, scale-loss, accumulate, row-gradients, all-reduce, reduce-amax, sync-bn, unscale, measure-gradients, clip-each, clip, optimizer, measure-parameters, ema, start-whole, local-steps, simplify
dlc.state @w : tensor<10x8xf32> param init = "w" trainable
func.func @predict(%x: tensor<4x8xf32> {dlc.name = "x"}) -> (tensor<4x10xf32> {dlc.name = "logits"}) {
  %w = dlc.read @w : tensor<10x8xf32>
  %0 = dlc.matmul %x, %w {trans_b} : (tensor<4x8xf32>, tensor<10x8xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
