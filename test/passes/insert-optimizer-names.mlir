// A model tensor may not have the name of a state that training needs.
// RUN: %dlc-opt %s --dlc-insert-optimizer --verify-diagnostics

// expected-note @+1 {{it is here}}
dlc.state @step : tensor<2xf32> param init = "step" trainable
// expected-error @+1 {{training needs a state named 'step', but the model has one; rename it there}}
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @step, %g : tensor<2xf32>
  return %loss : tensor<f32>
}
