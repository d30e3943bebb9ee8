// Norms that cuDNN has engines for become its calls; others stay, with a remark.
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place{norm=library},func.func(dlc-norm-calls))' --split-input-file 2>/dev/null | FileCheck %s
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place{norm=library})' --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place{norm=library},func.func(dlc-norm-calls,dlc-decompose))' --split-input-file 2>/dev/null | FileCheck %s --check-prefix=PLAN

// The ReLU right behind the norm is in both calls. Running statistics are made of those that are saved: n / (n - 1) = 2048 / 2047.
// CHECK-LABEL: func @relu
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = dlc.fused_batch_norm %arg0, %arg2, %arg3 {epsilon = 1.000000e-05 : f64, relu}
// CHECK: %[[SQUARE:.*]] = dlc.mul %[[RSTD]], %[[RSTD]]
// CHECK: %[[WITH:.*]] = dlc.div %{{.*}}, %[[SQUARE]]
// CHECK: %[[VAR:.*]] = dlc.sub %[[WITH]]
// CHECK: %[[POSITIVE:.*]] = dlc.max %[[VAR]]
// CHECK: dlc.constant dense<1.00048852> : tensor<f32>
// CHECK: dlc.mul %[[POSITIVE]]
// CHECK: %[[OLD:.*]] = dlc.mul %arg4
// CHECK: %[[BATCH:.*]] = dlc.mul %[[MEAN]]
// CHECK: %[[MOVED:.*]] = dlc.add %[[OLD]], %[[BATCH]]
// CHECK: %[[DZ:.*]] = dlc.conv %[[Y]]
// CHECK-NOT: dlc.relu_backward
// CHECK: dlc.fused_batch_norm_backward %[[DZ]], %arg0, %arg2, %[[MEAN]], %[[RSTD]], %arg3 :
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[MOVED]]
// PLAN-LABEL: func @relu
// PLAN: dlc.fused_batch_norm
// PLAN-NOT: dlc.batch_norm
// PLAN: dlc.fused_batch_norm_backward
func.func @relu(%x: tensor<8x16x16x32xbf16>, %w: tensor<32x32x1x1xbf16>, %s: tensor<32xf32>, %b: tensor<32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %y:5 = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc", unbiased} : (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %z = dlc.relu %y#0 : (tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  %dz = dlc.conv %z, %w {dilations = array<i64: 1, 1>, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x16x16x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<8x16x16x32xbf16>
  %dy = dlc.relu_backward %dz, %z : (tensor<8x16x16x32xbf16>, tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %y#3, %y#4 {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<8x16x16x32xbf16>, tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  return %g#0, %g#1, %g#2, %y#1, %y#2 : tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// Behind a residual the masked gradient is the residual's, too, and stays a value of its own.
// CHECK-LABEL: func @residual
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = dlc.fused_batch_norm %arg0, %arg2, %arg2, %arg1 {epsilon = 1.000000e-05 : f64, relu}
// CHECK: %[[DY:.*]] = dlc.relu_backward %arg1, %[[Y]]
// CHECK: %[[DX:.*]], %{{.*}}, %{{.*}} = dlc.fused_batch_norm_backward %[[DY]], %arg0, %arg2, %[[MEAN]], %[[RSTD]] :
// CHECK: return %[[DX]], %[[DY]]
// PLAN-LABEL: func @residual
func.func @residual(%x: tensor<8x4x4x8xf32>, %r: tensor<8x4x4x8xf32>, %s: tensor<8xf32>) -> (tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>) {
  %y:5 = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %a = dlc.add %r, %y#0 : (tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>) -> tensor<8x4x4x8xf32>
  %z = dlc.relu %a : (tensor<8x4x4x8xf32>) -> tensor<8x4x4x8xf32>
  %dy = dlc.relu_backward %r, %z : (tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>) -> tensor<8x4x4x8xf32>
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %y#3, %y#4 {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %g#0, %dy : tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>
}

// -----

// Two norms are added, as where a block changes the shape: the later one adds. A norm whose sum goes elsewhere, too, adds nothing.
// CHECK-LABEL: func @two
// CHECK: %[[A:.*]], %{{.*}}, %{{.*}} = dlc.fused_batch_norm %arg0, %arg1, %arg1 {epsilon = 1.000000e-05 : f64} :
// CHECK: %[[B:.*]], %{{.*}}, %{{.*}} = dlc.fused_batch_norm %arg0, %arg2, %arg2, %[[A]] {epsilon = 1.000000e-05 : f64, relu}
// CHECK: %[[C:.*]], %{{.*}}, %{{.*}} = dlc.fused_batch_norm %[[B]], %arg1, %arg1 {epsilon = 1.000000e-05 : f64} :
// CHECK: %[[SUM:.*]] = dlc.add %[[C]], %arg0
// CHECK: %[[Z:.*]] = dlc.relu %[[SUM]]
// CHECK: return %[[Z]], %[[SUM]]
// PLAN-LABEL: func @two
func.func @two(%x: tensor<8x4x4x8xf16>, %s: tensor<8xf32>, %t: tensor<8xf32>) -> (tensor<8x4x4x8xf16>, tensor<8x4x4x8xf16>) {
  %p:5 = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %q:5 = dlc.batch_norm %x, %t, %t, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %a = dlc.add %p#0, %q#0 : (tensor<8x4x4x8xf16>, tensor<8x4x4x8xf16>) -> tensor<8x4x4x8xf16>
  %z = dlc.relu %a : (tensor<8x4x4x8xf16>) -> tensor<8x4x4x8xf16>
  %r:5 = dlc.batch_norm %z, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %b = dlc.add %r#0, %x : (tensor<8x4x4x8xf16>, tensor<8x4x4x8xf16>) -> tensor<8x4x4x8xf16>
  %c = dlc.relu %b : (tensor<8x4x4x8xf16>) -> tensor<8x4x4x8xf16>
  return %c, %b : tensor<8x4x4x8xf16>, tensor<8x4x4x8xf16>
}

// -----

// CHECK-LABEL: func @layers
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = dlc.fused_layer_norm %arg0, %arg1, %arg1 {axis = 2 : i64, epsilon = 1.000000e-05 : f64}
// CHECK: dlc.fused_layer_norm_backward %[[Y]], %arg0, %arg1, %[[MEAN]], %[[RSTD]] {axis = 2 : i64}
// PLAN-LABEL: func @layers
// PLAN: dlc.fused_layer_norm
// PLAN: dlc.fused_layer_norm_backward
func.func @layers(%x: tensor<2x4x16xbf16>, %s: tensor<16xf32>) -> (tensor<2x4x16xbf16>, tensor<16xf32>, tensor<16xf32>) {
  %y, %mean, %rstd = dlc.layer_norm %x, %s, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4x16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x4x16xbf16>, tensor<2x4x1xf32>, tensor<2x4x1xf32>)
  %dx, %ds, %db = dlc.layer_norm_backward %y, %x, %s, %mean, %rstd {axis = 2 : i64} : (tensor<2x4x16xbf16>, tensor<2x4x16xbf16>, tensor<16xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> (tensor<2x4x16xbf16>, tensor<16xf32>, tensor<16xf32>)
  return %dx, %ds, %db : tensor<2x4x16xbf16>, tensor<16xf32>, tensor<16xf32>
}

// -----

// WHY: remark: batch_norm is decomposed: cuDNN's batch norm needs images, channels last
// WHY: remark: batch_norm is decomposed: 12 values are no multiple of 8, as cuDNN's norms need
// WHY: remark: layer_norm is decomposed: it computes in f64
// WHY: remark: layer_norm is decomposed: its scale is bf16, and cuDNN's norms keep f32
// WHY: remark: batch_norm is decomposed: its statistics are those of all ranks (--sync-bn)
// CHECK-LABEL: func @others
// CHECK-NOT: dlc.fused
// PLAN-LABEL: func @others
// PLAN-NOT: norm
func.func @others(%a: tensor<8x8x4x4xf32>, %s: tensor<8xf32>, %b: tensor<8x4x4x12xf32>, %t: tensor<12xf32>, %c: tensor<4x8xf64>, %u: tensor<8xf64>, %d: tensor<4x8xbf16>, %v: tensor<8xbf16>, %e: tensor<8x4x4x8xf32>) -> (tensor<8x8x4x4xf32>, tensor<8x4x4x8xf32>, tensor<8x4x4x12xf32>, tensor<4x8xf64>, tensor<4x8xbf16>) {
  %p:5 = dlc.batch_norm %a, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<8x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %q:5 = dlc.batch_norm %b, %t, %t, %t, %t {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<8x4x4x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>)
  %r:3 = dlc.layer_norm %c, %u, %u {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<4x8xf64>, tensor<4x1xf64>, tensor<4x1xf64>)
  %w:3 = dlc.layer_norm %d, %v, %v {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x1xbf16>, tensor<4x1xbf16>)
  %z:5 = dlc.batch_norm %e, %s, %s, %s, %s {dlc.bucket = 1 : i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %p#0, %z#0, %q#0, %r#0, %w#0 : tensor<8x8x4x4xf32>, tensor<8x4x4x8xf32>, tensor<8x4x4x12xf32>, tensor<4x8xf64>, tensor<4x8xbf16>
}
