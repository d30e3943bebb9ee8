// RUN: %dlc-opt %s --split-input-file --dlc-autocast | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-autocast=amp-dtype=fp16 | FileCheck %s --check-prefix=FP16

// What lies between two products computes in half; before the first and after the last it does not. A weight is cast
// once, results stay f32.
// CHECK-LABEL: @between
// CHECK: [[E:%.*]] = dlc.exp %arg0 : {{.*}} -> tensor<4x4xf32>
// CHECK: [[H:%.*]] = dlc.cast [[E]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: [[W:%.*]] = dlc.read @w
// CHECK: [[WH:%.*]] = dlc.cast [[W]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: [[A:%.*]] = dlc.matmul [[H]], [[WH]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: [[T:%.*]] = dlc.tanh [[A]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: [[B:%.*]] = dlc.matmul [[T]], [[WH]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: [[F:%.*]] = dlc.cast [[B]] : {{.*}} -> tensor<4x4xf32>
// CHECK: [[S:%.*]] = dlc.sigmoid [[F]] : {{.*}} -> tensor<4x4xf32>
// CHECK: return [[F]], [[S]] : tensor<4x4xf32>, tensor<4x4xf32>
dlc.state @w : tensor<4x4xf32> param init = "w" trainable
func.func @between(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dlc.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = dlc.read @w : tensor<4x4xf32>
  %1 = dlc.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.tanh %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.matmul %2, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.sigmoid %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A denied op taints what follows up to the next infer op (mul); the clear op behind it (neg) is free. exp is denied
// under fp16 only.
// FP16-LABEL: @denied
// FP16: dlc.matmul {{.*}} -> tensor<4x4xf16>
// FP16: dlc.exp {{.*}} -> tensor<4x4xf32>
// FP16: dlc.relu {{.*}} -> tensor<4x4xf32>
// FP16: [[M:%.*]] = dlc.mul {{.*}} -> tensor<4x4xf32>
// FP16: [[H:%.*]] = dlc.cast [[M]] : {{.*}} -> tensor<4x4xf16>
// FP16: [[N:%.*]] = dlc.neg [[H]] : {{.*}} -> tensor<4x4xf16>
// FP16: dlc.matmul [[N]]
// CHECK-LABEL: @denied
// CHECK-COUNT-6: -> tensor<4x4xbf16>
// CHECK: [[Y:%.*]] = dlc.matmul
// CHECK: [[F:%.*]] = dlc.cast [[Y]]
// CHECK: return [[F]]
func.func @denied(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.relu %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.mul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.neg %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dlc.matmul %4, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// -----

// Clear ops follow a product in both directions: the loss reads f32, the transpose and the reshape are half.
// CHECK-LABEL: @clear
// CHECK: [[X:%.*]] = dlc.cast %arg0 : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: dlc.transpose [[X]] {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.matmul
// CHECK: [[R:%.*]] = dlc.reshape {{.*}} -> tensor<2x8xbf16>
// CHECK: [[F:%.*]] = dlc.cast [[R]] : {{.*}} -> tensor<2x8xf32>
// CHECK: dlc.softmax_cross_entropy [[F]]
func.func @clear(%x: tensor<4x4xf32>, %y: tensor<2xi64>) -> tensor<2xf32> {
  %0 = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.reshape %1 : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %loss, %lse = dlc.softmax_cross_entropy %2, %y : (tensor<2x8xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return %loss : tensor<2xf32>
}

// -----

// Scales and statistics are pinned to f32.
// CHECK-LABEL: @pinned
// CHECK: [[X:%.*]] = dlc.matmul {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.batch_norm [[X]], %arg1, %arg1, %arg1, %arg1 {{.*}} -> (tensor<4x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @pinned(%x: tensor<4x4xf32>, %s: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y, %m, %v, %sm, %sv = dlc.batch_norm %0, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = dlc.matmul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %m : tensor<4x4xf32>, tensor<4xf32>
}

// -----

// Constants are rounded, not cast; one beyond fp16's range becomes its last number where it is only chosen. An infinity
// stays.
// FP16-LABEL: @constants
// FP16-DAG: dlc.constant dense<-6.550400e+04> : tensor<f16>
// FP16-DAG: dlc.constant dense<[0xFC00, 5.000000e-01
// FP16: dlc.add {{.*}} -> tensor<4x4xf16>
// FP16: dlc.select {{.*}} -> tensor<4x4xf16>
// FP16: dlc.softmax {{.*}} -> tensor<4x4xf16>
// CHECK-LABEL: @constants
// CHECK-DAG: dlc.constant dense<{{-9.98.*|-1.00.*}}> : tensor<bf16>
func.func @constants(%x: tensor<4x4xf32>, %keep: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %mask = dlc.constant dense<-1.0e9> : tensor<f32>
  %row = dlc.constant dense<[0xFF800000, 0.5, 0.0, 0.0]> : tensor<4xf32>
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.add %0, %row : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = dlc.select %keep, %1, %mask : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %3 = dlc.softmax %2 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.matmul %3, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// Arithmetic with such a constant is denied under fp16: -65504 - 100 is no fp16 number any more, and a row of nothing
// else would be NaN behind the softmax. It makes no difference whether the constant comes through a choice. bf16 has
// f32's range: there even the last f32 number, which rounds up, becomes the last bf16 number.
// FP16-LABEL: @masks
// FP16: dlc.add {{.*}} -> tensor<4x4xf32>
// FP16: dlc.softmax {{.*}} -> tensor<4x4xf32>
// FP16: dlc.select {{.*}} -> tensor<4x4xf32>
// FP16: dlc.add {{.*}} -> tensor<4x4xf32>
// FP16: dlc.softmax {{.*}} -> tensor<4x4xf32>
// CHECK-LABEL: @masks
// CHECK-DAG: dlc.constant dense<-3.3{{.*}}e+38> : tensor<bf16>
// CHECK: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.softmax {{.*}} -> tensor<4x4xbf16>
func.func @masks(%x: tensor<4x4xf32>, %mask: tensor<4x4xf32>, %keep: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %last = dlc.constant dense<-3.40282347e+38> : tensor<f32>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.add %0, %last : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = dlc.softmax %1 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.matmul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.select %keep, %zero, %last : (tensor<4x4xi1>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
  %5 = dlc.add %3, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = dlc.softmax %5 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = dlc.matmul %6, %6 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}

// -----

// A cast that the user wrote is a border; f64 is not touched; a function without products stays as it is.
// CHECK-LABEL: @border
// CHECK: [[Y:%.*]] = dlc.matmul
// CHECK: [[F:%.*]] = dlc.cast [[Y]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: [[W:%.*]] = dlc.cast [[F]] : (tensor<4x4xf32>) -> tensor<4x4xf64>
// CHECK: dlc.matmul [[W]], [[W]] : {{.*}} -> tensor<4x4xf64>
// CHECK-LABEL: @none
// CHECK-NOT: bf16
func.func @border(%x: tensor<4x4xf32>) -> tensor<4x4xf64> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.cast %0 : (tensor<4x4xf32>) -> tensor<4x4xf64>
  %2 = dlc.matmul %1, %1 : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %2 : tensor<4x4xf64>
}
func.func @none(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// A constant kept as state is cast when the step runs, and would overflow: what reads it is denied, and so is what that
// taints. -1e9 is no problem for bf16.
// FP16-LABEL: @states
// FP16: dlc.add {{.*}} -> tensor<4x4xf32>
// FP16: dlc.softmax {{.*}} -> tensor<4x4xf32>
// FP16: dlc.select {{.*}} -> tensor<4x4xf32>
// FP16: dlc.softmax {{.*}} -> tensor<4x4xf32>
// CHECK-LABEL: @states
// CHECK: dlc.add {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.select {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.softmax {{.*}} -> tensor<4x4xf32>
dlc.state @mask : tensor<4x4xf32> const init = "mask" {dlc.largest = 1.0e9 : f64}
dlc.state @last : tensor<4x4xf32> const init = "last" {dlc.largest = 3.4028234663852886e+38 : f64}
func.func @states(%x: tensor<4x4xf32>, %keep: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %mask = dlc.read @mask : tensor<4x4xf32>
  %last = dlc.read @last : tensor<4x4xf32>
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.add %0, %mask : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.softmax %1 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.matmul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.select %keep, %3, %last : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dlc.softmax %4 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = dlc.matmul %5, %5 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
