// SPDX-License-Identifier: Apache-2.0
// MLIR's diagnostics as the tool's messages.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include <set>
#include <string>

namespace dlc {

/// A diagnostic's text behind the ONNX nodes that it is about, with types as
/// other messages write them: "f32 [32, 10]".
std::string messageOf(mlir::Diagnostic &diagnostic);

/// While it lives, errors of the context are collected for `errors()` and
/// warnings and remarks are printed as they come, each with the ONNX nodes that
/// it is about; what was said once is not said again, of another size perhaps.
/// `quiet`: only errors count.
class DiagnosticLog {
public:
  explicit DiagnosticLog(mlir::MLIRContext &context, bool quiet = false);
  /// All errors so far, one a line.
  const std::string &errors() const { return text; }

private:
  mlir::ScopedDiagnosticHandler handler;
  std::string text;
  std::set<std::string> said;
};

} // namespace dlc
