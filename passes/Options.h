// SPDX-License-Identifier: Apache-2.0
// The options of everything that is added to a graph to train it, as plain
// values. Each field has a row in a table (options/*.cpp, placement's
// Wishes.cpp) from which the command line, the YAML file and the pass options
// are made; its comment names its flag.
#pragma once

#include "compiler/placement/Wishes.h"
#include "compiler/target/TargetOptions.h"

#include <map>

namespace dlc {

/// Layout of ctc's logits: [rows, steps, classes] or [steps, rows, classes].
enum class CtcLayout { rowsFirst, stepsFirst };

struct LossOptions {
  /// --loss=auto or a kind of passes/loss. auto: the loss in the graph, else
  /// cross_entropy. --loss=OUTPUT:KIND[:WEIGHT],...: the weighted sum of losses
  /// of several outputs, whose labels are named y.OUTPUT; the kind "graph"
  /// takes a scalar that the graph computes and has no labels. nll and kl take
  /// log-probabilities or the result of a softmax; kl sums over a sample. In a
  /// list, OUTPUT+OUTPUT:KIND names a kind of several outputs: cosine_embedding
  /// of two outputs with labels 1 and -1; triplet_margin of anchor, positive
  /// and negative, without labels. Other arrays of the data file are named like
  /// the labels: input_lengths.OUTPUT.
  ///   After KIND, label=NUMBER sets the label of all rows (a GAN's "real"
  /// and "generated"; the data file then has no labels), and as=NAME
  /// distinguishes two losses of one output.
  std::string kind = "auto";
  /// --loss-params=REGEX:LOSS: the parameters that one loss of the list trains,
  /// joined over its rows; a loss without a row trains all parameters. Each set
  /// of losses that train the same parameters then has a backward graph.
  std::vector<std::string> params;
  /// Options of losses over classes. --class-axis=N: axis of the classes;
  /// default: 1 for four or more dimensions, else the last.
  /// --ignore-index=LABEL: rows with this label are ignored.
  /// --class-weights=W,...: one weight per class; the loss is then the weighted
  /// mean of the rows.
  std::optional<int64_t> classAxis, ignoreIndex;
  std::vector<double> classWeights;
  /// Options of cross_entropy. --label-smoothing=X: share of the target that is
  /// spread evenly over the classes. --soft-labels: labels are class
  /// probabilities.
  double labelSmoothing = 0;
  bool softLabels = false;
  /// Argument of bce. pos_weight=[W,...]: factor of positive labels, one for
  /// all columns or one per column.
  std::vector<double> posWeight;
  /// delta=X of huber and smooth_l1: error above which the loss is linear.
  double delta = 1;
  /// margin=X of cosine_embedding (default 0) and triplet_margin (default 1):
  /// distance beyond which a pair has no loss.
  std::optional<double> margin;
  /// Arguments of triplet_margin. norm=P: exponent of the p-norm distances.
  /// swap: the negative is compared with the anchor or the positive, whichever
  /// is nearer.
  double tripletNorm = 2;
  bool tripletSwap = false;
  /// gamma=X of focal and binary_focal: focusing exponent of (1 - p)^gamma.
  /// alpha=X of binary_focal: weight of label 1, and 1 - alpha of label 0;
  /// unset: no weights.
  double focalGamma = 2;
  std::optional<double> focalAlpha;
  /// smooth=X of dice: added to numerator and denominator.
  double diceSmooth = 1e-5;
  /// Arguments of ctc. labels=N: the largest number of labels of a sample, and
  /// the row length of labels in data files; blank=CLASS;
  /// layout=rows_first|steps_first; padded: without the arrays input_lengths
  /// and target_lengths, all steps are valid and negative labels are padding;
  /// zero_infinity: samples with more labels than steps have loss 0.
  std::optional<int64_t> ctcLabels;
  int64_t ctcBlank = 0;
  CtcLayout ctcLayout = CtcLayout::rowsFirst;
  bool ctcPadded = false, ctcZeroInfinity = false;
  /// --last-batch=drop|pad: samples that do not fill a batch at the end of an
  /// epoch are dropped, or padded to a batch with samples of weight 0.
  bool padsLast = false;
  /// --bn-variance=unbiased|population: running variance as frameworks store
  /// it, or as the ONNX standard says.
  bool bnVariancePopulation = false;

  void addTo(OptionTable &table);
};

/// Further losses, against a teacher's results (loss/Distill.h).
struct DistillOptions {
  /// --distill=kl|mse[(temperature=T,weight=W,student=OUTPUT,teacher=OUTPUT)]
  std::vector<std::string> terms;

  void addTo(OptionTable &table);
};

/// Automatic mixed precision; the levels are those of the library Apex.
struct AmpOptions {
  /// --amp=O0|O1|O2|O3; without a value: O1.
  ///   O0  everything in f32
  ///   O1  ops in half by the lists; parameters and gradients in f32
  ///   O2  all ops but losses in half; norms compute in f32 with f32
  ///       parameters, softmax and sums accumulate in f32; f32 parameters
  ///   O3  as O2, with parameters, buffers and moments in half
  std::string level = "O0";
  /// --amp-dtype=bf16|fp16|fp8; fp8: half is bf16, and layers' products are of
  /// 8-bit floats.
  std::string dtype = "bf16";
  /// --fp8-scaling=current|delayed: a tensor's scale is of its own largest
  /// magnitude, or of the largest of the last `history` steps, divided by
  /// 2^margin.
  std::string float8Scaling = "current";
  int64_t float8History = 16;
  double float8Margin = 0;
  /// --amp-preset=dlc|torch|tf|oneflow: source of O1's lists and rules.
  std::string preset = "dlc";
  /// --amp-allow=OP,..., --amp-deny, --amp-infer, --amp-clear: ops moved to
  /// that list, as dlc mnemonics or ONNX operators.
  std::vector<std::string> allow, deny, infer, clear;
  /// --amp-lists=FILE: lists "allow", "deny", "infer" and "clear" in a file.
  std::string listsFile;
  std::map<std::string, std::vector<std::string>> fileLists;
  /// --amp-node=REGEX:f32|half: type of the ONNX nodes whose names match; the
  /// first matching rule applies.
  std::vector<std::string> nodes;
  /// --explain-amp: prints each node's type and the reason for it.
  bool explain = false;

  bool enabled() const { return level != "O0"; }
  bool float8() const { return enabled() && dtype == "fp8"; }
  bool delaysScales() const { return float8() && float8Scaling == "delayed"; }
  /// The 16-bit type: bf16 or fp16.
  std::string half() const { return dtype == "fp8" ? "bf16" : dtype; }
  /// Appends the file's lists to the lists above. Idempotent.
  void resolve();

  void addTo(OptionTable &table);
  /// Called after addTo: adds the row of --amp-lists, and checks the names of
  /// all lists, which may also be `onnxOperators`.
  void addLists(OptionTable &table, Words onnxOperators);
};

/// Loss scaling by the algorithm of GradScaler (torch/amp/grad_scaler.py).
struct ScalerOptions {
  /// --loss-scale=auto|none|dynamic|VALUE. auto: dynamic for fp16 at levels O1
  /// and O2, else none.
  std::string scale = "auto";
  /// init: the initial dynamic scale.
  double init = 65536;
  /// growth: factor of the scale after `interval` consecutive finite steps.
  double growthFactor = 2;
  /// backoff: factor of the scale after a step with an infinite gradient.
  double backoffFactor = 0.5;
  /// interval
  int64_t interval = 2000;
  /// min, max: bounds of the scale; 0: no bound, as in torch.
  double minScale = 0, maxScale = 0;
  /// hysteresis: overflows before the scale backs off; the count restarts when
  /// the scale grows (Megatron's rule). 1 is torch's behaviour.
  int64_t hysteresis = 1;

  void addTo(OptionTable &table);
};

struct AccumulateOptions {
  /// --accumulate=N: micro-batches of --batch rows per update, whose gradients
  /// are averaged.
  int64_t count = 1;

  void addTo(OptionTable &table);
};

struct AllReduceOptions {
  /// --ddp=N: ranks.
  int64_t world = 1;
  /// --bucket-mb: size at which a bucket is full. 0: a sixteenth of all
  /// gradients, between 1 and 25 MiB.
  int64_t bucketBytes = 0;
  /// --first-bucket-mb: the same for the first bucket, small so that the first
  /// all-reduce starts early; at most the size of the other buckets.
  int64_t firstBucketBytes = 1 << 20;
  /// --sync-bn: batch norm statistics over the batches of all ranks.
  bool syncBatchNorm = false;
  /// --compress=none|bf16|fp16|powersgd:RANK[:RATE[:START]]: precision in which
  /// gradients are sent; powersgd: matrices are sent as factors of that rank,
  /// if these are RATE times smaller, after START updates.
  std::string compress = "none";
  int64_t powerRank = 1;
  double powerRate = 2;
  int64_t powerStart = 0;
  /// --zero=0|1|2|3: from 1 moments and averages are split over ranks, from 2
  /// also gradients, from 3 also parameters.
  int64_t zero = 0;
  /// --zero-prefetch=N: buckets of parameters that are gathered in advance.
  int64_t zeroPrefetch = 1;
  /// --zero-whole-mb: groups of parameters updated together that are smaller
  /// are not split.
  int64_t zeroWholeBytes = 64 << 10;
  /// --sync-every=N: ranks step independently, and every N steps
  /// --outer-optimizer applies the mean of their changes; 0: gradients are
  /// reduced in each step.
  int64_t syncEvery = 0;
  std::string outer = "sgd(lr=0.7,momentum=0.9,nesterov=true)";

  bool isLocal() const { return syncEvery > 0 && world > 1; }
  /// Number of ranks that take part in the collectives of a step.
  int64_t partners() const { return isLocal() ? 1 : world; }
  /// Bytes at which a bucket is full, of `all` bytes that are reduced. The last
  /// bucket cannot overlap with computation, so buckets are a small part of
  /// all, but large enough to amortise a message's latency.
  int64_t bucketSize(int64_t all) const;
  /// Level of --zero; 0 on a single rank.
  int64_t level() const { return world > 1 ? zero : 0; }
  bool syncs() const { return syncBatchNorm && world > 1; }
  /// Parses the value of --compress.
  Status setCompress(const std::string &word);

  void addTo(OptionTable &table);
};

struct ClipOptions {
  /// --clip-value=X: clamps each element to [-X, X], before norms are computed;
  /// 0: no clamping.
  double maxValue = 0;
  /// --clip-grad=NORM: largest norm of all gradients together; 0: no clipping.
  double maxNorm = 0;
  /// --clip-param-grad=NORM: largest norm of each parameter's gradient, applied
  /// before --clip-grad; 0: no clipping.
  double maxParameterNorm = 0;
  /// --grad-norm: reports the norm of all gradients without clipping by it.
  bool reportNorm = false;

  void addTo(OptionTable &table);
};

/// Statistics of each parameter and its gradient that a step reports.
struct StatisticsOptions {
  /// --stats
  bool enabled = false;

  void addTo(OptionTable &table);
};

/// Formulas, names and defaults are those of torch.optim; those of rmsprop_tf,
/// lamb, lion and lars are timm's, except lr, momentum and the rule for vectors
/// of lars (OptimizerNorms.cpp). Unset fields get the optimizer's default
/// (OptimizerRules.h).
struct OptimizerOptions {
  /// --optimizer=sgd|adam|adamw|radam|nadam|adafactor|lars|rmsprop|rmsprop_tf|
  /// adagrad|lamb|lion|muon. muon updates matrices; it updates other parameters
  /// by adamw with the default betas and eps.
  std::string name = "sgd";
  /// --lr
  std::optional<double> lr;
  /// --weight-decay: decoupled for adamw, lion, muon and adafactor; added to
  /// the update for lamb; else added to the gradient.
  std::optional<double> weightDecay;
  /// momentum, nesterov, dampening
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  double dampening = 0;
  /// betas=[A,B], eps, alpha
  std::optional<double> beta1, beta2, epsilon, alpha;
  /// Arguments of nadam. momentum_decay: how fast the momentum grows to beta1;
  /// decoupled_weight_decay: as in adamw.
  std::optional<double> momentumDecay;
  bool decoupledDecay = false;
  /// Arguments of adafactor. beta2_decay: exponent of 1 - beta2 =
  /// t^beta2_decay; eps2: lower bound of a parameter's RMS, by which its update
  /// is scaled; clip_threshold: bound of an update's RMS (torch's d). eps is
  /// torch's eps[0]; its default is the epsilon of f32.
  std::optional<double> beta2Decay, eps2, clipThreshold;
  /// trust_coefficient of lars
  std::optional<double> trustCoefficient;
  /// amsgrad: the denominator uses the maximum of all second moments so far.
  bool amsgrad = false;
  /// --lr-scale=REGEX:FACTOR and --weight-decay-scale=REGEX:FACTOR: factors for
  /// parameters whose names match; the first matching rule applies.
  std::vector<std::string> lrScale, weightDecayScale;
  /// --moments=f32|bf16|8bit: storage type of moments; f32 means the
  /// parameter's own type. The update computes in f32 and rounds the moments it
  /// stores, so in bf16 a decay rate above 1 - 2^-9 may leave a moment
  /// unchanged. 8bit: see BlockMoments.h.
  std::string moments = "f32";
  /// --optimizer-group=REGEX:NAME[(KEY=VALUE,...)]: optimizer of the parameters
  /// whose names match; the first matching rule applies. Keys are flags of the
  /// optimizer: lr, weight-decay, momentum, nesterov, dampening, beta1, beta2,
  /// eps, alpha, amsgrad, ... Flags not given have the value set for `name` if
  /// it is the same optimizer, else the optimizer's default. The schedule
  /// scales every lr by the same factor.
  std::vector<std::string> groups;
  /// --no-decay=none|norm_bias. norm_bias: no weight decay for parameters of
  /// less than two dimensions and for parameters named *.bias.
  std::string noDecay = "none";
  /// --sparse-embeddings=exact|lazy|off: where embedding tables have gradients
  /// and updates of only the rows that a step looked up (RowGradients.cpp).
  /// exact: where the other rows would not change; lazy: also where they would,
  /// as torch's SparseAdam; off: nowhere.
  std::string sparse = "exact";

  /// Not an option: default momentum under a schedule that cycles momentum.
  std::optional<double> cycledMomentum;

  /// Replaces unset fields by the defaults of `name`. Idempotent.
  void resolve();
  /// The optimizer or option whose update of an element depends on the tensor's
  /// other elements or shape; empty: none.
  std::string wholeTensorRule() const;

  void addTo(OptionTable &table);
};

/// The learning rate as a function of t, the number of updates (or whole
/// epochs) since the end of the warm-up; T is their number in the whole
/// training. Formulas and defaults: torch.optim.lr_scheduler.
struct ScheduleOptions {
  /// --schedule=constant|step|multistep|linear|cosine|polynomial|onecycle
  /// |exponential|inverse_sqrt|wsd|plateau
  std::string name = "constant";
  /// --schedule-per=update|epoch: unit of t and lengths below, except --steps.
  bool perEpoch = false;
  /// --warmup=N: lr (n + 1) / N in the first N updates, then the schedule.
  int64_t warmup = 0;
  /// --warmup-start-factor=F: instead lr (F + (1 - F) n / N), as torch's
  /// LinearLR before another schedule.
  std::optional<double> warmupStart;
  /// --steps=N: updates of the whole training; 0: `dlc train` sets it.
  int64_t totalSteps = 0;
  /// step(decay_steps, decay_rate) multiplies lr by decay_rate every
  /// decay_steps, exponential(decay_rate) at every update.
  int64_t decaySteps = 1000;
  double decayRate = 0.1;
  /// multistep(milestones=[A,B,...]) multiplies lr by decay_rate at each
  /// milestone.
  std::vector<int64_t> milestones;
  /// linear(start_factor, end_factor) interpolates between the factors of lr.
  double startFactor = 1.0 / 3, endFactor = 1;
  /// inverse_sqrt(timescale=N): lr / sqrt(1 + t / N); 0: N is the length of the
  /// warm-up, or 10,000 without one.
  int64_t timescale = 0;
  /// wsd(decay_steps=N, decay=cosine|linear|sqrt): constant lr, which decays to
  /// min_lr in the last N steps; sqrt: by 1 - sqrt(x).
  std::string decay = "cosine";
  /// min_lr: final learning rate of cosine, polynomial, wsd and plateau.
  double minLr = 0;
  /// cosine(cycle_steps=N) restarts after N, then after N cycle_mult, ...;
  /// cycle i starts at lr cycle_decay^i. 0: no restarts.
  int64_t cycleSteps = 0, cycleMult = 1;
  double cycleDecay = 1;
  /// polynomial(power)
  double power = 1;
  /// plateau(factor, patience, threshold, min_lr): torch's ReduceLROnPlateau
  /// with a relative threshold. `dlc train` keeps track of validations
  /// (runtime/train/run/Best.h).
  double plateauFactor = 0.1, plateauThreshold = 1e-4;
  int64_t plateauPatience = 10;
  /// onecycle(pct_start, div_factor, final_div_factor): lr rises from lr / div
  /// in the share pct_start of T, then falls to lr / (div final_div).
  double pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4;
  /// onecycle(cycle_momentum, base_momentum, max_momentum): momentum, or beta1,
  /// goes from max to base and back as lr rises and falls.
  bool cycleMomentum = true;
  double baseMomentum = 0.85, maxMomentum = 0.95;

  void addTo(OptionTable &table);
};

/// Exponential moving averages of parameters and running statistics: e = d e +
/// (1 - d) new after update n. Until n = `start` they are copies.
struct EmaOptions {
  /// --ema
  bool enabled = false;
  /// --ema=auto|ultralytics|constant|timm|swa, with k = n - start:
  ///   ultralytics  d = decay (1 - exp(-k / tau))
  ///   constant     d = decay, with a ramp at most 0.5^(1 / (ramp (k - 1)))
  ///   timm         ModelEmaV3: a copy at k = 1, then d = decay; with `warmup`
  ///                1 - (1 + (k - 1) / gamma)^-power between minDecay and decay
  ///   swa          d = 1 - 1 / k, the mean of all values after the start
  /// auto: constant if a decay or a half-life is given, else ultralytics.
  std::string kind = "auto";
  /// --ema=DECAY. Unset: 0.9999. --ema=DECAY,...: further sets of averages,
  /// named ema.2, ema.3, ...
  std::optional<double> decay;
  std::vector<double> others;
  /// halflife=SAMPLES: decay = 0.5^(samples per update / half-life); 0: use
  /// `decay`.
  double halflife = 0;
  /// ramp=R: bounds the half-life by R times the number of samples seen before
  /// the update (EDM's training_loop.py, with 0.05); 0: no bound.
  double ramp = 0;
  /// tau=UPDATES
  double tau = 2000;
  /// start=UPDATE
  int64_t start = 0;
  /// warmup, gamma, power, min_decay
  bool warmup = false;
  double gamma = 1, power = 2.0 / 3, minDecay = 0;
  /// buffers=average|copy|exclude: running statistics are averaged, copied, or
  /// left out of the averages.
  std::string buffers = "average";
  /// device=device|cpu. device: averages are computed in the step, by the
  /// kernel that updates the parameters. cpu: the host computes them in a
  /// separate program that runs in parallel with the next step; results are
  /// bitwise equal.
  std::string device = "device";

  void addTo(OptionTable &table);
};

/// Random numbers in a step: dropout, noise.
struct RandomOptions {
  /// --seed
  int64_t seed = 0;

  void addTo(OptionTable &table);
};

/// Low-rank adapters (Hu et al. 2021, as peft computes them): the weights are
/// frozen, and the product W x of each target becomes W x + alpha / rank B A x.
struct LoraOptions {
  /// --lora=RANK; 0: none.
  int64_t rank = 0;
  /// --lora-alpha
  double alpha = 8;
  /// --lora-targets=REGEX: weights of matrix products and convolutions; empty:
  /// those of all matrix products.
  std::vector<std::string> targets;
  /// --lora-trained=REGEX: weights that are still trained; the compiler adds
  /// the weights of --train and of a new head.
  std::vector<std::string> trained;

  void addTo(OptionTable &table);
};

/// An input of pixels and what a step makes of them.
struct PixelInput {
  std::string name;
  std::optional<double> scale; // unset: 1 / 255
  /// Of one number, or one per channel; both empty: no normalisation.
  std::vector<double> mean, std;

  /// INPUT[(scale=X,mean=[M,...],std=[S,...])]. Errors: Code::Usage.
  static Result<PixelInput> parse(const std::string &text);
};

struct InputOptions {
  /// --uint8-input: texts that PixelInput::parse accepts.
  std::vector<std::string> pixels;

  void addTo(OptionTable &table);
};

struct StepOptions {
  /// --debug-overflow: every op is a separate kernel, so that the op that
  /// overflows can be named.
  bool debugOverflow = false;
  TargetOptions target;
  InputOptions inputs;
  LossOptions loss;
  DistillOptions distill;
  AmpOptions amp;
  ScalerOptions scaler;
  AccumulateOptions accumulate;
  AllReduceOptions allReduce;
  ClipOptions clip;
  StatisticsOptions statistics;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  EmaOptions ema;
  RandomOptions random;
  LoraOptions lora;
  Wishes placement;

  /// Replaces "auto" and unset fields by their values for this step.
  /// Idempotent.
  void resolve();

  void addTo(OptionTable &table);
};

} // namespace dlc
