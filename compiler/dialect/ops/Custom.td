// SPDX-License-Identifier: Apache-2.0
// Operators of a user's library.
#ifndef DLC_CUSTOM
#define DLC_CUSTOM
include "DlcBase.td"

def Dlc_CustomOp : Dlc_Op<"custom", CastDeny, [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "call of a user's operator, from a library given to the compiler (runtime/plan/ops/dlc_op.h)";
  let shapes = "as the library infers them";
  let description = [{`library`: the library's file in the artifact. `domain`, `op`: the ONNX operator. `arguments`: the node's attributes as JSON.
    `differentiable`: the library has a backward call. `backward`: this is that call, from the forward call's inputs, results and gradients
    of float results to gradients of float inputs. (C1) `library`, `domain`, `op` are not empty; (C2) backward calls are not differentiable.}];
  let example = [{%y = dlc.custom %x {library = "ops.libmine.so", domain = "mine", op = "Twist", arguments = "{\"by\":[2]}", differentiable}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Variadic<Dlc_Tensor>:$inputs, StrAttr:$library, StrAttr:$domain, StrAttr:$op, StrAttr:$arguments,
      UnitAttr:$backward, UnitAttr:$differentiable);
  let results = (outs Variadic<Dlc_Tensor>:$outputs);
  let hasVerifier = 1;
}

#endif
