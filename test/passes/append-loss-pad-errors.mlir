// RUN: %dlc-opt %s --split-input-file --dlc-append-loss="last-batch=pad loss=auto" --verify-diagnostics

// expected-error @+1 {{the graph computes its loss itself, of a batch as a whole, so that no samples of it can be left out (--last-batch=pad): name an output and a kind, as in --loss=logits:cross_entropy, or compile with --last-batch=drop}}
func.func @predict(%x: tensor<4x10xf32>) -> (tensor<f32> {dlc.loss}) {
  %0 = dlc.reduce_mean %x {axes = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{input 'dlc.sample_weight' has the name of what --last-batch=pad adds; rename it in the model}}
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "dlc.sample_weight"}) -> tensor<4x10xf32> {
  return %x : tensor<4x10xf32>
}
