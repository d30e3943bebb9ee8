// The flat update is one kernel: each array is loaded and stored once, 128 bits
// at a time, without local memory.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=80 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=100 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=90 --emit=mapping | FileCheck %s --check-prefix=MAP

// MAP: sgd: elementwise grid=9766 block=256 vector=4
// MAP: adamw: elementwise grid=9766 block=256 vector=4

// CHECK-LABEL: .entry sgd(
// CHECK-NOT: .local
// CHECK: ld.global.b32
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-3: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
exec.kernel @sgd {
^bb0(%w: tensor<10000000xf32>, %g: tensor<10000000xf32>, %m: tensor<10000000xf32>,
     %e: tensor<10000000xf32>, %lr: tensor<f32>):
  %d = dlc.constant dense<1.0e-3> : tensor<f32>
  %w2, %m2 = dlc.sgd %w, %g, %lr, %m {momentum = 0.9, weight_decay = 0.01} : (tensor<10000000xf32>, tensor<10000000xf32>, tensor<f32>, tensor<10000000xf32>) -> (tensor<10000000xf32>, tensor<10000000xf32>)
  %e2 = dlc.lerp %e, %w2, %d : (tensor<10000000xf32>, tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  dlc.yield %w2, %m2, %e2 : tensor<10000000xf32>, tensor<10000000xf32>, tensor<10000000xf32>
}

// CHECK-LABEL: .entry adamw(
// CHECK-NOT: .local
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK-COUNT-3: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
exec.kernel @adamw {
^bb0(%w: tensor<10000000xf32>, %g: tensor<10000000xf32>, %m: tensor<10000000xf32>,
     %v: tensor<10000000xf32>, %lr: tensor<f32>, %step: tensor<f32>, %correction: tensor<f32>):
  %w2, %m2, %v2 = dlc.adamw %w, %g, %lr, %m, %v, %step, %correction {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.01} : (tensor<10000000xf32>, tensor<10000000xf32>, tensor<f32>, tensor<10000000xf32>, tensor<10000000xf32>, tensor<f32>, tensor<f32>) -> (tensor<10000000xf32>, tensor<10000000xf32>, tensor<10000000xf32>)
  dlc.yield %w2, %m2, %v2 : tensor<10000000xf32>, tensor<10000000xf32>, tensor<10000000xf32>
}
