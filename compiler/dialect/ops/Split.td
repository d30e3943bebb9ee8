// SPDX-License-Identifier: Apache-2.0
// Tensors of which each rank holds a part: tensor<2x3xf32, @w> is split as parameter @w is, into ranges of elements whose
// bounds the run decides. The type has the shape of the whole, since the number of ranks is known to the run alone.
#ifndef DLC_SPLIT
#define DLC_SPLIT
include "DlcBase.td"

class Dlc_OfShards<string mnemonic> : Dlc_Op<mnemonic, CastNever, [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let shapes = "y as x";
  let description = "(C1) both have one shape and element type; (C2) one is whole; (C3) the other one is split as a parameter of that shape.";
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Float:$y);
  let hasVerifier = 1;
}
def Dlc_TakeShardOp : Dlc_OfShards<"take_shard"> {
  let summary = "a rank's own part of what all ranks have";
  let example = [{%y = dlc.take_shard %x : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>}];
}
def Dlc_ReduceScatterOp : Dlc_OfShards<"reduce_scatter"> {
  let summary = "a rank's own part of the mean over the ranks; values of one bucket travel together";
  let example = [{%y = dlc.reduce_scatter %x {bucket = 3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32, @w>}];
  let arguments = (ins Dlc_Float:$x, I64Attr:$bucket);
}
def Dlc_AllGatherOp : Dlc_OfShards<"all_gather"> {
  let summary = "the whole of what each rank has a part of; values of one bucket travel together";
  let example = [{%y = dlc.all_gather %x {bucket = 3 : i64} : (tensor<2x3xf32, @w>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, OptionalAttr<I64Attr>:$bucket);
}

// What ranks know of their parts, as integers whose sum over the ranks is exact, and what is made of that sum.
class Dlc_OfParts<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let hasVerifier = 1;
}
class Dlc_Counts<string mnemonic> : Dlc_OfParts<mnemonic> {
  let shapes = "operands any; y [69] of squares, [1] of counts";
  let description = "(C1) there is an operand, and each is a shard; (C2) the result is 69 integers of squares, 1 of counts.";
  let results = (outs Dlc_Index:$y);
}
def Dlc_SquareSumsOp : Dlc_Counts<"square_sums"> {
  let summary = "the sum of the squares of a rank's parts, as one integer of 69 words";
  let arguments = (ins Variadic<Dlc_Float>:$xs, OptionalAttr<F64Attr>:$limit);
  let example = [{%y = dlc.square_sums %x : (tensor<2x3xf32, @w>) -> tensor<69xi64>}];
}
def Dlc_CountNonfiniteOp : Dlc_Counts<"count_nonfinite"> {
  let summary = "how many elements of a rank's parts are infinite or NaN";
  let arguments = (ins Variadic<Dlc_Float>:$xs);
  let example = [{%y = dlc.count_nonfinite %x : (tensor<2x3xf32, @w>) -> tensor<1xi64>}];
}
class Dlc_OfCounts<string mnemonic> : Dlc_OfParts<mnemonic> {
  let shapes = "x [69] of squares, [1] of counts; y scalar";
  let description = "(C1) the operand is 69 integers of squares, 1 of counts; (C2) the result is a scalar.";
  let arguments = (ins Dlc_Index:$x);
}
def Dlc_NormOfSquaresOp : Dlc_OfCounts<"norm_of_squares"> {
  let summary = "the root of a sum of squares";
  let results = (outs Dlc_Float:$y);
  let example = [{%y = dlc.norm_of_squares %x : (tensor<69xi64>) -> tensor<f32>}];
}
def Dlc_NoneCountedOp : Dlc_OfCounts<"none_counted"> {
  let summary = "whether a count is 0";
  let results = (outs Dlc_Bool:$y);
  let example = [{%y = dlc.none_counted %x : (tensor<1xi64>) -> tensor<i1>}];
}

#endif
