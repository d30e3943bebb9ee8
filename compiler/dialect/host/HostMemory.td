// SPDX-License-Identifier: Apache-2.0
// Tensors in pinned memory of the host: tensor<2x3xf32, "host">. Copies start, and others wait for them: meanwhile commands run.
#ifndef DLC_HOST_MEMORY
#define DLC_HOST_MEMORY
include "DlcBase.td"

class Dlc_HostCopy<string mnemonic> : Dlc_Op<mnemonic, CastNever, [Pure]> {
  let shapes = "y as x";
  let description = "The copy starts; dlc.wait_copy waits for it. (C1) x and y have one shape and element type; (C2) only the "
    "tensor in the memory of the host has the type's \"host\".";
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}
def Dlc_OffloadOp : Dlc_HostCopy<"offload"> {
  let summary = "start of a copy of a tensor to pinned memory of the host";
  let example = [{%y = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">}];
}
def Dlc_FetchOp : Dlc_HostCopy<"fetch"> {
  let summary = "start of a copy of a tensor from pinned memory of the host";
  let example = [{
    %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
    %y = dlc.fetch %h : (tensor<2x3xf32, "host">) -> tensor<2x3xf32>
  }];
}
def Dlc_WaitCopyOp : Dlc_Op<"wait_copy", CastNever, [Pure]> {
  let summary = "wait for the end of a copy that dlc.offload or dlc.fetch has started";
  let description = "Until then the memory of `source` is in use. (C1) `started` is the result of one of the two, and `source` its "
    "operand; (C2) y has the type of `started`.";
  let shapes = "y as started, in its memory";
  let arguments = (ins Dlc_Tensor:$started, Dlc_Tensor:$source);
  let results = (outs Dlc_Tensor:$y);
  let example = [{
    %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
    %y = dlc.wait_copy %h, %x : (tensor<2x3xf32, "host">, tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  }];
  let hasVerifier = 1;
}

#endif
