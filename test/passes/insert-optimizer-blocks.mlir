// Moments in 8 bits: codes and the largest magnitude of each block of 256 elements, in one kernel with the update.
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=adamw moments=8bit" | FileCheck %s
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=rmsprop_tf moments=8bit" | FileCheck %s --check-prefix=ONES
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=sgd moments=8bit" | FileCheck %s --check-prefix=PLAIN
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=adamw moments=8bit optimizer-group=^w$:sgd(momentum=0.9,moments=f32)" | FileCheck %s --check-prefix=GROUP
// RUN: not %dlc-opt %s --dlc-insert-optimizer="optimizer=lamb moments=8bit" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not %dlc-opt %s --dlc-insert-optimizer="optimizer=adamw optimizer-group=^w$:muon(moments=8bit)" 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK: dlc.state @small.m : tensor<4095xf32> moment
// CHECK: dlc.state @w.m : tensor<16x256xi8> moment init = 0 : i8 of = @w
// CHECK: dlc.state @w.m.absmax : tensor<16x1xf32> moment init = 0.000000e+00 : f32 of = @w
// CHECK: dlc.state @w.v : tensor<16x256xi8> moment init = 0 : i8 of = @w
// CHECK: dlc.state @tail.m : tensor<17x256xi8>

// A factor of the gradient, from clipping say, is applied to the rows.
// CHECK: [[OK:%.*]] = dlc.all_finite
// CHECK: [[W:%.*]] = dlc.reshape {{.*}} : (tensor<64x64xf32>) -> tensor<16x256xf32>
// CHECK: [[CODES:%.*]] = dlc.read @w.m :
// CHECK: [[ABSMAX:%.*]] = dlc.read @w.m.absmax :
// CHECK: [[SHARE:%.*]] = dlc.dynamic_decode [[CODES]] : (tensor<16x256xi8>) -> tensor<16x256xf32>
// CHECK: [[M:%.*]] = dlc.mul [[SHARE]], [[ABSMAX]]
// CHECK: dlc.dynamic_decode {{.*}} {non_negative}
// CHECK: [[ROWS:%.*]] = dlc.reshape %arg1 : (tensor<64x64xf32>) -> tensor<16x256xf32>
// CHECK: [[G:%.*]] = dlc.mul [[ROWS]], %arg4
// CHECK: [[OFF:%.*]] = dlc.sub [[G]], [[M]]
// CHECK: [[PART:%.*]] = dlc.mul [[OFF]],
// CHECK: [[NM:%.*]] = dlc.add [[M]], [[PART]]
// CHECK: [[NW:%.*]] = dlc.sub
// CHECK: [[SW:%.*]] = dlc.select [[OK]], [[NW]], [[W]]
// CHECK: [[TENSOR:%.*]] = dlc.reshape [[SW]] : (tensor<16x256xf32>) -> tensor<64x64xf32>
// CHECK: dlc.write @w, [[TENSOR]]
// CHECK: [[SIZE:%.*]] = dlc.abs [[NM]]
// CHECK: [[MOST:%.*]] = dlc.reduce_max [[SIZE]] {axes = array<i64: 1>, keepdims}
// CHECK: [[X:%.*]] = dlc.div [[NM]], [[MOST]]
// CHECK: [[NC:%.*]] = dlc.dynamic_encode [[X]] : (tensor<16x256xf32>) -> tensor<16x256xi8>
// CHECK: [[SC:%.*]] = dlc.select [[OK]], [[NC]], [[CODES]]
// CHECK: dlc.write @w.m, [[SC]]
// CHECK: [[SM:%.*]] = dlc.select [[OK]], [[MOST]], [[ABSMAX]]
// CHECK: dlc.write @w.m.absmax, [[SM]]

// A mean of squares is not rounded to 0.
// CHECK: [[LEAST:%.*]] = dlc.constant dense<2.000000e-07> : tensor<f32>
// CHECK: [[FLOOR:%.*]] = dlc.max {{.*}}, [[LEAST]]
// CHECK: dlc.dynamic_encode [[FLOOR]] {non_negative}

// The last block is filled up, and what fills it is no element of the parameter.
// CHECK: dlc.pad {{.*}} {high = array<i64: 206>, {{.*}} : (tensor<4146xf32>) -> tensor<4352xf32>
// CHECK: dlc.slice {{.*}} {sizes = array<i64: 4146>, {{.*}} : (tensor<4352xf32>) -> tensor<4146xf32>

// ONES: dlc.state @w.v : tensor<16x256xi8> moment init = -1 : i8 of = @w
// ONES: dlc.state @w.v.absmax : tensor<16x1xf32> moment init = 1.000000e+00 : f32 of = @w

// PLAIN-NOT: dlc.dynamic
// PLAIN: dlc.write @w,

// GROUP: dlc.state @w.m : tensor<64x64xf32>
// GROUP: dlc.state @tail.m : tensor<17x256xi8>

// WHOLE: moments in 8 bits are for optimizers that update each element by itself, but {{lamb|muon}} computes with whole tensors: use --moments=bf16
dlc.state @w : tensor<64x64xf32> param init = "w" trainable
dlc.state @small : tensor<4095xf32> param init = "small" trainable
dlc.state @tail : tensor<6x691xf32> param init = "tail" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<64x64xf32>, %h: tensor<4095xf32>, %i: tensor<6x691xf32>, %factor: tensor<f32>)
    -> (tensor<f32> {dlc.name = "loss"}) {
  %ok = dlc.all_finite %g, %h, %i {dlc.gate} : (tensor<64x64xf32>, tensor<4095xf32>, tensor<6x691xf32>) -> tensor<i1>
  %clipped = dlc.mul %g, %factor : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  dlc.gradient @w, %clipped : tensor<64x64xf32>
  dlc.gradient @small, %h : tensor<4095xf32>
  dlc.gradient @tail, %i : tensor<6x691xf32>
  return %loss : tensor<f32>
}
