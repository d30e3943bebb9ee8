// What several ops are built for is on the list of its operator, as the importer notes it in their locations.
// RUN: %dlc-opt %s --dlc-autocast | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: %dlc-opt %s --dlc-autocast=amp-dtype=fp16 | FileCheck %s --check-prefixes=CHECK,FP16
// RUN: %dlc-opt %s --dlc-autocast="amp-infer=CumSum,Resize,ReduceLogSumExp" | FileCheck %s --check-prefix=ASKED
// RUN: %dlc-opt %s --dlc-autocast=amp=O2 | FileCheck %s --check-prefix=LEVEL
// RUN: %dlc-opt %s --dlc-autocast=amp-preset=torch | FileCheck %s --check-prefix=TORCH

// A sum of running parts is f32, what it moves between is as it comes.
// CHECK-LABEL: @running_sum
// CHECK: dlc.slice {{.*}} -> tensor<4x4x{{b?}}f16>
// CHECK: dlc.add {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.matmul {{.*}} -> tensor<4x4x{{b?}}f16>
// ASKED-LABEL: @running_sum
// ASKED: dlc.add {{.*}} -> tensor<4x4xbf16>
// LEVEL-LABEL: @running_sum
// LEVEL: dlc.add {{.*}} -> tensor<4x4xf32>
func.func @running_sum(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.slice %0 {starts = array<i64: 0, 0>, sizes = array<i64: 4, 4>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"CumSum">["c"])
  %2 = dlc.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"CumSum">["c"])
  %3 = dlc.matmul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// Nodes of a standard body are of its operator; those under fp16 alone stay half under bf16.
// CHECK-LABEL: @bodies
// CHECK: dlc.mul {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.matmul
// BF16: dlc.mul {{.*}} -> tensor<4x4xbf16>
// FP16: dlc.mul {{.*}} -> tensor<4x4xf32>
func.func @bodies(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.mul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"ReduceLogSumExp">[fused<"Mul">["r"]])
  %2 = dlc.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.mul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"ReduceL1">["l"])
  %4 = dlc.matmul %3, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// What was made of several nodes is what it is itself.
// CHECK-LABEL: @fused
// CHECK: dlc.mul {{.*}} -> tensor<4x4x{{b?}}f16>
func.func @fused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.mul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused["a", fused<"CumSum">["b"]])
  %2 = dlc.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Two of torch's functions of angles are on its lists, their inverses of other curves are not.
// BF16-LABEL: @inverses
// BF16-COUNT-2: dlc.sub {{.*}} -> tensor<4x4xf32>
// BF16: dlc.sub {{.*}} -> tensor<4x4xbf16>
// BF16: dlc.sub {{.*}} -> tensor<4x4xf32>
// TORCH-LABEL: @inverses
// TORCH: dlc.sub {{.*}} -> tensor<4x4xf32>
// TORCH-COUNT-3: dlc.sub {{.*}} -> tensor<4x4xbf16>
func.func @inverses(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.sub %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"Acos">["a"])
  %2 = dlc.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.sub %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"Acosh">["b"])
  %4 = dlc.matmul %3, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dlc.sub %4, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"Asinh">["c"])
  %6 = dlc.matmul %5, %5 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = dlc.sub %6, %6 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"Atanh">["d"])
  %8 = dlc.matmul %7, %7 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %8 : tensor<4x4xf32>
}
