// SPDX-License-Identifier: Apache-2.0
// dlc export --quantize: a model of 8-bit integers, by ranges on samples.
#pragma once

#include "compiler/export/Export.h"
#include "runtime/base/options/OptionTable.h"
#include "tools/dlc-compile/quantize/Calibrate.h"

namespace dlc::tool {

struct QuantizeOptions {
  std::string type = "off";
  CalibrationOptions calibration;

  bool isAsked() const { return type != "off"; }
  /// As "export.quantize" and so on.
  void addTo(OptionTable &table);
};

/// Writes the model of a skeleton (Export.h) with integers to `path`, and says
/// what has them and what has not.
Status exportQuantized(const std::string &skeleton,
                       const exporter::Tensors &tensors, const Model &source,
                       const QuantizeOptions &options, const std::string &path);

} // namespace dlc::tool
