// The flat update is one kernel: each array is loaded and stored once, 128 bits
// at a time, without local memory.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=80 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=100 --emit=ptx | FileCheck %s
// RUN: dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | FileCheck %s --check-prefix=MAP

// MAP: @sgd {{.*}} threads = #exec.threads<grid = 9766, block = 256, vector = 4>
// MAP: @adamw {{.*}} threads = #exec.threads<grid = 9766, block = 256, vector = 4>

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
  %momentum = dlc.constant dense<0.9> : tensor<f32>
  %decay = dlc.constant dense<0.01> : tensor<f32>
  %pull = dlc.mul %w, %decay : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %sum = dlc.add %g, %pull : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  %kept = dlc.mul %m, %momentum : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %m2 = dlc.add %kept, %sum : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  %far = dlc.mul %m2, %lr : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %w2 = dlc.sub %w, %far : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
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
  %decay = dlc.constant dense<0.01> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %slow1 = dlc.constant dense<0.1> : tensor<f32>
  %beta2 = dlc.constant dense<0.999> : tensor<f32>
  %slow2 = dlc.constant dense<0.001> : tensor<f32>
  %epsilon = dlc.constant dense<1.0e-8> : tensor<f32>
  %pull = dlc.mul %lr, %decay : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %rest = dlc.sub %one, %pull : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %w1 = dlc.mul %w, %rest : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %m2 = dlc.lerp %m, %g, %slow1 : (tensor<10000000xf32>, tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %square = dlc.mul %g, %g : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  %new = dlc.mul %square, %slow2 : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %old = dlc.mul %v, %beta2 : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %v2 = dlc.add %old, %new : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  %root = dlc.sqrt %v2 : (tensor<10000000xf32>) -> tensor<10000000xf32>
  %ratio = dlc.div %root, %correction : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %below = dlc.add %ratio, %epsilon : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %quotient = dlc.div %m2, %below : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  %far = dlc.mul %quotient, %step : (tensor<10000000xf32>, tensor<f32>) -> tensor<10000000xf32>
  %w2 = dlc.sub %w1, %far : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  dlc.yield %w2, %m2, %v2 : tensor<10000000xf32>, tensor<10000000xf32>, tensor<10000000xf32>
}

// Of which a rank may run a part: the last parameter is how many elements there are, and the last of them, which make no
// vector, are threads' own.
// MAP: @momentum parted
// CHECK-LABEL: .entry momentum(
// CHECK: .param .u64 momentum_param_3
// CHECK: ld.param.b32 {{.*}}[momentum_param_3]
// CHECK: setp.ge.u32
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-COUNT-1: st.global.v4.b32
// CHECK: ld.global.b32
// CHECK: st.global.b32
// CHECK: ret;
exec.kernel @momentum parted {
^bb0(%m: tensor<10000000xf32>, %g: tensor<10000000xf32>):
  %sum = dlc.add %m, %g : (tensor<10000000xf32>, tensor<10000000xf32>) -> tensor<10000000xf32>
  dlc.yield %sum : tensor<10000000xf32>
}
