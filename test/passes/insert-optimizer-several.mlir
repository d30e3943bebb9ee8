// Parameters that match a pattern move by another optimizer; the first pattern counts.
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.5 momentum=0 optimizer-group=^b:adamw,bias:sgd" | FileCheck %s
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.5 momentum=0 optimizer-group=^a:lamb" | FileCheck %s --check-prefix=LAMB
// RUN: not %dlc-opt %s --dlc-insert-optimizer="lr=0 optimizer-group=^b:adamw" 2>&1 | FileCheck %s --check-prefix=NORATE
// RUN: not %dlc-opt %s --dlc-insert-optimizer="optimizer-group=^c:adamw" 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not %dlc-opt %s --dlc-insert-optimizer="optimizer-group=^b:adamm" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not %dlc-opt %s --dlc-insert-optimizer="optimizer-group=adamw" 2>&1 | FileCheck %s --check-prefix=COLON

// Only what is adamw's has moments; its rate is 0.001, 0.002 of the common one; its default weight decay applies.
// CHECK-NOT: dlc.state @a.bias.m
// CHECK: dlc.state @b.weight.m
// CHECK: dlc.state @b.weight.v
// CHECK: dlc.state @b.bias.m
// CHECK-NOT: dlc.state @a.weight.m
// CHECK-DAG: dlc.constant dense<2.000000e-03> : tensor<f64>
// CHECK-DAG: dlc.write @a.weight
// CHECK-DAG: dlc.write @a.bias
// CHECK-DAG: dlc.write @b.weight
// CHECK: return

// The common norm is that of lamb's own gradients.
// LAMB: @train_step({{.*}}, [[AW:%.*]]: tensor<4x2xf32>, [[AB:%.*]]: tensor<2xf32>, [[BW:%.*]]: tensor<3x2xf32>, [[BB:%.*]]: tensor<3xf32>)
// LAMB: dlc.global_norm [[AW]], [[AB]] :
// LAMB-NOT: dlc.mul [[BW]],

// NORATE: a group has a learning rate, so --lr must be above 0, too
// NOBODY: --optimizer-group=^c:adamw matches no trained parameter
// NAME: --optimizer-group: expected REGEX:NAME with one of sgd, adam, {{.*}}, found '^b:adamm'
// COLON: --optimizer-group: expected REGEX:NAME with one of sgd, {{.*}}, found 'adamw'
dlc.state @a.weight : tensor<4x2xf32> param init = "a.weight" trainable
dlc.state @a.bias : tensor<2xf32> param init = "a.bias" trainable
dlc.state @b.weight : tensor<3x2xf32> param init = "b.weight" trainable
dlc.state @b.bias : tensor<3xf32> param init = "b.bias" trainable
func.func @train_step(%loss: tensor<f32>, %aw: tensor<4x2xf32>, %ab: tensor<2xf32>, %bw: tensor<3x2xf32>,
                      %bb: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a.weight, %aw : tensor<4x2xf32>
  dlc.gradient @a.bias, %ab : tensor<2xf32>
  dlc.gradient @b.weight, %bw : tensor<3x2xf32>
  dlc.gradient @b.bias, %bb : tensor<3xf32>
  return %loss : tensor<f32>
}
