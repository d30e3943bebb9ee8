// Parameters with the same rule, rate and weight decay are a group, and stay together within a bucket.
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=adamw lr=0.5 no-decay=norm_bias" | FileCheck %s --check-prefix=NORM
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.5 momentum=0 lr-scale=^b:10,bias:3 weight-decay=0.5 weight-decay-scale=b[.]w:0.5" | FileCheck %s --check-prefix=SCALE
// RUN: %dlc-opt %s --dlc-insert-optimizer=optimizer=muon | FileCheck %s --check-prefix=MUON
// RUN: %dlc-opt %s --dlc-insert-optimizer=optimizer=lamb | FileCheck %s --check-prefix=LAMB
// RUN: %dlc-opt %s --dlc-insert-optimizer=optimizer=lars | FileCheck %s --check-prefix=LARS
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=adafactor moments=bf16" | FileCheck %s --check-prefix=FACTORED
// RUN: %dlc-opt %s --dlc-insert-optimizer="optimizer=nadam optimizer-group=^a:nadam(beta1=0.8) lr-scale=bias:2" | FileCheck %s --check-prefix=PRODUCTS
// RUN: not %dlc-opt %s --dlc-insert-optimizer=lr-scale=c:2 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not %dlc-opt %s --dlc-insert-optimizer=lr-scale=bias 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not %dlc-opt %s --dlc-insert-optimizer=weight-decay-scale=bias:-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not %dlc-opt %s --dlc-insert-optimizer=lr-scale=[:1 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not %dlc-opt %s --dlc-insert-optimizer=no-decay=norms 2>&1 | FileCheck %s --check-prefix=RULE

// In bucket 0 matrices that decay, then vectors that do not; the same in bucket 1.
// NORM: [[A:%.*]] = dlc.read @a.weight
// NORM: [[SMALL:%.*]] = dlc.mul [[A]],
// NORM: dlc.sub [[SMALL]],
// NORM: dlc.write @a.weight
// NORM: [[B:%.*]] = dlc.read @b.weight
// NORM: dlc.mul [[B]],
// NORM: dlc.write @b.weight
// NORM: [[V:%.*]] = dlc.read @a.bias
// NORM-NOT: dlc.mul [[V]],
// NORM: dlc.sub [[V]],
// NORM: dlc.write @a.bias
// NORM: dlc.write @b.bias
// NORM: dlc.write @d.weight

// The first pattern that matches counts; the reported rate has no factor.
// SCALE-DAG: [[LR:%.*]] = dlc.constant dense<5.000000e-01> : tensor<f64>
// SCALE-DAG: [[TEN:%.*]] = dlc.constant dense<1.000000e+01> : tensor<f64>
// SCALE-DAG: [[HIGH:%.*]] = dlc.mul [[LR]], [[TEN]]
// SCALE-DAG: [[THREE:%.*]] = dlc.constant dense<3.000000e+00> : tensor<f64>
// SCALE-DAG: [[MIDDLE:%.*]] = dlc.mul [[LR]], [[THREE]]
// SCALE: [[W:%.*]] = dlc.read @a.weight
// SCALE: [[BASE:%.*]] = dlc.cast [[LR]]
// SCALE: [[C:%.*]] = dlc.constant dense<5.000000e-01> : tensor<f32>
// SCALE: dlc.mul [[W]], [[C]]
// SCALE: dlc.mul [[BASE]],
// SCALE: [[V:%.*]] = dlc.read @a.bias
// SCALE: dlc.cast [[MIDDLE]]
// SCALE: [[B:%.*]] = dlc.read @b.weight
// SCALE: dlc.cast [[HIGH]]
// SCALE: [[C:%.*]] = dlc.constant dense<2.500000e-01> : tensor<f32>
// SCALE: dlc.mul [[B]], [[C]]
// SCALE: [[LAST:%.*]] = dlc.cast [[LR]]
// SCALE: return {{.*}}, [[LAST]]

// Matrices by five products of three matrices, all else by adamw. The smaller Gram matrix is that of the columns.
// MUON: dlc.state @a.weight.m
// MUON-NOT: dlc.state @a.weight.v
// MUON: dlc.read @a.weight
// MUON-COUNT-5: dlc.matmul {{.*}} {trans_a} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
// MUON-NOT: trans_a
// MUON: dlc.write @a.weight
// MUON: dlc.read @a.bias.v
// MUON-NOT: matmul
// MUON: dlc.write @a.bias

// All gradients are divided by their common norm where that is above 1; each parameter moves by its own norm.
// LAMB: [[TOTAL:%.*]] = dlc.global_norm {{.*}}, {{.*}}, {{.*}}, {{.*}}, {{.*}} :
// LAMB: dlc.max [[TOTAL]],
// LAMB: dlc.read @a.weight
// LAMB-COUNT-2: dlc.reduce_sum {{.*}} {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
// LAMB: dlc.write @a.weight

// Matrices move by the ratio of two norms, vectors by sgd.
// LARS: dlc.read @a.weight
// LARS-COUNT-2: dlc.reduce_sum {{.*}} {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
// LARS: dlc.write @a.weight
// LARS: dlc.read @a.bias
// LARS-NOT: dlc.reduce_sum
// LARS: dlc.write @a.bias

// The second moment of a matrix is of its rows and its columns.
// FACTORED: dlc.state @a.weight.vr : tensor<4x1xbf16> moment init = 0.000000e+00 : bf16 of = @a.weight
// FACTORED: dlc.state @a.weight.vc : tensor<1x2xbf16> moment
// FACTORED: dlc.state @a.bias.v : tensor<4xbf16> moment
// FACTORED: dlc.read @a.weight :
// FACTORED: dlc.reduce_mean {{.*}} {axes = array<i64: 1>, keepdims} : (tensor<4x2xf32>) -> tensor<4x1xf32>
// FACTORED: dlc.reduce_mean {{.*}} {axes = array<i64: 0>, keepdims} : (tensor<4x2xf32>) -> tensor<1x2xf32>
// FACTORED: dlc.write @a.weight.vr, {{.*}} : tensor<4x1xbf16>

// Each optimizer has a product, which its groups share.
// PRODUCTS: dlc.state @step.product.1 :
// PRODUCTS: dlc.state @step.product :
// PRODUCTS-NOT: dlc.state @step.product
// PRODUCTS: dlc.write @step.product.1,
// PRODUCTS: dlc.write @step.product,
// PRODUCTS-NOT: dlc.write @step.product

// NOBODY: --lr-scale=c:2 matches no trained parameter
// FACTOR: --lr-scale: expected REGEX:FACTOR with a factor of at least 0, found 'bias'
// NEGATIVE: --weight-decay-scale: expected REGEX:FACTOR with a factor of at least 0, found 'bias:-1'
// PATTERN: --lr-scale: '[' is not a regular expression
// RULE: no-decay: 'norms' is not one of none, norm_bias
dlc.state @a.weight : tensor<4x2xf32> param init = "a.weight" trainable
dlc.state @a.bias : tensor<4xf32> param init = "a.bias" trainable
dlc.state @b.weight : tensor<4x2xf32> param init = "b.weight" trainable
dlc.state @b.bias : tensor<4xf32> param init = "b.bias" trainable
dlc.state @d.weight : tensor<4x2xf32> param init = "d.weight" trainable
func.func @train_step(%loss: tensor<f32>, %ga: tensor<4x2xf32>, %gx: tensor<4xf32>, %gb: tensor<4x2xf32>,
    %gy: tensor<4xf32>, %gd: tensor<4x2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %a = dlc.all_reduce %ga {bucket = 0 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %x = dlc.all_reduce %gx {bucket = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = dlc.all_reduce %gb {bucket = 0 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %y = dlc.all_reduce %gy {bucket = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %d = dlc.all_reduce %gd {bucket = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  dlc.gradient @a.weight, %a : tensor<4x2xf32>
  dlc.gradient @a.bias, %x : tensor<4xf32>
  dlc.gradient @b.weight, %b : tensor<4x2xf32>
  dlc.gradient @b.bias, %y : tensor<4xf32>
  dlc.gradient @d.weight, %d : tensor<4x2xf32>
  return %loss : tensor<f32>
}
