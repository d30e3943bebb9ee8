// SPDX-License-Identifier: Apache-2.0
// The passes of a training program. One entry, one .cpp, one line in compiler/driver/Phases.cpp, one test.
// What a pass reads of Options.h it says in its constructor (compiler/options/OptionPass.h); options here are dlc-opt's alone.
#ifndef DLC_PASSES
#define DLC_PASSES
include "mlir/Pass/PassBase.td"

class Dlc_Pass<string argument> : PassBase<argument, "::dlc::StepPass"> {
  let dependentDialects = ["::dlc::ir::DlcDialect"];
}

def Canonicalize : Dlc_Pass<"dlc-canonicalize"> {
  let summary = "each idea is one op, nothing is computed twice";
  let description = [{GELU written out becomes dlc.gelu, additions of a vector become biases, transposes of a factor
    become flags of the product, powers and reciprocal roots become their own ops, constants fold, gradients pass a ReLU
    before the max pool behind it; then CSE.}];
}

def InferShapes : Dlc_Pass<"dlc-infer-shapes"> {
  let summary = "every tensor has a static shape";
  let description = [{The first dimension of arguments, where dynamic, becomes `batch`; types follow through
    InferTypeOpInterface. An error names what stays dynamic.}];
  let options = [Option<"batch", "batch", "int64_t", "0", "rows of one step; 0: arguments must be static">];
}

def InsertLora : Dlc_Pass<"dlc-insert-lora"> {
  let summary = "weights are frozen, and low-rank adapters beside them are trained";
  let description = [{Adds trained states NAME.lora_A.weight and NAME.lora_B.weight and their products to @predict, at
    every reader of an adapted weight: the weight itself does not change, and what it is merged into is read everywhere.
    The module's attribute dlc.adapters says how they are merged.}];
}

def PackDocuments : Dlc_Pass<"dlc-pack-documents"> {
  let summary = "attention stays within the documents of a row";
  let description = [{Rows of tokens [B, T] hold documents one behind the other, each with positions of its own in the input
    `position_ids`: index - position is where a token's document begins. Each softmax over tokens, and each dlc.attention, sees the
    tokens of the query's document alone. The input `attention_mask` [B, T] goes: it is 1. An error where a result depends on an op
    that mixes tokens in another way, or on positions in the row other than by differences (passes/pack/Drift.h).}];
}

def AppendLoss : Dlc_Pass<"dlc-append-loss"> {
  let summary = "@train_step gives a scalar loss, @eval_step the loss and the hits of each row";
  let description = [{Both are copies of @predict with the labels as last argument, named "y", then what else a loss takes:
    cross_entropy: logits [.., C] as rows [R, C] and labels i64 [R], or [N, C, ..] and labels [N, ..] (--class-axis);
      loss = mean of lse - logit[label].
    mse: labels of the output's shape; loss = mean of (output - y)^2.
    bce: labels of the output's shape; loss = mean of softplus(x) - x y.
    nll, l1, smooth_l1, huber, kl: as torch.nn.functional has them, kl by its sum over a sample.
    cosine_embedding, triplet_margin: the same, of two and three outputs. ctc: the same, with lengths as arguments.
    dice: 1 - (2 sum(p y) + s) / (sum(p) + sum(y) + s) of each sample and class; focal: (1 - p)^gamma times cross_entropy.
    A loss computed by the graph (result attribute dlc.loss) is used as it is.
    Rows with weights are divided by those of all ranks and micro-batches: a dlc.all_reduce of their sums at the begin of the step, and
    with `accumulate` results divisor.own and divisor.whole for dlc-accumulate-gradients (loss/TrainingLoss.h).
    With `distill`, @train_step calls @teacher with its inputs and adds losses between both models' results, "loss.distill".
    OUTPUT[+OUTPUT]:KIND[:WEIGHT][:label=NUMBER][:as=NAME],...: the weighted sum of losses of outputs, with labels "y.NAME" (none
    with a NUMBER, which is then the label of all rows) and results "loss.NAME", NAME being OUTPUT if not said.}];
}

def InlineTeacher : Dlc_Pass<"dlc-inline-teacher"> {
  let summary = "what @train_step calls of @teacher stands in it";
}

def TrainMode : Dlc_Pass<"dlc-train-mode"> {
  let summary = "@train_step normalises by the batch and moves the running statistics";
}

def Randomize : Dlc_Pass<"dlc-randomize"> {
  let summary = "dropout and noise are functions of seed, rank and step";
  let description = [{Replaces dlc.dropout (the identity outside of @train_step) and dlc.noise by dlc.uniform. Adds the states
    @rng.draw, the number of draws so far, and @rng.rank, which the runtime sets.}];
}

def DeriveDecode : Dlc_Pass<"dlc-derive-decode"> {
  let summary = "@predict of one text, and of one more token of it";
  let description = [{@predict takes tokens [B, T]. Adds @prefill(tokens [1, T]) and @decode(tokens [1, 1], position [1]), which gives
    the results of the token at that position. What other tokens are read of, keys and values, is in states @cache/N, [.., T, ..]:
    @prefill writes all rows of them, @decode its own. Every op but a product works on each token by itself, or the pass refuses the
    model at that op; which tokens a product's softmax leaves out is the mask's business, whose row is taken.}];
}

def SliceEarly : Dlc_Pass<"dlc-slice-early"> {
  let summary = "what a slice drops is not computed";
  let description = [{Slices move in front of elementwise ops, layer norms and products with a weight that nothing else reads,
    where they keep at most half of them. Before dlc-autodiff, so that gradients are as small.}];
}

def GroupMatmul : Dlc_Pass<"dlc-group-matmul"> {
  let summary = "a product with looked-up matrices, one for each row, is a grouped product";
  let description = [{dlc.matmul of a gather along axis 0 of [G, K, N] and a vector for each index becomes dlc.grouped_matmul, which never
    copies a matrix, forward or backward. For targets that compute it (LoweringTraits::groupsProducts).}];
}

def FuseAttention : Dlc_Pass<"dlc-fuse-attention"> {
  let summary = "attention written out as products, mask and softmax is one op";
  let description = [{Matches what exporters write: scores = q k^T with a factor on q, k or the scores; masks added, or numbers
    selected by a condition; softmax over the keys, with NaN replaced by 0 or not; times v. A mask that is a triangle
    (passes/attention/Triangle.h) becomes `causal`, others the op's mask. Left alone: scores that something else reads, masks that a
    parameter moves, dropout. Transposes of q, k and v go where all three have them (layout "bthd").}];
}

def PlaceAttention : Dlc_Pass<"dlc-place-attention"> {
  let summary = "every attention has somebody who computes it, others are products and softmax";
  let options = [Option<"typed", "typed", "bool", "true", "element types are final; else only shapes count, and nothing is marked">];
}

def Autocast : Dlc_Pass<"dlc-autocast"> {
  let summary = "matrix products, convolutions and what lies between them compute in half";
  let description = [{Decides for each function by the lists of ops (CastLists.h, CastPainter.h), then inserts one
    dlc.cast per value and type. State (but at O3), results and pinned operands stay f32. With `explain` the module
    gets an attribute `dlc.casts`, a line for each op of @train_step.}];
}

def BlockImages : Dlc_Pass<"dlc-block-images"> {
  let summary = "strided convolutions of few channels are ones without strides, of blocks of pixels";
  let description = [{In halves, of less than 8 channels, if all dimensions have the same stride and no trainable state is behind the
    images: the pixels of a block, a stride wide, become channels, zeros more make them a multiple of 8, and the filter becomes one of
    blocks alike. The sums are the same but for their order. Before dlc-autodiff, from which the filter's gradient follows.}];
}

def Autodiff : Dlc_Pass<"dlc-autodiff"> {
  let summary = "every trainable state that the loss depends on gets its gradient";
  let description = [{The function's first result is the loss, a float scalar. Appends the backward graph, started by
    dlc.seed, and one dlc.gradient for each trainable state, the one ready first first. A trainable state that the
    loss does not depend on loses its mark, with a remark: no optimizer touches it. With `loss-params` each loss "loss.NAME" has a
    graph to its own states alone; what the two give for one state is added up. dlc.stop_gradient and dlc.scale_gradient are gone
    from all functions.}];
  let options = [Option<"function", "function", "std::string", "\"train_step\"", "the function whose first result is the loss">];
}

def ScaleLoss : Dlc_Pass<"dlc-scale-loss"> {
  let summary = "the backward graph starts at the loss scale";
  let description = [{dlc.seed becomes 1 or a read of @scaler.scale, divided by the micro-batches of an update.}];
}

def AccumulateGradients : Dlc_Pass<"dlc-accumulate-gradients"> {
  let summary = "@accumulate_step adds a micro-batch to the gradients, @train_step takes the last one of a window";
  let description = [{Adds a state grad/NAME beside each parameter with a gradient, accumulate.NAME beside each result of
    the step, and accumulate.position. The sums become the gradients and results of @train_step. With results divisor.own and
    divisor.whole micro-batches count by the first, the window is divided by the second, and both are gone.}];
}

def RowGradients : Dlc_Pass<"dlc-row-gradients"> {
  let summary = "gradients of embedding tables are those of the rows that were looked up";
  let description = [{Where the gradient of a state is a dlc.scatter_add along axis 0, or a sum of such, with casts and factors
    behind: dlc.unique_rows makes one row of all updates of a row, and dlc.gradient has their numbers. By --sparse-embeddings this
    is where the optimizer moves no other row and rows are at most half of the table, or wherever the optimizer is elementwise.}];
}

def Unscale : Dlc_Pass<"dlc-unscale"> {
  let summary = "gradients are those of the loss itself, and a flag says whether all are finite";
  let description = [{Multiplies by 1 / scale and moves @scaler.scale and @scaler.growth as torch's GradScaler does.
    Without a scaler there is nothing to do.}];
}

def InsertAllReduce : Dlc_Pass<"dlc-insert-all-reduce"> {
  let summary = "gradients and the reported loss are means over the ranks";
  let description = [{One dlc.all_reduce per gradient, in buckets filled in the order in which gradients get ready. One that is there,
    of rows' weights, has a bucket before these.
    With `compress` a gradient of f32 is rounded before and f32 again behind, or, if it has two or more dimensions and becomes
    smaller, gets the states NAME.powersgd_error and NAME.powersgd_q, by which dlc-compress sends it.}];
}

def SyncBatchNorm : Dlc_Pass<"dlc-sync-batch-norm"> {
  let summary = "batch norm is by the batches of all ranks together";
  let description = [{With `sync-bn` each dlc.batch_norm and its gradient gets a bucket of its own. What travels is decided where they
    are decomposed: forward the count, sum and sum of squares of each channel, in f64, in which squares do not cancel; backward the
    count and the two sums that dx needs. Counts travel because the number of ranks is the run's.}];
}

def ClipGradients : Dlc_Pass<"dlc-clip-gradients"> {
  let summary = "all gradients together have a norm of at most `max-norm`";
  let description = [{torch's clip_grad_value_, then clip_grad_norm_: coef = min(1, max_norm / (norm + 1e-6)). Adds the
    result "grad_norm", the norm before the second.}];
}

def ClipEachGradient : Dlc_Pass<"dlc-clip-each-gradient"> {
  let summary = "the gradient of each parameter has a norm of at most `clip-param-grad`";
  let description = [{torch's clip_grad_norm_ for each parameter alone, as Keras' clipnorm: coef = min(1, max / (norm + 1e-6)).}];
}

def MeasureGradients : Dlc_Pass<"dlc-measure-gradients"> {
  let summary = "with `stats`, norm, mean, deviation and largest value of each gradient";
  let description = [{Adds the result "stats.gradients", four numbers a trainable state in the module's order, of the mean over
    ranks, unscaled and before clipping.}];
}

def MeasureParameters : Dlc_Pass<"dlc-measure-parameters"> {
  let summary = "with `stats`, the same of each parameter that the step leaves, and the norm of its change";
  let description = [{Adds the result "stats.parameters", five numbers a trainable state in the module's order.}];
}

def InsertOptimizer : Dlc_Pass<"dlc-insert-optimizer"> {
  let summary = "each gradient moves its parameter";
  let description = [{Consumes dlc.gradient. Adds moments, @step and the result "lr". With dlc.all_finite in the step,
    an update happens only when it holds.}];
}

def InsertEma : Dlc_Pass<"dlc-insert-ema"> {
  let summary = "moving averages follow what the step writes";
  let description = [{e = d e + (1 - d) new for every float parameter and buffer that the step writes; see EmaOptions. On
    the host that is a function @ema_step with the attribute dlc.after, which reads the state that @train_step left.}];
}

def StartWhole : Dlc_Pass<"dlc-start-whole"> {
  let summary = "@start_step does the first updates with whole gradients";
  let description = [{With `compress=powersgd:RANK:RATE:START`, @start_step is @train_step without the states of the compression: its
    all-reduces send what dlc-compress makes thin in @train_step. Its attribute dlc.updates is START, the updates that it does
    before @train_step does the rest.}];
}

def LocalSteps : Dlc_Pass<"dlc-local-steps"> {
  let summary = "ranks step by themselves, and meet in @sync_step";
  let description = [{With `sync-every` and several ranks, @sync_step averages how far ranks have moved each parameter from the state
    NAME.sync_anchor, and moves it from there by `outer-optimizer`, whose momentum is NAME.sync_m. Moments are each rank's own.}];
}

#endif
