// SPDX-License-Identifier: Apache-2.0
// Operators of a user's library.
#ifndef DLC_CUSTOM
#define DLC_CUSTOM
include "DlcBase.td"

def Dlc_CustomOp : Dlc_Op<"custom", CastDeny, [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "an operator of a library that was given to the compiler (runtime/plan/ops/dlc_op.h)";
  let shapes = "as the library says; backward: inputs, results and their gradients, to gradients of inputs";
  let description = [{`library` is its file in the artifact, `arguments` are the node's attributes as JSON. With `backward` the operands
    are inputs, results and gradients of floating-point results of the forward call, and the results are gradients of its
    floating-point inputs. (C1) library, domain and op are not empty; (C2) a backward call is not differentiable itself.}];
  let example = [{%y = dlc.custom %x {library = "ops.libmine.so", domain = "mine", op = "Twist", arguments = "{\"by\":[2]}", differentiable}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Variadic<Dlc_Tensor>:$inputs, StrAttr:$library, StrAttr:$domain, StrAttr:$op, StrAttr:$arguments,
      UnitAttr:$backward, UnitAttr:$differentiable);
  let results = (outs Variadic<Dlc_Tensor>:$outputs);
  let hasVerifier = 1;
}

#endif
