// SPDX-License-Identifier: Apache-2.0
// Sharded tensors: of tensor<2x3xf32, @w>, each rank stores a range of the elements, the same as of parameter @w. The type has
// the shape of the whole tensor, since the number of ranks, and so the ranges, are only known at run time.
#ifndef DLC_SPLIT
#define DLC_SPLIT
include "DlcBase.td"

class Dlc_OfShards<string mnemonic> : Dlc_Op<mnemonic, CastNever, [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let shapes = "y as x";
  let description = "(C1) x and y have one shape and element type; (C2) the whole tensor is not sharded; (C3) the other is sharded like a parameter of that shape.";
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Float:$y);
  let hasVerifier = 1;
}
def Dlc_TakeShardOp : Dlc_OfShards<"take_shard"> {
  let summary = "a rank's shard of a tensor that all ranks have";
  let example = [{%y = dlc.take_shard %x : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>}];
}
def Dlc_ReduceScatterOp : Dlc_OfShards<"reduce_scatter"> {
  let summary = "a rank's shard of the mean over ranks; tensors with equal `bucket` are sent together";
  let example = [{%y = dlc.reduce_scatter %x {bucket = 3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>}];
  let arguments = (ins Dlc_Float:$x, I64Attr:$bucket);
}
def Dlc_AllGatherOp : Dlc_OfShards<"all_gather"> {
  let summary = "whole tensor from the shards of all ranks; tensors with equal `bucket` are sent together";
  let example = [{%y = dlc.all_gather %x {bucket = 3 : i64} : (tensor<2x3xf32, @w>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, OptionalAttr<I64Attr>:$bucket);
}

// Reductions of shards to integers, whose sum over ranks is exact, and functions of these sums.
class Dlc_OfParts<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let hasVerifier = 1;
}
class Dlc_Counts<string mnemonic> : Dlc_OfParts<mnemonic> {
  let shapes = "operands any; y [69] of square_sums, [1] of count_nonfinite";
  let description = "(C1) There is at least one operand, and each is a shard; (C2) y has the shape above.";
  let results = (outs Dlc_Index:$y);
}
def Dlc_SquareSumsOp : Dlc_Counts<"square_sums"> {
  let summary = "exact sum of the squares of the elements of a rank's shards, with `limit` clamped to [-limit, limit], as 69 words";
  let arguments = (ins Variadic<Dlc_Float>:$xs, OptionalAttr<F64Attr>:$limit);
  let example = [{%y = dlc.square_sums %x : (tensor<2x3xf32, @w>) -> tensor<69xi64>}];
}
def Dlc_CountNonfiniteOp : Dlc_Counts<"count_nonfinite"> {
  let summary = "number of infinite or NaN elements in a rank's shards";
  let arguments = (ins Variadic<Dlc_Float>:$xs);
  let example = [{%y = dlc.count_nonfinite %x : (tensor<2x3xf32, @w>) -> tensor<1xi64>}];
}
class Dlc_OfCounts<string mnemonic> : Dlc_OfParts<mnemonic> {
  let shapes = "x [69] of norm_of_squares, [1] of none_counted; y scalar";
  let description = "(C1) x has the shape above; (C2) y is a scalar.";
  let arguments = (ins Dlc_Index:$x);
}
def Dlc_NormOfSquaresOp : Dlc_OfCounts<"norm_of_squares"> {
  let summary = "square root of a sum that square_sums has computed";
  let results = (outs Dlc_Float:$y);
  let example = [{%y = dlc.norm_of_squares %x : (tensor<69xi64>) -> tensor<f32>}];
}
def Dlc_NoneCountedOp : Dlc_OfCounts<"none_counted"> {
  let summary = "test whether a number that count_nonfinite has computed is 0";
  let results = (outs Dlc_Bool:$y);
  let example = [{%y = dlc.none_counted %x : (tensor<1xi64>) -> tensor<i1>}];
}

#endif
