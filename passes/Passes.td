// The passes of a training program. One entry, one .cpp, one line in Pipeline.cpp, one test.
#ifndef DLC_PASSES
#define DLC_PASSES
include "mlir/Pass/PassBase.td"

def Autodiff : Pass<"dlc-autodiff", "mlir::ModuleOp"> {
  let summary = "every trainable state that the loss depends on gets its gradient";
  let description = [{The function's first result is the loss, a float scalar. Appends the backward graph, started by
    dlc.seed, and one dlc.gradient for each trainable state, the one ready first first. A trainable state that the
    loss does not depend on loses its mark, with a remark: no optimizer touches it.}];
  let options = [Option<"function", "function", "std::string", "\"train_step\"", "the function whose first result is the loss">];
  let dependentDialects = ["::dlc::ir::DlcDialect"];
}

#endif
