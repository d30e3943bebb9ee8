// --loss=auto: a number that the graph computes of its inputs and of what trains is the loss.
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss 2>/dev/null | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss --verify-diagnostics >/dev/null

// It is the first output, whatever its name.
dlc.state @w : tensor<4x10xf32> param init = "w" trainable
// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<f32> {dlc.name = "loss"})
// expected-remark @+1 {{the loss is output 'energy', a number that the graph computes (--loss=energy:graph)}}
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<f32> {dlc.name = "energy"}, tensor<4x10xf32> {dlc.name = "logits"}) {
  %w = dlc.read @w : tensor<4x10xf32>
  %0 = dlc.mul %x, %w : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %1 = dlc.reduce_mean %0 {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  return %1, %0 : tensor<f32>, tensor<4x10xf32>
}

// -----

// Or one of several is called "loss"; Paddle's have one dimension.
dlc.state @w : tensor<4x10xf32> param init = "w" trainable
// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<f32> {dlc.name = "loss"})
// CHECK: dlc.abs
// expected-remark @+1 {{the loss is output 'loss', a number that the graph computes (--loss=loss:graph)}}
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"})
    -> (tensor<4x10xf32> {dlc.name = "logits"}, tensor<f32> {dlc.name = "loss_a"}, tensor<1xf32> {dlc.name = "loss"}) {
  %w = dlc.read @w : tensor<4x10xf32>
  %0 = dlc.mul %x, %w : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %1 = dlc.reduce_mean %0 {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  %2 = dlc.abs %0 : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %3 = dlc.reduce_mean %2 {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  %4 = dlc.reshape %3 : (tensor<f32>) -> tensor<1xf32>
  return %0, %1, %4 : tensor<4x10xf32>, tensor<f32>, tensor<1xf32>
}

// -----

// Others are said; what no input or no parameter changes is none.
dlc.state @w : tensor<4x10xf32> param init = "w" trainable
dlc.state @s : tensor<f32> param init = "s" trainable
// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x10xf32> {dlc.name = "x"}, %{{.*}}: tensor<4xi64> {dlc.name = "y"})
// CHECK: dlc.softmax_cross_entropy
// expected-remark @+1 {{output 'commitment', a number that the graph computes, is not trained; --loss=commitment:graph takes it for the loss, or for one of several}}
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"})
    -> (tensor<4x10xf32> {dlc.name = "logits"}, tensor<f32> {dlc.name = "commitment"}, tensor<f32> {dlc.name = "scale"}, tensor<f32> {dlc.name = "mean"}) {
  %w = dlc.read @w : tensor<4x10xf32>
  %s = dlc.read @s : tensor<f32>
  %0 = dlc.mul %x, %w : (tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %1 = dlc.reduce_mean %0 {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  %2 = dlc.reduce_mean %x {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  return %0, %1, %s, %2 : tensor<4x10xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// The classes of three dimensions are where the layer that computes the output has its features.
dlc.state @w : tensor<5x3x1xf32> param init = "w" trainable
// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x3x7xf32>{{.*}}, %{{.*}}: tensor<4x7xi64> {dlc.name = "y"})
// expected-remark @+1 {{classes are axis 1 of 'tensor<4x5x7xf32>', as in the layer that computes it; --class-axis=2 if they are last}}
func.func @predict(%x: tensor<4x3x7xf32> {dlc.name = "x"}) -> (tensor<4x5x7xf32> {dlc.name = "logits"}) {
  %w = dlc.read @w : tensor<5x3x1xf32>
  %0 = dlc.conv %x, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>, group = 1 : i64}
      : (tensor<4x3x7xf32>, tensor<5x3x1xf32>) -> tensor<4x5x7xf32>
  %1 = dlc.relu %0 : (tensor<4x5x7xf32>) -> tensor<4x5x7xf32>
  return %1 : tensor<4x5x7xf32>
}

// -----

// Here the transposed output of a convolution, and that of a matrix product.
dlc.state @w : tensor<5x3x1xf32> param init = "w" trainable
// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x3x7xf32>{{.*}}, %{{.*}}: tensor<28xi64> {dlc.name = "y"})
func.func @predict(%x: tensor<4x3x7xf32> {dlc.name = "x"}) -> (tensor<4x7x5xf32> {dlc.name = "logits"}) {
  %w = dlc.read @w : tensor<5x3x1xf32>
  %0 = dlc.conv %x, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>, group = 1 : i64}
      : (tensor<4x3x7xf32>, tensor<5x3x1xf32>) -> tensor<4x5x7xf32>
  %1 = dlc.transpose %0 {perm = array<i64: 0, 2, 1>} : (tensor<4x5x7xf32>) -> tensor<4x7x5xf32>
  return %1 : tensor<4x7x5xf32>
}

// -----

// CHECK-LABEL: @train_step(%{{.*}}: tensor<4x7x3xf32>{{.*}}, %{{.*}}: tensor<28xi64> {dlc.name = "y"})
dlc.state @w : tensor<3x5xf32> param init = "w" trainable
func.func @predict(%x: tensor<4x7x3xf32> {dlc.name = "x"}) -> (tensor<4x7x5xf32> {dlc.name = "logits"}) {
  %w = dlc.read @w : tensor<3x5xf32>
  %0 = dlc.matmul %x, %w : (tensor<4x7x3xf32>, tensor<3x5xf32>) -> tensor<4x7x5xf32>
  return %0 : tensor<4x7x5xf32>
}
