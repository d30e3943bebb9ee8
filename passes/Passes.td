// The passes of a training program. One entry, one .cpp, one line in Pipeline.cpp, one test.
// Options are fields of Options.h under the same names.
#ifndef DLC_PASSES
#define DLC_PASSES
include "mlir/Pass/PassBase.td"

class Dlc_Pass<string argument> : Pass<argument, "mlir::ModuleOp"> {
  let dependentDialects = ["::dlc::ir::DlcDialect"];
}

def Canonicalize : Dlc_Pass<"dlc-canonicalize"> {
  let summary = "each idea is one op, nothing is computed twice";
  let description = [{GELU written out becomes dlc.gelu, additions of a vector become biases, transposes of a factor
    become flags of the product, powers and reciprocal roots become their own ops, constants fold; then CSE.}];
}

def InferShapes : Dlc_Pass<"dlc-infer-shapes"> {
  let summary = "every tensor has a static shape";
  let description = [{The first dimension of arguments, where dynamic, becomes `batch`; types follow through
    InferTypeOpInterface. An error names what stays dynamic.}];
  let options = [Option<"batch", "batch", "int64_t", "0", "rows of one step; 0: arguments must be static">];
}

def InsertLora : Dlc_Pass<"dlc-insert-lora"> {
  let summary = "weights are frozen, and low-rank adapters beside them are trained";
  let description = [{Adds trained states NAME.lora_A.weight and NAME.lora_B.weight and their products to @predict; the
    module's attribute dlc.adapters says how they are merged.}];
  let options = [Option<"rank", "rank", "int64_t", "8", "of the adapters">,
    Option<"alpha", "alpha", "double", "8", "their product counts alpha / rank">,
    Option<"seed", "seed", "int64_t", "0", "of A's first values">,
    ListOption<"targets", "targets", "std::string", "REGEX of weights; none: all of matrix products">,
    ListOption<"trained", "trained", "std::string", "REGEX of weights that stay trained">];
}

def AppendLoss : Dlc_Pass<"dlc-append-loss"> {
  let summary = "@train_step gives a scalar loss, @eval_step the loss and the hits of each row";
  let description = [{Both are copies of @predict with the labels as last argument, named "y":
    cross_entropy: logits [.., C] as rows [R, C] and labels i64 [R]; loss = mean of lse - logit[label].
    mse: labels of the output's shape; loss = mean of (output - y)^2.
    bce: labels of the output's shape; loss = mean of softplus(x) - x y.
    A loss computed by the graph (result attribute dlc.loss) is used as it is.
    OUTPUT:KIND[:WEIGHT],...: the weighted sum of a loss of each output, with labels "y.OUTPUT" and results "loss.OUTPUT".}];
  let options = [Option<"kind", "kind", "std::string", "\"auto\"", "auto, cross_entropy, mse, bce or a list">];
}

def TrainMode : Dlc_Pass<"dlc-train-mode"> {
  let summary = "@train_step normalises by the batch and moves the running statistics";
  let options = [Option<"bnVariancePopulation", "bn-variance-population", "bool", "false",
    "running variance is the population's, not the unbiased one">];
}

def Randomize : Dlc_Pass<"dlc-randomize"> {
  let summary = "dropout and noise are functions of seed, rank and step";
  let description = [{Replaces dlc.dropout (the identity outside of @train_step) and dlc.noise by dlc.uniform. Adds the states
    @rng.draw, the number of draws so far, and @rng.rank, which the runtime sets.}];
  let options = [Option<"seed", "seed", "int64_t", "0", "of all random numbers">];
}

def FuseAttention : Dlc_Pass<"dlc-fuse-attention"> {
  let summary = "attention written out as products, mask and softmax is one op";
  let description = [{Matches what exporters write: scores = q k^T with a factor on q, k or the scores; masks added, or numbers
    selected by a condition; softmax over the keys, with NaN replaced by 0 or not; times v. A mask that is a triangle
    (passes/Triangle.h) becomes `causal`, others the op's mask. Left alone: scores that something else reads, masks that a
    parameter moves, dropout. Transposes of q, k and v go where all three have them (layout "bthd").}];
  let options = [Option<"by", "by", "std::string", "\"library\"", "who is to compute it: library or generated">,
    Option<"strict", "strict", "bool", "false", "also what `by` cannot compute">];
}

def PlaceAttention : Dlc_Pass<"dlc-place-attention"> {
  let summary = "every attention has somebody who computes it, others are products and softmax";
  let options = [Option<"by", "by", "std::string", "\"library\"", "library, generated, or off: none is kept">,
    Option<"strict", "strict", "bool", "false", "one that `by` cannot compute is an error">,
    Option<"typed", "typed", "bool", "true", "element types are final; else only shapes count, and nothing is marked">];
}

def Autocast : Dlc_Pass<"dlc-autocast"> {
  let summary = "matrix products, convolutions and what lies between them compute in half";
  let description = [{Decides for each function by the lists of ops (CastLists.h, CastPainter.h), then inserts one
    dlc.cast per value and type. State (but at O3), results and pinned operands stay f32. With `explain` the module
    gets an attribute `dlc.casts`, a line for each op of @train_step.}];
  let options = [Option<"level", "level", "std::string", "\"O1\"", "O1: by lists; O2: all but losses; O3: state, too">,
    Option<"dtype", "dtype", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"preset", "preset", "std::string", "\"dlc\"", "whose lists: dlc, torch, tf or oneflow">,
    ListOption<"allow", "allow", "std::string", "ops that compute in half">,
    ListOption<"deny", "deny", "std::string", "ops that compute in f32">,
    ListOption<"infer", "infer", "std::string", "ops that compute in half between allowed ones">,
    ListOption<"clear", "clear", "std::string", "ops that follow their neighbours">,
    ListOption<"nodes", "nodes", "std::string", "REGEX:f32 or REGEX:half, by ONNX node">,
    Option<"explain", "explain", "bool", "false", "leave a report">];
}

def Autodiff : Pass<"dlc-autodiff", "mlir::ModuleOp"> {
  let summary = "every trainable state that the loss depends on gets its gradient";
  let description = [{The function's first result is the loss, a float scalar. Appends the backward graph, started by
    dlc.seed, and one dlc.gradient for each trainable state, the one ready first first. A trainable state that the
    loss does not depend on loses its mark, with a remark: no optimizer touches it.}];
  let options = [Option<"function", "function", "std::string", "\"train_step\"", "the function whose first result is the loss">,
    Option<"perLoss", "per-loss", "bool", "false", "a backward graph for each result loss.NAME: seed and gradients carry the name">];
  let dependentDialects = ["::dlc::ir::DlcDialect"];
}

defvar scalerOptions = [Option<"scale", "scale", "std::string", "\"none\"", "none, dynamic or a number">,
    Option<"init", "init", "double", "65536", "first dynamic scale">,
    Option<"growthFactor", "growth-factor", "double", "2", "factor after `interval` finite steps">,
    Option<"backoffFactor", "backoff-factor", "double", "0.5", "factor after an infinite gradient">,
    Option<"interval", "interval", "int64_t", "2000", "finite steps before the scale grows">,
    Option<"minScale", "min-scale", "double", "0", "0: no floor">,
    Option<"maxScale", "max-scale", "double", "0", "0: no ceiling">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "overflows before the first backoff since the last growth">];

def ScaleLoss : Dlc_Pass<"dlc-scale-loss"> {
  let summary = "the backward graph starts at the loss scale";
  let description = [{dlc.seed becomes 1 or a read of @scaler.scale, divided by the micro-batches of an update.}];
  let options = scalerOptions # [Option<"microBatches", "micro-batches", "int64_t", "1", "of an update">];
}

def UnscaleLosses : Dlc_Pass<"dlc-unscale-losses"> {
  let summary = "the gradients of several losses, divided by the scale of each, are added up";
  let description = [{One dlc.gradient a state of those that autodiff has made for each loss; results found_inf.LOSS.}];
}

def AccumulateGradients : Dlc_Pass<"dlc-accumulate-gradients"> {
  let summary = "@accumulate_step adds a micro-batch to the gradients, @train_step takes the last one of a window";
  let description = [{Adds a state grad/NAME beside each parameter with a gradient, accumulate.NAME beside each result of
    the step, and accumulate.position. The sums become the gradients and results of @train_step.}];
  let options = [Option<"count", "count", "int64_t", "1", "micro-batches of an update; 1: nothing is added">];
}

def Unscale : Dlc_Pass<"dlc-unscale"> {
  let options = scalerOptions;
  let summary = "gradients are those of the loss itself, and a flag says whether all are finite";
  let description = [{Multiplies by 1 / scale and moves @scaler.scale and @scaler.growth as torch's GradScaler does.
    Without a scaler there is nothing to do.}];
}

def InsertAllReduce : Dlc_Pass<"dlc-insert-all-reduce"> {
  let summary = "gradients and the reported loss are means over the ranks";
  let description = [{One dlc.all_reduce per gradient, in buckets filled in the order in which gradients get ready.}];
  let options = [Option<"world", "world", "int64_t", "1", "ranks; with 1 the all-reduces mark the gradients and have no bucket">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "a bucket is full from this size on">,
    Option<"firstBucketBytes", "first-bucket-bytes", "int64_t", "1048576", "the same for the first bucket">];
}

def ClipGradients : Dlc_Pass<"dlc-clip-gradients"> {
  let summary = "all gradients together have a norm of at most `max-norm`";
  let description = [{torch's clip_grad_value_, then clip_grad_norm_: coef = min(1, max_norm / (norm + 1e-6)). Adds the
    result "grad_norm", the norm before the second.}];
  let options = [Option<"maxValue", "max-value", "double", "0", "0: no clamping">,
    Option<"maxNorm", "max-norm", "double", "0", "0: no clipping by norm">,
    Option<"reportNorm", "report-norm", "bool", "false", "the result even so">];
}

def SkipOutliers : Dlc_Pass<"dlc-skip-outliers"> {
  let summary = "a step whose loss or gradient norm stands out changes nothing";
  let description = [{Adds the states outlier.NAME, the last 128 values of that result, and outlier.NAME.count, and the result
    "skipped". Later passes write only in steps that are not skipped.}];
  let options = [Option<"loss", "loss", "double", "0", "z-score of the loss from which a step is skipped; 0: off">,
    Option<"gradient", "gradient", "double", "0", "the same of the result grad_norm">];
}

defvar scheduleOptions = [Option<"schedule", "schedule", "std::string", "\"constant\"", "see ScheduleOptions">,
    Option<"perEpoch", "schedule-per-epoch", "bool", "false", "lengths are epochs">,
    Option<"warmup", "warmup", "int64_t", "0", "length of the linear warm-up">,
    Option<"totalSteps", "total-steps", "int64_t", "0", "updates of the training; 0: set before it">,
    Option<"decaySteps", "decay-steps", "int64_t", "1000", "step: between two decays">,
    Option<"decayRate", "decay-rate", "double", "0.1", "step, multistep: factor of a decay">,
    ListOption<"milestones", "milestones", "int64_t", "multistep: where it decays">,
    Option<"startFactor", "start-factor", "double", "1.0 / 3", "linear">,
    Option<"endFactor", "end-factor", "double", "1", "linear">,
    Option<"minLr", "min-lr", "double", "0", "cosine, polynomial: the last rate">,
    Option<"cycleSteps", "cycle-steps", "int64_t", "0", "cosine: length of the first cycle; 0: no restarts">,
    Option<"cycleMult", "cycle-mult", "int64_t", "1", "cosine: each cycle's length by the one before">,
    Option<"cycleDecay", "cycle-decay", "double", "1", "cosine: each cycle's rate by the one before">,
    Option<"power", "power", "double", "1", "polynomial">,
    Option<"pctStart", "pct-start", "double", "0.3", "onecycle: share of the rise">,
    Option<"divFactor", "div-factor", "double", "25", "onecycle: peak by start">,
    Option<"finalDivFactor", "final-div-factor", "double", "1e4", "onecycle: start by end">,
    Option<"cycleMomentum", "cycle-momentum", "bool", "true", "onecycle: momentum or beta1 moves too">,
    Option<"baseMomentum", "base-momentum", "double", "0.85", "onecycle: at the highest rate">,
    Option<"maxMomentum", "max-momentum", "double", "0.95", "onecycle: at both ends">];

def InsertOptimizer : Dlc_Pass<"dlc-insert-optimizer"> {
  let summary = "each gradient moves its parameter";
  let description = [{Consumes dlc.gradient. Adds moments, @step and the result "lr". With dlc.all_finite in the step,
    an update happens only when it holds.}];
  let options = [Option<"name", "name", "std::string", "\"sgd\"", "see OptimizerOptions, also for what follows">,
    Option<"lr", "lr", "double", "-1", "base learning rate; as all numbers here, -1 is the optimizer's default">,
    Option<"weightDecay", "weight-decay", "double", "-1", "">,
    Option<"momentum", "momentum", "double", "-1", "">,
    Option<"nesterov", "nesterov", "int64_t", "-1", "0 or 1">,
    Option<"dampening", "dampening", "double", "0", "">,
    Option<"beta1", "beta1", "double", "-1", "">,
    Option<"beta2", "beta2", "double", "-1", "">,
    Option<"epsilon", "epsilon", "double", "-1", "">,
    Option<"alpha", "alpha", "double", "-1", "">,
    Option<"amsgrad", "amsgrad", "bool", "false", "">,
    ListOption<"lrScale", "lr-scale", "std::string", "REGEX:FACTOR">,
    ListOption<"weightDecayScale", "weight-decay-scale", "std::string", "REGEX:FACTOR">,
    Option<"moments", "moments", "std::string", "\"f32\"", "f32 or bf16">,
    ListOption<"groups", "group", "std::string", "REGEX:NAME[,KEY=VALUE,...]">,
    Option<"noDecay", "no-decay", "std::string", "\"none\"", "none or norm_bias">] # scheduleOptions;
}

def InsertEma : Dlc_Pass<"dlc-insert-ema"> {
  let summary = "moving averages follow what the step writes";
  let description = [{e = d e + (1 - d) new for every float parameter and buffer that the step writes; see EmaOptions. On
    the host that is a function @ema_step with the attribute dlc.after, which reads the state that @train_step left.}];
  let options = [Option<"kind", "kind", "std::string", "\"ultralytics\"", "ultralytics, constant, timm or swa">,
    ListOption<"decays", "decay", "double", "one set of averages each; none: 0.9999">,
    Option<"halflife", "halflife", "double", "0", "in samples; 0: the decay as it is">,
    Option<"ramp", "ramp", "double", "0", "constant: largest half-life by the samples seen">,
    Option<"batches", "batches", "int64_t", "1", "of an update, over all ranks">,
    Option<"tau", "tau", "double", "2000", "ultralytics: updates of the ramp">,
    Option<"start", "start", "int64_t", "0", "updates that are only copied">,
    Option<"warmup", "warmup", "bool", "false", "timm: the decay rises">,
    Option<"gamma", "gamma", "double", "1", "timm">,
    Option<"power", "power", "double", "2.0 / 3", "timm">,
    Option<"minDecay", "min-decay", "double", "0", "timm">,
    Option<"buffers", "buffers", "std::string", "\"average\"", "average, copy or exclude">,
    Option<"device", "device", "std::string", "\"device\"", "device, or cpu: in @ema_step">];
}

#endif
