// SPDX-License-Identifier: Apache-2.0
// The passes of a training program. One entry, one .cpp, one line in compiler/driver/Phases.cpp, one test.
// A pass's constructor declares the options of Options.h that the pass reads (compiler/options/OptionPass.h); options here are only dlc-opt's.
#ifndef DLC_PASSES
#define DLC_PASSES
include "mlir/Pass/PassBase.td"

class Dlc_Pass<string argument> : PassBase<argument, "::dlc::StepPass"> {
  let dependentDialects = ["::dlc::ir::DlcDialect"];
}

def Canonicalize : Dlc_Pass<"dlc-canonicalize"> {
  let summary = "one form for equivalent computations, and CSE";
  let description = [{A GELU of several nodes becomes dlc.gelu, an added vector the bias of a product, transposes of operands flags of the
    product, powers and reciprocal square roots their own ops. Constants fold. The gradient of a max pool of a ReLU is masked before
    the max pool's backward op, where it is smaller. CSE follows.}];
}

def InferShapes : Dlc_Pass<"dlc-infer-shapes"> {
  let summary = "inference of static shapes of all tensors";
  let description = [{A dynamic first dimension of an argument becomes `batch`; InferTypeOpInterface infers the other types. An error names
    a tensor that remains dynamic.}];
  let options = [Option<"batch", "batch", "int64_t", "0", "rows of a step; 0 (default): arguments must be static">];
}

def Uint8Inputs : Dlc_Pass<"dlc-uint8-inputs"> {
  let summary = "inputs of pixels are uint8, and programs convert them";
  let description = [{The arguments of `uint8-input` become tensors of i8, which are unsigned, in all functions; their readers
    read (x / 255 - mean) / std, or (x * scale - mean) / std, in f32.}];
}

def InsertLora : Dlc_Pass<"dlc-insert-lora"> {
  let summary = "frozen weights and trainable low-rank adapters (LoRA)";
  let description = [{Adds the trainable states NAME.lora_A.weight (A) and NAME.lora_B.weight (B) of a frozen weight W. In @predict, a
    product with W gets a second one through A and B; other ops read W + alpha / rank B A. The module's attribute dlc.adapters
    describes how to merge A and B into W.}];
}

def PackDocuments : Dlc_Pass<"dlc-pack-documents"> {
  let summary = "attention within the documents of packed rows";
  let description = [{Rows of tokens [B, T] contain consecutive documents, whose positions in the input `position_ids` start from 0: a token's
    document begins at index - position. Each softmax over tokens and each dlc.attention is masked to the tokens of the query's
    document. The input `attention_mask` [B, T] is replaced by 1. A result that depends on another op that mixes tokens, or on
    positions in the row except by their differences (passes/pack/Drift.h), is an error.}];
}

def AppendLoss : Dlc_Pass<"dlc-append-loss"> {
  let summary = "@train_step with a scalar loss, @eval_step with loss and correctness of each row";
  let description = [{Both are copies of @predict with additional arguments: labels, named "y", then the other inputs of a loss:
    cross_entropy: logits [.., C] as rows [R, C] and labels i64 [R], or [N, C, ..] and labels [N, ..] (--class-axis);
      loss = mean of lse - logit[label].
    mse: labels of the output's shape; loss = mean of (output - y)^2.
    bce: labels of the output's shape; loss = mean of softplus(x) - x y.
    nll, l1, smooth_l1, huber, kl: as in torch.nn.functional; kl is summed over a sample.
    cosine_embedding, triplet_margin: as there, of two and three outputs. ctc: as there, with lengths as arguments.
    dice: 1 - (2 sum(p y) + s) / (sum(p) + sum(y) + s) per sample and class; focal: (1 - p)^gamma times cross_entropy.
    A loss computed by the graph (result attribute dlc.loss) is used unchanged.
    A weighted mean is divided by the weights of all ranks and micro-batches: a dlc.all_reduce of their sums at the start of the
    step and, with `accumulate`, results divisor.own and divisor.whole for dlc-accumulate-gradients (loss/TrainingLoss.h).
    With `distill`, @train_step calls @teacher with its inputs and adds losses between both models' results, "loss.distill".
    OUTPUT[+OUTPUT]:KIND[:WEIGHT][:label=NUMBER][:as=NAME],...: a weighted sum of losses, with labels "y.NAME" (none if NUMBER is
    given, the label of all rows) and results "loss.NAME"; the default of NAME is OUTPUT.}];
}

def InlineTeacher : Dlc_Pass<"dlc-inline-teacher"> {
  let summary = "inlining of @teacher into @train_step";
}

def TrainMode : Dlc_Pass<"dlc-train-mode"> {
  let summary = "batch norm of @train_step by the batch's statistics, with updates of the running ones";
}

def Randomize : Dlc_Pass<"dlc-randomize"> {
  let summary = "dropout and noise as pure functions of seed, rank and step";
  let description = [{Replaces dlc.dropout (the identity outside of @train_step) and dlc.noise by dlc.uniform. Adds the states
    @rng.draw, the number of previous draws, and @rng.rank, which the runtime sets.}];
}

def DeriveDecode : Dlc_Pass<"dlc-derive-decode"> {
  let summary = "functions of text generation: @prefill of a prompt, @decode of one more token";
  let description = [{@predict takes tokens [B, T]. Adds @prefill(tokens [1, T]) and @decode(tokens [1, 1], position [1]), which computes the
    results for the token at that position. The states @cache/N, [.., T, ..], contain the keys and values of other tokens:
    @prefill writes all of their rows, @decode the row of its position. Of a mask, @decode reads the position's row. An op other
    than a product that mixes tokens is an error.}];
}

def SliceEarly : Dlc_Pass<"dlc-slice-early"> {
  let summary = "slices before the ops that compute their operands";
  let description = [{A slice that keeps at most half of the elements moves before elementwise ops, layer norms and products with a weight
    whose results have no other use. Runs before dlc-autodiff, so that gradients have the slice's size.}];
}

def TrimTaps : Dlc_Pass<"dlc-trim-taps"> {
  let summary = "convolutions without taps that only read padding";
  let description = [{Of a window whose dilation is at least the image's size, only some taps read pixels: dlc.conv reads a slice of its weights.
    Before dlc-layout, so images have channels first; before dlc-autodiff, so gradients have the smaller window.}];
}

def GroupMatmul : Dlc_Pass<"dlc-group-matmul"> {
  let summary = "grouped products instead of products with gathered matrices";
  let description = [{dlc.matmul of a vector per index and matrices gathered along axis 0 of [G, K, N] becomes dlc.grouped_matmul, which copies
    no matrix, forward or backward. Only for targets that compute this op (LoweringTraits::groupsProducts).}];
}

def OrderRows : Dlc_Pass<"dlc-order-rows"> {
  let summary = "products without transposes of their rows";
  let description = [{Multi-head attention as PyTorch's module exports it transposes [batch, time] around its projections, and takes queries,
    keys and values as numbered parts of a transposed view. Transposes of rows move over products with one matrix to other transposes,
    with which they compose; slices move before views and transposes; gathers of one constant number become slices.}];
}

def FuseAttention : Dlc_Pass<"dlc-fuse-attention"> {
  let summary = "dlc.attention instead of products, mask and softmax";
  let description = [{Matches the graphs of exporters: scores q k^T with a factor of q, k or the scores; added masks, or a select by a
    condition; softmax over the keys, with or without replacement of NaN by 0; a product with v. A triangular mask
    (passes/attention/Triangle.h) becomes `causal`, another one the op's mask. Not matched: scores with other uses, masks that depend on
    a trainable state, dropout. If q, k and v are all transposed, the transposes are removed (layout "bthd").}];
}

def PlaceAttention : Dlc_Pass<"dlc-place-attention"> {
  let summary = "decomposition of each dlc.attention that the target cannot compute";
  let options = [Option<"typed", "typed", "bool", "true", "whether element types are final; if not, only shapes are checked, and `by` is not set">];
}

def Autocast : Dlc_Pass<"dlc-autocast"> {
  let summary = "16-bit matrix products, convolutions and ops between them";
  let description = [{Chooses the precision of each op of a function by the lists of ops (CastLists.h, CastPainter.h), then inserts one
    dlc.cast per value and type. States (except at level O3), results and pinned operands stay f32. With `explain`, the
    module's attribute `dlc.casts` has a line for each op of @train_step.}];
}

def BlockImages : Dlc_Pass<"dlc-block-images"> {
  let summary = "convolutions of blocks of pixels with stride 1 instead of strided ones of few channels";
  let description = [{For 16-bit images of less than 8 channels that do not depend on a trainable state, with equal strides s in all dimensions:
    the pixels of a block of size s become channels, padded by zeros to a multiple of 8, and the filter is rearranged alike. Only the
    order of summation changes. Runs before dlc-autodiff, which derives the filter's gradient.}];
}

def Autodiff : Dlc_Pass<"dlc-autodiff"> {
  let summary = "gradients of the loss with respect to trainable states";
  let description = [{The function's first result is the loss, a float scalar. Appends the backward graph, which starts at
    dlc.seed, and one dlc.gradient per trainable state, in the order in which gradients are complete. A trainable state on which the
    loss does not depend becomes not trainable, with a remark. With `loss-params`, each loss "loss.NAME" has a backward graph to its
    own states, and the gradients of a state are summed. Removes dlc.stop_gradient and dlc.scale_gradient from all
    functions.}];
  let options = [Option<"function", "function", "std::string", "\"train_step\"", "name of the function (default: train_step)">];
}

def QuantizeProducts : Dlc_Pass<"dlc-quantize-products"> {
  let summary = "marked matrix products are products of 8-bit floats";
  let description = [{Each dlc.matmul with dlc.float8 = [format of a, format of b] becomes dlc.scaled_matmul: dlc-autocast marks forward
    products ["e4m3", "e4m3"], autodiff those of their gradients, where the gradient is of "e5m2". An operand x is scaled by
    s = largest value of the format / max |x|, at most 2^126, or 1 if the maximum is 0 or not finite; the product multiplies by
    1 / s. The matrices are copied transposed where the product does not contract their last dimension. With
    `fp8-scaling` = delayed the maximum is that of a row of @scaler.amax [tensors, history], divided by 2^-margin, and the state gets
    max |x| of this step, or 0 if that is not finite, as its first column.}];
}

def ReduceAmax : Dlc_Pass<"dlc-reduce-amax"> {
  let summary = "all ranks scale their 8-bit floats alike";
  let description = [{What @train_step writes to @scaler.amax is the largest of all ranks, which travel in a bucket of their own, each
    in its own row of a sum. @accumulate_step does not write it: the last micro-batch of an update does.}];
}

def ScaleLoss : Dlc_Pass<"dlc-scale-loss"> {
  let summary = "start value of the backward graph: 1 or the loss scale";
  let description = [{Replaces dlc.seed by 1 or the state @scaler.scale, divided by the number of micro-batches of an update.}];
}

def AccumulateGradients : Dlc_Pass<"dlc-accumulate-gradients"> {
  let summary = "gradient accumulation: @accumulate_step adds a micro-batch, @train_step takes the last one of a window";
  let description = [{Adds a state grad/NAME per parameter with a gradient, accumulate.NAME per result of
    the step, and accumulate.position. The sums become the gradients and results of @train_step. If the results divisor.own and
    divisor.whole exist, a micro-batch is multiplied by the first and the sum divided by the second; both results are removed.}];
}

def RowGradients : Dlc_Pass<"dlc-row-gradients"> {
  let summary = "sparse gradients of embedding tables";
  let description = [{If the gradient of a state is a dlc.scatter_add along axis 0 or a sum of several, with casts and factors after it,
    dlc.unique_rows sums the updates of each row, and dlc.gradient gets the indices of rows. --sparse-embeddings chooses the states:
    those of which the optimizer changes only these rows, if they are at most half of the table, or all with an elementwise optimizer.}];
}

def Unscale : Dlc_Pass<"dlc-unscale"> {
  let summary = "division of gradients by the loss scale, and a test whether all are finite";
  let description = [{Multiplies by 1 / scale and updates @scaler.scale and @scaler.growth like PyTorch's GradScaler.
    Without a scaler nothing changes.}];
}

def InsertAllReduce : Dlc_Pass<"dlc-insert-all-reduce"> {
  let summary = "means of gradients and of the reported loss over ranks";
  let description = [{Adds one dlc.all_reduce per gradient, in buckets that are filled in the order in which gradients are complete. An existing
    all-reduce, of row weights, gets a bucket before these.
    With `compress`, an f32 gradient is cast to 16 bits before and to f32 after the all-reduce, or, if it has rank 2 or more and
    becomes smaller, gets the states NAME.powersgd_error and NAME.powersgd_q, with which dlc-compress sends low-rank factors.}];
}

def SyncBatchNorm : Dlc_Pass<"dlc-sync-batch-norm"> {
  let summary = "batch norm by the statistics of all ranks";
  let description = [{With `sync-bn`, each dlc.batch_norm and its gradient gets its own bucket. Their decompositions reduce, forward, the count, sum
    and sum of squares of each channel (f64, against cancellation) and, backward, the count and the two sums that dx needs.
    Counts are reduced since the number of ranks is known only at run time.}];
}

def ClipGradients : Dlc_Pass<"dlc-clip-gradients"> {
  let summary = "clipping of gradient elements and of the global gradient norm";
  let description = [{PyTorch's clip_grad_value_, then clip_grad_norm_: coef = min(1, max_norm / (norm + 1e-6)). Adds the
    result "grad_norm", the norm before the multiplication by coef.}];
}

def ClipEachGradient : Dlc_Pass<"dlc-clip-each-gradient"> {
  let summary = "clipping of the gradient norm of each parameter to `clip-param-grad`";
  let description = [{PyTorch's clip_grad_norm_ for each parameter by itself, like Keras' clipnorm: coef = min(1, max / (norm + 1e-6)).}];
}

def MeasureGradients : Dlc_Pass<"dlc-measure-gradients"> {
  let summary = "norm, mean, standard deviation and largest absolute value of each gradient (`stats`)";
  let description = [{Adds the result "stats.gradients", four numbers per trainable state in the module's order, of the mean over
    ranks after the division by the loss scale and before clipping.}];
}

def MeasureParameters : Dlc_Pass<"dlc-measure-parameters"> {
  let summary = "the same numbers of each parameter after the step, and the norm of its update (`stats`)";
  let description = [{Adds the result "stats.parameters", five numbers per trainable state in the module's order.}];
}

def InsertOptimizer : Dlc_Pass<"dlc-insert-optimizer"> {
  let summary = "updates of parameters by their gradients";
  let description = [{Replaces dlc.gradient by the update. Adds moments, @step and the result "lr". If the step has a dlc.all_finite,
    states change only where it is true.}];
}

def InsertEma : Dlc_Pass<"dlc-insert-ema"> {
  let summary = "exponential moving averages of parameters and buffers";
  let description = [{e = d e + (1 - d) new for every float parameter and buffer that the step writes (EmaOptions). Averages on
    the host are computed by @ema_step, whose attribute dlc.after names @train_step: it reads the states after that step.}];
}

def StartWhole : Dlc_Pass<"dlc-start-whole"> {
  let summary = "@start_step, which sends uncompressed gradients in the first updates";
  let description = [{With `compress=powersgd:RANK:RATE:START`, @start_step is @train_step without the states of the compression: its
    all-reduces send whole gradients, where those of @train_step send low-rank factors. Its attribute dlc.updates, START, is the number
    of updates by @start_step; @train_step computes the later ones.}];
}

def LocalSteps : Dlc_Pass<"dlc-local-steps"> {
  let summary = "local updates of each rank, synchronized by @sync_step";
  let description = [{With `sync-every` and several ranks, @sync_step averages over ranks the difference of each parameter and the state
    NAME.sync_anchor, and updates the parameter by `outer-optimizer`, with momentum NAME.sync_m. Moments differ between ranks.}];
}

#endif
