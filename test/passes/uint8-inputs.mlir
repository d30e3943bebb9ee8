// RUN: %dlc-opt %s --split-input-file --dlc-uint8-inputs='uint8-input=x(mean=imagenet,std=imagenet)' --verify-diagnostics | FileCheck %s
// RUN: not %dlc-opt %s --split-input-file --dlc-uint8-inputs='uint8-input=x(scale=1/128)' 2>/dev/null | FileCheck %s --check-prefix=SCALE

// CHECK-LABEL: func @predict
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4x4xi8> {dlc.name = "x"}, %{{.*}}: tensor<2xf32> {dlc.name = "z"})
// CHECK: %[[F:.*]] = dlc.cast %[[X]] : (tensor<2x3x4x4xi8>) -> tensor<2x3x4x4xf32>
// CHECK: %[[ALL:.*]] = dlc.constant dense<2.550000e+02> : tensor<f32>
// CHECK: %[[A:.*]] = dlc.div %[[F]], %[[ALL]]
// CHECK: %[[MEAN:.*]] = dlc.constant dense<{{.*}}4.850000e-01{{.*}}4.560000e-01{{.*}}4.060000e-01{{.*}}> : tensor<3x1x1xf32>
// CHECK: %[[STD:.*]] = dlc.constant dense<{{.*}}2.290000e-01{{.*}}> : tensor<3x1x1xf32>
// CHECK: %[[B:.*]] = dlc.sub %[[A]], %[[MEAN]]
// CHECK: %[[C:.*]] = dlc.div %[[B]], %[[STD]]
// CHECK: dlc.relu %[[C]]
// SCALE: %[[S:.*]] = dlc.constant dense<7.812500e-03> : tensor<f32>
// SCALE: dlc.mul %{{.*}}, %[[S]]
// SCALE-NOT: dlc.sub
func.func @predict(%x: tensor<2x3x4x4xf32> {dlc.name = "x"}, %z: tensor<2xf32> {dlc.name = "z"}) -> (tensor<2x3x4x4xf32> {dlc.name = "y"}) {
  %y = dlc.relu %x : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// Channels last.
// CHECK-LABEL: func @predict
// CHECK: dlc.constant dense<{{.*}}> : tensor<3xf32>
func.func @predict(%x: tensor<2x4x4x3xf32> {dlc.name = "x"}) -> (tensor<2x4x4x3xf32> {dlc.name = "y"}) {
  %y = dlc.relu %x : (tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  return %y : tensor<2x4x4x3xf32>
}

// -----

// expected-error@+1 {{--uint8-input: input 'x' is 'tensor<2xi64>', expected elements of f32}}
func.func @predict(%x: tensor<2xi64> {dlc.name = "x"}) -> (tensor<2xi64> {dlc.name = "y"}) {
  return %x : tensor<2xi64>
}

// -----

// expected-error@+1 {{--uint8-input: input 'x' 'tensor<2x4x4x4xf32>' has 3 means and 3 deviations, expected one, or one for each channel}}
func.func @predict(%x: tensor<2x4x4x4xf32> {dlc.name = "x"}) -> (tensor<2x4x4x4xf32> {dlc.name = "y"}) {
  return %x : tensor<2x4x4x4xf32>
}

// -----

// expected-error@+1 {{--uint8-input: no input 'x' in the model, which has 'a', 'b'}}
module {
  func.func @predict(%a: tensor<2xf32> {dlc.name = "a"}, %b: tensor<2xf32> {dlc.name = "b"}) -> (tensor<2xf32> {dlc.name = "y"}) {
    return %a : tensor<2xf32>
  }
}
