// RUN: %dlc-opt %s --split-input-file --dlc-append-loss --verify-diagnostics

// expected-error @+1 {{cross_entropy expects an output of shape [rows, classes], found 'tensor<4xf32>'; use --loss=mse for numbers}}
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{cross_entropy expects an output of shape [rows, classes], found 'tensor<4x1xf32>'; use --loss=bce for one logit a row, --loss=mse for a number}}
func.func @predict(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  return %x : tensor<4x1xf32>
}

// -----

// expected-error @+1 {{the loss expects a float output of static shape, found 'tensor<4x10xi64>'}}
func.func @predict(%x: tensor<4x10xi64>) -> tensor<4x10xi64> {
  return %x : tensor<4x10xi64>
}

// -----

// expected-error @+1 {{expected a function @predict}}
module {}

// -----

func.func @predict(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  // expected-remark @+1 {{the model ends in softmax, which cross_entropy contains; training uses what goes into it}}
  %0 = dlc.softmax %x {axis = 1 : i64} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// expected-error @+1 {{cross_entropy expects an output of shape [rows, classes], found 'tensor<f32>'; use --loss=OUTPUT:graph for a loss that the graph computes}}
func.func @predict(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
