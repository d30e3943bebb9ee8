// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Diagnostics.h"
#include "compiler/lower/Labels.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"

using namespace mlir;

namespace dlc {

DiagnosticLog::DiagnosticLog(MLIRContext &context, bool quiet)
    : handler(&context, [this, quiet](Diagnostic &d) {
        std::string label = printable(locationLabel(d.getLocation()));
        std::string message = (label.empty() ? "" : label + ": ") + d.str();
        if (d.getSeverity() == DiagnosticSeverity::Error)
          text += (text.empty() ? "" : "\n") + message;
        else if (quiet || !said.insert(message).second)
          return success();
        else if (d.getSeverity() == DiagnosticSeverity::Warning)
          logWarning(message);
        else
          info("{}", message);
        return success();
      }) {
  // Nobody reads that note, and to print an op costs a look at all others.
  context.printOpOnDiagnostic(false);
}

} // namespace dlc
