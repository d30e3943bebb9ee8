// Batch norms of images, channels last, are calls on a CPU, with the residual and the ReLU that follow; others stay as they are.
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(func.func(dlc-norm-calls))' --split-input-file | FileCheck %s
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse | FileCheck %s --check-prefix=STEP
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --norm=generated | FileCheck %s --check-prefix=OWN
// RUN: %dlc compile %models/gpt_tiny.onnx --target=cpu --norm=library --emit=mlir --stop-after=fuse 2>&1 | FileCheck %s --check-prefix=WHY

// WHY: the runtime for CPUs has batch norm only
// No mask and no addition of ResNet-8's nine norms stays in a kernel but the masks behind sums.
// STEP-COUNT-9: dlc.fused_batch_norm %
// STEP-COUNT-9: dlc.fused_batch_norm_backward %
// STEP-NOT: dlc.batch_norm
// OWN-NOT: batch_norm

// CHECK-LABEL: func @images
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = dlc.fused_batch_norm %arg0, %arg2, %arg2, %arg1 {epsilon = 1.000000e-05 : f64, relu}
// CHECK: return %[[Y]]
func.func @images(%x: tensor<8x4x4x8xf32>, %r: tensor<8x4x4x8xf32>, %s: tensor<8xf32>) -> tensor<8x4x4x8xf32> {
  %y:5 = dlc.batch_norm %x, %s, %s, %s, %s by = library {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %a = dlc.add %y#0, %r : (tensor<8x4x4x8xf32>, tensor<8x4x4x8xf32>) -> tensor<8x4x4x8xf32>
  %z = dlc.relu %a : (tensor<8x4x4x8xf32>) -> tensor<8x4x4x8xf32>
  return %z : tensor<8x4x4x8xf32>
}

// -----

// CHECK-LABEL: func @rows
// CHECK: dlc.batch_norm {{.*}}by = library
// CHECK: dlc.relu
func.func @rows(%x: tensor<8x4xf32>, %s: tensor<4xf32>) -> tensor<8x4xf32> {
  %y:5 = dlc.batch_norm %x, %s, %s, %s, %s by = library {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %z = dlc.relu %y#0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func @doubles
// CHECK: dlc.batch_norm {{.*}}by = library
// CHECK: dlc.batch_norm_backward {{.*}}by = library
func.func @doubles(%x: tensor<8x4x4x8xf64>, %s: tensor<8xf64>) -> tensor<8x4x4x8xf64> {
  %y:5 = dlc.batch_norm %x, %s, %s, %s, %s by = library {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8x4x4x8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>)
  %g:3 = dlc.batch_norm_backward %y#0, %x, %s, %y#3, %y#4 by = library {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<8x4x4x8xf64>, tensor<8x4x4x8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8x4x4x8xf64>, tensor<8xf64>, tensor<8xf64>)
  return %g#0 : tensor<8x4x4x8xf64>
}
