// SPDX-License-Identifier: Apache-2.0
// A model's own training form (ONNX's TrainingInfoProto) as a step of dlc.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// What a model's training_info says of its step; what is unset it does not
/// say. Names and formulas are those of dlc's optimizers.
struct OwnStep {
  std::string loss; // an output of the model, a number
  std::string optimizer;
  double lr = 0, dampening = 0;
  std::optional<double> momentum, beta1, beta2, epsilon, weightDecay;
  bool nesterov = false;

  bool operator==(const OwnStep &) const = default;
};

/// Reads the training_info of a file: an optimizer of
/// ai.onnx.preview.training, at a constant rate, over a Gradient by the
/// parameters that it binds, which are those that train. What the loss needs of
/// the algorithm joins the graph, the loss as an output; the rest is taken
/// away. Code::BadModel, by name, for any other algorithm: states that do not
/// start at zero, other updates, gradients that are changed on their way.
Result<OwnStep> takeOwnStep(OnnxFile &file);

} // namespace dlc::import
