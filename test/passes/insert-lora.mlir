// RUN: %dlc-opt %s --split-input-file --dlc-insert-lora="lora=2 lora-alpha=6 lora-trained=head seed=3" --verify-diagnostics | FileCheck %s
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-lora="lora=2 lora-targets=nothing" 2>&1 | FileCheck %s --check-prefix=NONE

// Weights become constants, adapters are what is trained; the head, the bias and the embedding have none.
// CHECK: module attributes {dlc.adapters = [{a = "fc.lora_A.weight", b = "fc.lora_B.weight", inputs_first = false, scale = 3.000000e+00 : f64, weight = "fc.weight"}, {a = "val_7.lora_A.weight", b = "val_7.lora_B.weight", inputs_first = true, scale = 3.000000e+00 : f64, weight = "val_7"}]}
// CHECK: dlc.state @fc.weight : tensor<5x8xf32> const init = "fc.weight"
// CHECK: dlc.state @fc.bias : tensor<5xf32> const init = "fc.bias"
// CHECK: dlc.state @val_7 : tensor<5x7xf32> const
// CHECK: dlc.state @head.weight : tensor<3x7xf32> param init = "head.weight" trainable
// CHECK: dlc.state @fc.lora_A.weight : tensor<2x8xf32> param init = {kind = "kaiming_uniform(2.2360679775)", seed = 3 : i64} trainable
// CHECK: dlc.state @fc.lora_B.weight : tensor<5x2xf32> param init = 0.000000e+00 : f32 trainable
// CHECK: dlc.state @val_7.lora_A.weight : tensor<2x5xf32>
// CHECK: dlc.state @val_7.lora_B.weight : tensor<7x2xf32>
// CHECK: %[[Y:.*]] = dlc.matmul %[[X:.*]], %{{.*}}, %{{.*}} {trans_b}
// CHECK: %[[A:.*]] = dlc.read @fc.lora_A.weight
// CHECK: %[[B:.*]] = dlc.read @fc.lora_B.weight
// CHECK: %[[H:.*]] = dlc.matmul %[[X]], %[[A]] {trans_b}
// CHECK: %[[D:.*]] = dlc.matmul %[[H]], %[[B]] {trans_b}
// CHECK: %[[C:.*]] = dlc.constant dense<3.000000e+00>
// CHECK: %[[S:.*]] = dlc.mul %[[D]], %[[C]]
// CHECK: %[[SUM:.*]] = dlc.add %[[Y]], %[[S]]
// CHECK: %[[Z:.*]] = dlc.matmul %[[SUM]], %{{.*}} : (tensor<4x5xf32>, tensor<5x7xf32>)
// CHECK: %[[LAST:.*]] = dlc.add %[[Z]],
// CHECK: %[[OUT:.*]] = dlc.matmul %[[LAST]], %{{.*}} {trans_b}
// CHECK-NEXT: return %[[OUT]]
// NONE: error: --lora: no weight of a matrix product or an ungrouped convolution matches --lora-targets
// expected-remark @+1 {{adapters of rank 2 on 2 weights}}
module {
  dlc.state @fc.weight : tensor<5x8xf32> param init = "fc.weight" trainable
  dlc.state @fc.bias : tensor<5xf32> param init = "fc.bias" trainable
  dlc.state @val_7 : tensor<5x7xf32> param init = "val_7" trainable
  dlc.state @head.weight : tensor<3x7xf32> param init = "head.weight" trainable
  func.func @predict(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
    %w = dlc.read @fc.weight : tensor<5x8xf32>
    %b = dlc.read @fc.bias : tensor<5xf32>
    %v = dlc.read @val_7 : tensor<5x7xf32>
    %h = dlc.read @head.weight : tensor<3x7xf32>
    %0 = dlc.matmul %x, %w, %b {trans_b} : (tensor<4x8xf32>, tensor<5x8xf32>, tensor<5xf32>) -> tensor<4x5xf32>
    %1 = dlc.matmul %0, %v : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
    %2 = dlc.matmul %1, %h {trans_b} : (tensor<4x7xf32>, tensor<3x7xf32>) -> tensor<4x3xf32>
    return %2 : tensor<4x3xf32>
  }
}
