// The user's lists, by mnemonic or by ONNX name.
// RUN: %dlc-opt %s --dlc-autocast="allow=tanh deny=MatMul" | FileCheck %s
// RUN: not %dlc-opt %s --dlc-autocast=allow=matmol 2>&1 | FileCheck %s --check-prefix=TYPO
// RUN: not %dlc-opt %s --dlc-autocast=deny=Frobnicate 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --dlc-autocast="allow=matmul deny=Gemm" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not %dlc-opt %s --dlc-autocast=dtype=fp8 2>&1 | FileCheck %s --check-prefix=DTYPE

// CHECK: dlc.matmul {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.tanh {{.*}} -> tensor<4x4xbf16>
// TYPO: autocast knows no op 'matmol'; did you mean matmul? known are abs, adamw, add,
// UNKNOWN: autocast knows no op 'Frobnicate'; known are abs,
// BOTH: 'Gemm' is on both lists of autocast
// DTYPE: autocast to 'fp8' is not known, expected bf16 or fp16
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.tanh %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
