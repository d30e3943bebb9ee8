#include "compiler/codegen/cpu/Approximations.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

using namespace mlir;

namespace dlc {

void populateApproximations(RewritePatternSet &patterns) {
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({"math.tanh", "math.log", "math.erf", "math.exp",
                               "math.sin", "math.cos"},
                              name);
  });
}

} // namespace dlc
