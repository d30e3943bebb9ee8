// SPDX-License-Identifier: Apache-2.0
// The ranges of a model's values on samples.
#pragma once

#include "compiler/export/quantize/Quantize.h"
#include "runtime/plan/Model.h"

namespace dlc::tool {

struct CalibrationOptions {
  std::string data; // as --data of dlc predict
  int64_t samples = 256;
  /// What of a value's elements lies in its range: all, or `percentile` of them
  /// by their size (Wu et al. 2020, arXiv:2004.09602, section 4), of 4096 bins,
  /// or those bins of which integers say most (Entropy.h).
  enum class Method { MinMax, Percentile, Entropy } method = Method::MinMax;
  double percentile = 99.99;
};

struct Calibration {
  std::map<std::string, exporter::ValueRange> ranges;
  int64_t samples = 0; // that there were
};

/// Runs the model, of f32 and with its weights inside, on samples that lie
/// evenly among those of `data`, in the order of the file, read as those of
/// the run that `source` is; for `values` by name. Compiles it into `folder`,
/// which the caller removes. Errors also for a value that is not f32, or has a
/// NaN or an infinity.
Result<Calibration> calibrate(const onnx::ModelProto &model,
                              const std::vector<std::string> &values,
                              const Model &source,
                              const CalibrationOptions &options,
                              const std::string &folder);

} // namespace dlc::tool
