// SPDX-License-Identifier: Apache-2.0
// State, loss, gradients, optimizers and collectives: the ops of a training step.
#ifndef DLC_TRAIN
#define DLC_TRAIN
include "DlcBase.td"
include "ops/Elementwise.td"

def Dlc_StateOp : Dlc_AnyOp<"state", [Symbol]> {
  let summary = "a named tensor that outlives a step";
  let description = [{`init`: a string names a tensor of the weight store; a number fills; a symbol copies that
    state's initial value. `of` is the state that a moment or an ema belongs to. Each rank keeps its part of a shard.
    (C1) a shard is split as its own parameter or as that of `of`.}];
  let example = [{
    dlc.state @w : tensor<2x3xf32> param init = "w" trainable
    dlc.state @w.m : tensor<2x3xf32> moment init = 0.0 : f32 of = @w
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, Dlc_Role:$role,
      AnyAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of, UnitAttr:$trainable);
  let assemblyFormat = "$sym_name `:` $type $role `init` `=` $init (`of` `=` $of^)? (`trainable` $trainable^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}
defvar Dlc_AccessLaws = "(C1) the state exists; (C2) the value has its type.";
class Dlc_StateAccess<string mnemonic, list<Trait> traits>
    : Dlc_AnyOp<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Dlc_ReadOp : Dlc_StateAccess<"read", [Pure]> {
  let summary = "the state's value at the start of the step, wherever the read stands";
  let shapes = "value as the state";
  let description = Dlc_AccessLaws;
  let example = [{%w = dlc.read @w : tensor<2x3xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Dlc_Tensor:$value);
  let assemblyFormat = "$state attr-dict `:` type($value)";
}
def Dlc_WriteOp : Dlc_StateAccess<"write", []> {
  let summary = "the state's value after the step";
  let shapes = "value as the state";
  let description = Dlc_AccessLaws # " (C3) a function writes a state at most once.";
  let example = [{dlc.write @w, %x : tensor<2x3xf32>}];
  let hasVerifier = 1;
  let arguments = (ins FlatSymbolRefAttr:$state, Dlc_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}
def Dlc_GradientOp : Dlc_StateAccess<"gradient", []> {
  let summary = "declares the gradient of a parameter; insert-optimizer consumes it";
  let shapes = "value as the state";
  let description = [{With `rows` the value is that of the state's
    rows of these numbers, as dlc.unique_rows gives them, and the gradient of all others is 0. (C1) the state exists; (C2) the value
    has its type; (C3) or its element type and a row of it for each number.}];
  let example = [{dlc.gradient @w, %x : tensor<2x3xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$state, Dlc_Float:$value, Optional<Dlc_Index>:$rows);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$state, "::mlir::Value":$value),
    [{ build($_builder, $_state, state, value, nullptr); }]>];
  let assemblyFormat = "$state `,` $value (`at` $rows^)? attr-dict `:` type($value) (`,` type($rows)^)?";
}
def Dlc_SeedOp : Dlc_AnyOp<"seed", [Pure]> {
  let summary = "d loss / d loss, the factor that scale-loss sets";
  let shapes = "y scalar";
  let example = [{%y = dlc.seed : tensor<f32>}];
  let results = (outs Dlc_Float:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
}

def Dlc_SoftmaxCrossEntropyOp : Dlc_Pure<"softmax_cross_entropy", CastDeny, "inferCrossEntropy", [LookupInterface]> {
  let summary = "per row: lse - logits[label], with lse = log(sum(exp(logits)))";
  let shapes = "logits [R, C]; labels, loss and lse [R]";
  let description = [{(C1) logits are [R, C]; (C2) labels are [R]. Rows whose label is `ignore_index` have loss 0.}];
  let example = [{%loss, %lse = dlc.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64}
      : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)}];
  let arguments = (ins Dlc_Float:$logits, Dlc_Index:$labels, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Dlc_Float:$loss, Dlc_Float:$lse);
  let answers = [{int64_t countOf(unsigned i) {
      return i == 1 && !getIgnoreIndex() ? tensorType(getLogits()).getDimSize(1) : 0;
    }
  }];
}
def Dlc_SoftmaxCrossEntropyBackwardOp
    : Dlc_Pure<"softmax_cross_entropy_backward", CastDeny, "inferCrossEntropyBackward"> {
  let summary = "(exp(logits - lse) - onehot(labels)) * dloss";
  let shapes = "logits and dlogits [R, C]; dloss, labels and lse [R]";
  let description = "(C1) logits are [R, C]; (C2) labels are [R]; (C3) so are dloss and lse, of the logits' element type.";
  let example = [{%dlogits = dlc.softmax_cross_entropy_backward %dloss, %logits, %labels, %lse
      : (tensor<2xf32>, tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dloss, Dlc_Float:$logits, Dlc_Index:$labels, Dlc_Float:$lse,
      OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Dlc_Float:$dlogits);
}

def Dlc_AllReduceOp : Dlc_Op<"all_reduce", CastNever, [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "mean or sum over the ranks; values of one bucket are sent together";
  let shapes = "y as x";
  let description = [{`of`: the parameter whose gradient this is, which determines its memory offset. With one rank there are no buckets.
    With `error` and `factor` a product of two thin matrices travels instead (dlc-compress): `factor` is one of them, `error` what
    did not travel. (C1) the result has the operand's type; (C2) `of` is a parameter of that shape; (C3) it is the mean, or the
    sum; (C4) with a bucket, `error` is a state of the operand's type, `factor` one of a few columns, with as many elements each
    as the operand's rows have.}];
  let example = [{%y = dlc.all_reduce %x op = sum {bucket = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Tensor:$x, OptionalAttr<I64Attr>:$bucket, OptionalAttr<FlatSymbolRefAttr>:$of,
      DefaultValuedAttr<Dlc_Combine, "::dlc::ir::Combine::mean">:$op, OptionalAttr<FlatSymbolRefAttr>:$error,
      OptionalAttr<FlatSymbolRefAttr>:$factor);
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::Value":$x, "::mlir::IntegerAttr":$bucket,
      "::mlir::FlatSymbolRefAttr":$of, CArg<"Combine", "Combine::mean">:$op),
    [{ build($_builder, $_state, y, x, bucket, of, op, nullptr, nullptr); }]>];
  let results = (outs Dlc_Tensor:$y);
  let assemblyFormat = "operands (`op` `=` $op^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
class Dlc_Multi<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, PlaceableInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let shapes = "operands any; y scalar";
  let description = "(C1) there is an operand; (C2) the result is a scalar; (C3) it is by library or decomposed.";
  let arguments = !con((ins Variadic<Dlc_Float>:$xs), Dlc_Placed);
  let answers = "static bool joinsOperands() { return true; }\n" # PlacedAs<mnemonic>.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let hasVerifier = 1;
}
def Dlc_AllFiniteOp : Dlc_Multi<"all_finite"> {
  let summary = "whether no element of any operand is infinite or NaN";
  let example = [{%y = dlc.all_finite %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<i1>}];
  let results = (outs Dlc_Bool:$y);
  let hasCanonicalizer = 1;
}
def Dlc_GlobalNormOp : Dlc_Multi<"global_norm"> {
  let summary = "Euclidean norm of all operands together, accumulated in f64";
  let description = [{`limit`: the norm of the elements clamped to [-limit, limit], in f64.
    (C1) there is an operand; (C2) the result is a scalar; (C3) it is by library or decomposed.}];
  let arguments = (ins Variadic<Dlc_Float>:$xs, OptionalAttr<F64Attr>:$limit, Dlc_PlacedBy:$by);
  let example = [{%y = dlc.global_norm %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<f32>}];
  let results = (outs Dlc_Float:$y);
  let hasCanonicalizer = 1;
}

def Dlc_OrthogonalizeOp : Dlc_Pure<"orthogonalize", CastNever, "inferOrthogonalize",
    [LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "an orthonormal basis of x's columns: Q of x = Q R by Householder reflections, in f64";
  let shapes = "x [M, R] with R <= M; y as x";
  let description = [{For linearly dependent columns Q has other orthonormal columns, so y always has R columns.
    (C1) x is a matrix; (C2) it has no more columns than rows.}];
  let example = [{%y = dlc.orthogonalize %x : (tensor<4x2xf32>) -> tensor<4x2xf32>}];
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Float:$y);
}

def Dlc_FusedOp : Dlc_AnyOp<"fused", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a cluster that becomes one kernel";
  let shapes = "inputs and outputs any";
  let description = [{Inside, tensors are whole: shards are so outside alone. (C1) if a result is a shard, all operands and results
    of rank 1 or more are shards of one parameter, and of one shape.}];
  let hasVerifier = 1;
  let example = [{
    %y = dlc.fused(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
    ^bb0(%x: tensor<2x3xf32>):
      %0 = dlc.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = dlc.exp %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
      dlc.yield %1 : tensor<2x3xf32>
    }
  }];
  let arguments = (ins Variadic<Dlc_Tensor>:$inputs);
  let results = (outs Variadic<Dlc_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
}
def Dlc_YieldOp : Dlc_AnyOp<"yield", [Pure, Terminator]> {
  let shapes = "any";
  let example = [{
    %y = dlc.fused(%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: tensor<4xf32>):
      %0 = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      dlc.yield %0 : tensor<4xf32>
    }
  }];
  let arguments = (ins Variadic<Dlc_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}
#endif
