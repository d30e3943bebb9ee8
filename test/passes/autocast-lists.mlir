// The user's lists, by mnemonic, by ONNX operator, by node. An operator that becomes several ops is known by the
// metadata that the importer leaves in their locations.
// RUN: %dlc-opt %s --dlc-autocast="amp-allow=tanh amp-deny=MatMul" | FileCheck %s
// RUN: %dlc-opt %s --dlc-autocast="amp-allow=tanh,HardSwish" | FileCheck %s --check-prefix=OPERATOR
// RUN: %dlc-opt %s --dlc-autocast="amp-allow=tanh,HardSwish amp-deny=sigmoid amp-node=mid:half,act2:f32,act:half" | FileCheck %s --check-prefix=NODES
// RUN: %dlc-opt %s --dlc-autocast="amp-infer=matmul" | FileCheck %s --check-prefix=NONE
// RUN: not %dlc-opt %s --dlc-autocast=amp-allow=matmol 2>&1 | FileCheck %s --check-prefix=TYPO
// RUN: not %dlc-opt %s --dlc-autocast="amp-allow=matmul amp-infer=Gemm" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not %dlc-opt %s --dlc-autocast=amp-dtype=fp4 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not %dlc-opt %s --dlc-autocast=amp=O4 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not %dlc-opt %s --dlc-autocast=amp-preset=jax 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not %dlc-opt %s --dlc-autocast=amp-node=act2:f16 2>&1 | FileCheck %s --check-prefix=RULE
// RUN: not %dlc-opt %s --dlc-autocast=amp-node=(:f32 2>&1 | FileCheck %s --check-prefix=PATTERN

// CHECK: dlc.matmul {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.tanh {{.*}} -> tensor<4x4xbf16>
// CHECK-COUNT-2: dlc.mul {{.*}} -> tensor<4x4xf32>

// OPERATOR: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// OPERATOR: dlc.tanh {{.*}} -> tensor<4x4xbf16>
// OPERATOR: dlc.sigmoid {{.*}} -> tensor<4x4xbf16>
// OPERATOR: dlc.mul {{.*}} -> tensor<4x4xbf16>
// OPERATOR: dlc.mul {{.*}} -> tensor<4x4xf32>

// The first rule that fits counts, and rules win over lists. The one in f32 is f32 alone: what follows it is not.
// NODES: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// NODES: dlc.tanh {{.*}} -> tensor<4x4xbf16>
// NODES: dlc.sigmoid {{.*}} -> tensor<4x4xbf16>
// NODES: dlc.mul {{.*}} -> tensor<4x4xf32>
// NODES: dlc.mul {{.*}} -> tensor<4x4xf32>

// NONE-NOT: bf16

// TYPO: autocast knows no op 'matmol'
// BOTH: one op is on two lists of autocast: --amp-allow=matmul and --amp-infer=Gemm
// DTYPE: amp-dtype: 'fp4' is not one of bf16, fp16, fp8
// LEVEL: amp: expected O0, O1, O2 or O3, found 'O4'
// PRESET: amp-preset: 'jax' is not one of dlc, torch, tf, oneflow
// RULE: --amp-node: expected REGEX:f32 or REGEX:half, found 'act2:f16'
// PATTERN: --amp-node: '(' is not a regular expression
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.tanh %0 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("act1")
  %2 = dlc.sigmoid %1 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("mid")
  %3 = dlc.mul %2, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"HardSwish">["act2"])
  %4 = dlc.mul %3, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"Mul">["mul"])
  return %4 : tensor<4x4xf32>
}
