// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit floats (--amp-dtype=fp8). A tensor of 8-bit floats is a tensor of codes, of type i8, and each op names
// their format; numbers become codes after they are multiplied by a scale, and the product multiplies by its inverse.
#ifndef DLC_FLOAT8
#define DLC_FLOAT8
include "DlcBase.td"

class Dlc_Float8Cast<string mnemonic, string infer>
    : Dlc_Pure<mnemonic, CastNever, infer, [DeclareOpInterfaceMethods<ElementwiseInterface>]>;
defvar Dlc_Float8Formats = [{Formats (Micikevicius et al., FP8 formats for deep learning, 2022): "e4m3" has 4 bits of exponent and 3 of
    mantissa, values up to 448 and no infinity; "e5m2" 5 and 2, values up to 57344, and infinities. }];
def Dlc_Float8EncodeOp : Dlc_Float8Cast<"float8_encode", "inferFloat8Encode"> {
  let summary = "the code of x in an 8-bit float format, rounded to the nearest value, ties to even";
  let shapes = "y as x";
  let description = Dlc_Float8Formats # [{Numbers beyond the largest value, and infinities, become that value with their sign; NaN
    becomes code 127. (C1) the format is e4m3 or e5m2.}];
  let example = [{%y = dlc.float8_encode %x {format = "e4m3"} : (tensor<2x3xf32>) -> tensor<2x3xi8>}];
  let arguments = (ins RankedTensorOf<[F32]>:$x, StrAttr:$format);
  let results = (outs RankedTensorOf<[I8]>:$y);
}
def Dlc_Float8DecodeOp : Dlc_Float8Cast<"float8_decode", "inferFloat8Decode"> {
  let summary = "the value of a code of an 8-bit float format";
  let shapes = "y as x";
  let description = Dlc_Float8Formats # "(C1) the format is e4m3 or e5m2.";
  let example = [{%y = dlc.float8_decode %x {format = "e4m3"} : (tensor<2x3xi8>) -> tensor<2x3xf32>}];
  let arguments = (ins RankedTensorOf<[I8]>:$x, StrAttr:$format);
  let results = (outs RankedTensorOf<[F32]>:$y);
}
def Dlc_ScaledMatmulOp : Dlc_Op<"scaled_matmul", CastNever,
    [Pure, LibraryInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "scale_a * scale_b * (a @ transposed b) (+ bias), of matrices of 8-bit floats; summed in f32 and rounded once";
  let shapes = "a [M, K]; b [N, K]; scale_a and scale_b scalars; bias [N]; y [M, N]";
  let description = [{Both operands have the contracted dimension last, which GPUs' libraries need. (C1) a and b are matrices of
    one number of columns; (C2) scales are scalars; (C3) bias is [N]; (C4) the formats are e4m3 or e5m2, and
    not both e5m2; (C5) y is [M, N]; (C6) it is by library or decomposed.}];
  let arguments = !con((ins RankedTensorOf<[I8]>:$a, RankedTensorOf<[I8]>:$b, RankedTensorOf<[F32]>:$scale_a,
      RankedTensorOf<[F32]>:$scale_b, Optional<RankedTensorOf<[BF16]>>:$bias, StrAttr:$format_a, StrAttr:$format_b),
      Dlc_Placed);
  let results = (outs RankedTensorOf<[BF16]>:$y);
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%y = dlc.scaled_matmul %a, %b, %s, %s {format_a = "e5m2", format_b = "e4m3"}
      : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>}];
  let answers = MayLack<"bias", "getBias">.text # PlacedAs<"scaled_matmul">.text;
  let hasVerifier = 1;
}
#endif
