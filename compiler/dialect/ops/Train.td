// SPDX-License-Identifier: Apache-2.0
// State, loss, gradients, optimizers and collectives: the ops of a training step.
#ifndef DLC_TRAIN
#define DLC_TRAIN
include "DlcBase.td"
include "ops/Elementwise.td"

def Dlc_StateOp : Dlc_AnyOp<"state", [Symbol]> {
  let summary = "named tensor that persists between steps";
  let description = [{`init`: the initial value: the name of a tensor in the weight store, a number for all elements, or the symbol of a state
    with the same initial value. `of`: the parameter that a moment or average belongs to. `trainable`: autodiff computes a gradient.
    (C1) A sharded state is sharded like itself or like `of`.}];
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
defvar Dlc_AccessLaws = "(C1) The state exists; (C2) the value has the type of the state.";
class Dlc_StateAccess<string mnemonic, list<Trait> traits>
    : Dlc_AnyOp<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Dlc_ReadOp : Dlc_StateAccess<"read", [Pure]> {
  let summary = "value of a state at the start of the step, independent of the position of the op";
  let shapes = "value as the state";
  let description = Dlc_AccessLaws;
  let example = [{%w = dlc.read @w : tensor<2x3xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Dlc_Tensor:$value);
  let assemblyFormat = "$state attr-dict `:` type($value)";
}
def Dlc_WriteOp : Dlc_StateAccess<"write", []> {
  let summary = "new value of a state, from the end of the step";
  let shapes = "value as the state";
  let description = Dlc_AccessLaws # " (C3) A function writes a state at most once.";
  let example = [{dlc.write @w, %x : tensor<2x3xf32>}];
  let hasVerifier = 1;
  let arguments = (ins FlatSymbolRefAttr:$state, Dlc_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}
def Dlc_GradientOp : Dlc_StateAccess<"gradient", []> {
  let summary = "gradient of a parameter; dlc-insert-optimizer replaces the op by the update";
  let shapes = "value as the state or, with rows [N], N of its rows";
  let description = [{With `rows`, a result of dlc.unique_rows, the gradient is
    sparse: value contains the gradients of these rows of the state, and all others are 0. (C1) The state exists; (C2) without rows, the
    value has the type of the state; (C3) with rows, the value has the element type of the state and a row for each index.}];
  let example = [{dlc.gradient @w, %x : tensor<2x3xf32>}];
  let arguments = (ins FlatSymbolRefAttr:$state, Dlc_Float:$value, Optional<Dlc_Index>:$rows);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$state, "::mlir::Value":$value),
    [{ build($_builder, $_state, state, value, nullptr); }]>];
  let assemblyFormat = "$state `,` $value (`at` $rows^)? attr-dict `:` type($value) (`,` type($rows)^)?";
}
def Dlc_SeedOp : Dlc_AnyOp<"seed", [Pure]> {
  let summary = "gradient of the loss with respect to itself, where the backward graph starts; dlc-scale-loss sets its value";
  let shapes = "y scalar";
  let example = [{%y = dlc.seed : tensor<f32>}];
  let results = (outs Dlc_Float:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
}

def Dlc_SoftmaxCrossEntropyOp : Dlc_Pure<"softmax_cross_entropy", CastDeny, "inferCrossEntropy", [LookupInterface]> {
  let summary = "cross entropy per row: loss = lse - logits[label], and lse = log(sum(exp(logits)))";
  let shapes = "logits [R, C]; labels, loss and lse [R]";
  let description = [{Rows whose label is `ignore_index` have loss 0. (C1) logits is [R, C]; (C2) labels is [R].}];
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
  let summary = "gradient of the logits of softmax_cross_entropy: (exp(logits - lse) - onehot(labels)) dloss; 0 for ignored rows";
  let shapes = "logits and dlogits [R, C]; dloss, labels and lse [R]";
  let description = "(C1) logits is [R, C]; (C2) labels is [R]; (C3) dloss and lse are [R] of the element type of logits.";
  let example = [{%dlogits = dlc.softmax_cross_entropy_backward %dloss, %logits, %labels, %lse
      : (tensor<2xf32>, tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dloss, Dlc_Float:$logits, Dlc_Index:$labels, Dlc_Float:$lse,
      OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Dlc_Float:$dlogits);
}

def Dlc_AllReduceOp : Dlc_Op<"all_reduce", CastNever, [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "mean or sum over the ranks; tensors with equal `bucket` are sent together";
  let shapes = "y as x";
  let description = [{`op`: mean (default) or sum. `bucket`: absent with one rank. `of`: the parameter whose gradient x is; it determines the memory
    offset. With the states `error` and `factor`, dlc-compress sends two low-rank factors instead of x, viewed as a matrix of
    dim(0) rows: `factor` holds one of the factors, and `error` the difference of x and what was sent. (C1) y has the type of x;
    (C2) `of` is a parameter of the shape of x; (C3) `op` is mean or sum; (C4) with `error` or `factor`, there are both and `bucket`, x
    has rank 2 or more, `error` the type of x, and `factor` as many rows as the matrix has columns.}];
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
  let description = "(C1) There is at least one operand; (C2) y is a scalar; (C3) `by` is open, library or decomposed.";
  let arguments = !con((ins Variadic<Dlc_Float>:$xs), Dlc_Placed);
  let answers = "static bool joinsOperands() { return true; }\n" # PlacedAs<mnemonic>.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let hasVerifier = 1;
}
def Dlc_AllFiniteOp : Dlc_Multi<"all_finite"> {
  let summary = "test whether all elements of all operands are finite";
  let example = [{%y = dlc.all_finite %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<i1>}];
  let results = (outs Dlc_Bool:$y);
  let hasCanonicalizer = 1;
}
def Dlc_GlobalNormOp : Dlc_Multi<"global_norm"> {
  let summary = "Euclidean norm of all elements of all operands, accumulated in f64";
  let description = [{`limit`: bound to which the absolute values of elements are clamped first.
    (C1) There is at least one operand; (C2) y is a scalar; (C3) `by` is open, library or decomposed.}];
  let arguments = (ins Variadic<Dlc_Float>:$xs, OptionalAttr<F64Attr>:$limit, Dlc_PlacedBy:$by);
  let example = [{%y = dlc.global_norm %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<f32>}];
  let results = (outs Dlc_Float:$y);
  let hasCanonicalizer = 1;
}

def Dlc_OrthogonalizeOp : Dlc_Pure<"orthogonalize", CastNever, "inferOrthogonalize",
    [LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let summary = "orthonormal basis of the columns of x: Q of x = Q R by Householder reflections, in f64";
  let shapes = "x [M, R] with R <= M; y as x";
  let description = [{If columns are linearly dependent, Q is completed by other orthonormal columns.
    (C1) x has rank 2; (C2) x has no more columns than rows.}];
  let example = [{%y = dlc.orthogonalize %x : (tensor<4x2xf32>) -> tensor<4x2xf32>}];
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Float:$y);
}

def Dlc_FusedOp : Dlc_AnyOp<"fused", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "cluster of ops that is compiled to one kernel";
  let shapes = "inputs and outputs any";
  let description = [{Types in the body are never sharded, even if operands and results are. (C1) If a result is a shard, all operands and
    results of rank 1 or more are shards of one parameter, with one shape.}];
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
  let summary = "end of the body of a cluster or kernel; `values` are its results";
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
