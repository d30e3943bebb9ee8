// SPDX-License-Identifier: Apache-2.0
// Everything that is added to a graph to train it, as plain values. Each field
// has a row (options/*.cpp, placement's Wishes.cpp), from which the command
// line, the YAML file and the options of passes are made; each comment names
// its flag.
#pragma once

#include "compiler/placement/Wishes.h"
#include "compiler/target/TargetOptions.h"

#include <map>

namespace dlc {

/// Where an output of ctc has its steps: [rows, steps, classes] or [steps,
/// rows, classes].
enum class CtcLayout { rowsFirst, stepsFirst };

struct LossOptions {
  /// --loss=auto or a kind of passes/loss. auto: the loss in the graph, else
  /// cross_entropy. --loss=OUTPUT:KIND[:WEIGHT],...: the weighted sum of losses
  /// of several outputs, whose labels are named y.OUTPUT; the kind "graph"
  /// takes a number that the graph computes, without labels. nll and kl take
  /// log-probabilities, or a softmax's results; kl sums over a sample. Kinds of
  /// several outputs, in a list OUTPUT+OUTPUT:KIND: cosine_embedding of two
  /// with labels 1 and -1, triplet_margin of an anchor, a near and a far one
  /// without labels. Arrays beside the labels are named as these:
  /// input_lengths.OUTPUT.
  ///   Behind KIND may stand label=NUMBER, the label of all rows (a GAN's
  /// "real" and "generated"), so that the data file has none, and as=NAME,
  /// which parts two losses of one output.
  std::string kind = "auto";
  /// --loss-params=REGEX:LOSS: the parameters that this one of the list trains,
  /// those of all its rows; a loss without a row trains all. Each loss, or
  /// those that train the same, then has a backward graph of its own.
  std::vector<std::string> params;
  /// Of losses by class. --class-axis=N: where the classes are; else axis
  /// 1 of four or more, and the last of less. --ignore-index=LABEL: rows that
  /// do not count. --class-weights=W,...: of the rows of each class, whose
  /// weighted mean the loss is.
  std::optional<int64_t> classAxis, ignoreIndex;
  std::vector<double> classWeights;
  /// Of cross_entropy. --label-smoothing=X: share of the target that is spread
  /// evenly. --soft-labels: labels are a share of each class.
  double labelSmoothing = 0;
  bool softLabels = false;
  /// Of bce. pos_weight=[W,...]: factor of positive labels, one or one a
  /// column.
  std::vector<double> posWeight;
  /// Of huber and smooth_l1. delta=X: error from which the loss is linear.
  double delta = 1;
  /// Of cosine_embedding (unset: 0) and triplet_margin (unset: 1).
  /// margin=X: distance beyond which a pair has no loss.
  std::optional<double> margin;
  /// Of triplet_margin. norm=P: of a distance. swap: the
  /// far one is compared with what it is closer to.
  double tripletNorm = 2;
  bool tripletSwap = false;
  /// Of focal and binary_focal. gamma=X: exponent of (1 - p)^gamma; of
  /// binary_focal, alpha=X: weight of the label 1, of 0 1 - alpha; unset:
  /// both count alike.
  double focalGamma = 2;
  std::optional<double> focalAlpha;
  /// Of dice. smooth=X: added to numerator and denominator.
  double diceSmooth = 1e-5;
  /// Of ctc. labels=N: the most labels of a sample, which data files have
  /// in rows of N; blank=CLASS; layout=rows_first|steps_first;
  /// padded: all steps count and negative labels are padding, instead of
  /// arrays input_lengths and target_lengths; zero_infinity: samples with
  /// more labels than steps count as 0.
  std::optional<int64_t> ctcLabels;
  int64_t ctcBlank = 0;
  CtcLayout ctcLayout = CtcLayout::rowsFirst;
  bool ctcPadded = false, ctcZeroInfinity = false;
  /// --last-batch=drop|pad: what does not fill a step at the end of an epoch is
  /// left out, or filled up with samples that do not count.
  bool padsLast = false;
  /// --bn-variance=unbiased|population: running variance as frameworks keep it,
  /// or as the ONNX text says.
  bool bnVariancePopulation = false;

  void addTo(OptionTable &table);
};

/// Further losses, by a teacher's results (loss/Distill.h).
struct DistillOptions {
  /// --distill=kl|mse[(temperature=T,weight=W,student=OUTPUT,teacher=OUTPUT)]
  std::vector<std::string> terms;

  void addTo(OptionTable &table);
};

/// Automatic mixed precision; the levels are Apex's.
struct AmpOptions {
  /// --amp=O0|O1|O2|O3; alone: O1.
  ///   O0  everything in f32
  ///   O1  in half what the lists say; parameters and gradients stay f32
  ///   O2  in half everything but losses; norms compute in f32 with f32
  ///       parameters, and so do softmax and sums inside; f32 parameters
  ///   O3  as O2, and parameters, buffers and moments are half themselves
  std::string level = "O0";
  /// --amp-dtype=bf16|fp16
  std::string dtype = "bf16";
  /// --amp-preset=dlc|torch|tf|oneflow: whose lists and rules O1 follows.
  std::string preset = "dlc";
  /// --amp-allow=OP,..., --amp-deny, --amp-infer, --amp-clear: ops moved to
  /// that list, as dlc mnemonics or ONNX operators.
  std::vector<std::string> allow, deny, infer, clear;
  /// --amp-lists=FILE: more of them, by "allow", "deny", "infer" and "clear".
  std::string listsFile;
  std::map<std::string, std::vector<std::string>> fileLists;
  /// --amp-node=REGEX:f32|half: the type of the ONNX nodes that the expression
  /// is found in; the first that fits counts.
  std::vector<std::string> nodes;
  /// --explain-amp: a line for each node, why it has its type.
  bool explain = false;

  bool enabled() const { return level != "O0"; }
  /// Moves what the file says to the lists. Idempotent.
  void resolve();

  void addTo(OptionTable &table);
  /// After addTo: the row of --amp-lists, and checks of all lists' names, which
  /// may also be `onnxOperators`.
  void addLists(OptionTable &table, Words onnxOperators);
};

/// Loss scaling by GradScaler's algorithm (torch/amp/grad_scaler.py).
struct ScalerOptions {
  /// --loss-scale=auto|none|dynamic|VALUE. auto: dynamic under fp16 at levels
  /// O1 and O2, else none.
  std::string scale = "auto";
  /// init: the first dynamic scale.
  double init = 65536;
  /// growth: factor after `interval` finite steps in a row.
  double growthFactor = 2;
  /// backoff: factor after a step with an infinite gradient.
  double backoffFactor = 0.5;
  /// interval
  int64_t interval = 2000;
  /// min, max: the scale stays between them; 0: no
  /// bound, as in torch.
  double minScale = 0, maxScale = 0;
  /// hysteresis: overflows before the first backoff, counted anew
  /// when the scale grows (Megatron's rule); 1 is torch's.
  int64_t hysteresis = 1;
  /// --loss-scale-per-loss: each of several losses has a scale and a backward
  /// graph of its own, as with apex's loss_id. A step is skipped if any
  /// overflows, and only that one's scale backs off.
  bool perLoss = false;

  void addTo(OptionTable &table);
};

struct AccumulateOptions {
  /// --accumulate=N: micro-batches of one update, each of --batch rows; their
  /// gradients' mean counts.
  int64_t count = 1;

  void addTo(OptionTable &table);
};

struct AllReduceOptions {
  /// --ddp=N: ranks.
  int64_t world = 1;
  /// --bucket-mb: a bucket is full from this size on. 0: a sixteenth of all
  /// gradients, but at least 1 MiB and at most 25.
  int64_t bucketBytes = 0;
  /// --first-bucket-mb: the same for the first bucket, small so that the first
  /// all-reduce starts early; not more than the others'.
  int64_t firstBucketBytes = 1 << 20;
  /// --sync-bn: batch norm by the batches of all ranks together.
  bool syncBatchNorm = false;
  /// --compress=none|bf16|fp16|powersgd:RANK[:RATE]: what gradients are rounded
  /// to on their way; powersgd: matrices travel as factors of that rank, if
  /// that makes them RATE times smaller.
  std::string compress = "none";
  int64_t powerRank = 1;
  double powerRate = 2;
  /// --zero=0|1|2|3: from 1 each rank keeps a part of moments and averages,
  /// from 2 of gradients, from 3 of parameters.
  int64_t zero = 0;
  /// --zero-prefetch=N: buckets of parameters that are gathered ahead.
  int64_t zeroPrefetch = 1;
  /// --zero-whole-mb: parameters that are updated together and are less stay
  /// whole.
  int64_t zeroWholeBytes = 64 << 10;
  /// --sync-every=N: ranks step by themselves, and every N steps the mean of
  /// their movements is applied by --outer-optimizer; 0: gradients are reduced.
  int64_t syncEvery = 0;
  std::string outer = "sgd(lr=0.7,momentum=0.9,nesterov=true)";

  bool isLocal() const { return syncEvery > 0 && world > 1; }
  /// How many ranks a step has collectives with.
  int64_t partners() const { return isLocal() ? 1 : world; }
  /// A bucket is full from so many bytes on, of `all` that travel. What is left
  /// to send at the end is one: a small part of all, but no less than a message
  /// that pays for its start.
  int64_t bucketSize(int64_t all) const;
  /// Of --zero: one rank has nobody to share with.
  int64_t level() const { return world > 1 ? zero : 0; }
  bool syncs() const { return syncBatchNorm && world > 1; }
  /// Of the word that --compress takes.
  Status setCompress(const std::string &word);

  void addTo(OptionTable &table);
};

struct ClipOptions {
  /// --clip-value=X: each element is clamped to [-X, X], before the norm is
  /// taken; 0: no clamping.
  double maxValue = 0;
  /// --clip-grad=NORM: largest norm of all gradients together; 0: no clipping.
  double maxNorm = 0;
  /// --clip-param-grad=NORM: largest norm of each parameter's gradient, before
  /// the others are clipped; 0: no clipping.
  double maxParameterNorm = 0;
  /// --grad-norm: reports the norm without clipping by it.
  bool reportNorm = false;

  void addTo(OptionTable &table);
};

/// Numbers about each parameter and its gradient that a step reports.
struct StatisticsOptions {
  /// --stats
  bool enabled = false;

  void addTo(OptionTable &table);
};

/// Formulas, names and defaults are torch.optim's, those of rmsprop_tf, lamb,
/// lion and lars timm's, but lars's lr, momentum and vectors
/// (OptimizerNorms.cpp). What is unset gets the optimizer's default
/// (OptimizerRules.h).
struct OptimizerOptions {
  /// --optimizer=sgd|adam|adamw|radam|nadam|adafactor|lars|rmsprop|rmsprop_tf|
  /// adagrad|lamb|lion|muon. muon moves matrices; all else moves by adamw with
  /// its default betas and eps.
  std::string name = "sgd";
  /// --lr
  std::optional<double> lr;
  /// --weight-decay: decoupled for adamw, lion, muon and adafactor, else part
  /// of the gradient (of the update for lamb).
  std::optional<double> weightDecay;
  /// momentum, nesterov, dampening
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  double dampening = 0;
  /// betas=[A,B], eps, alpha
  std::optional<double> beta1, beta2, epsilon, alpha;
  /// Of nadam. momentum_decay: how fast the momentum grows to beta1;
  /// decoupled_weight_decay: as adamw's.
  std::optional<double> momentumDecay;
  bool decoupledDecay = false;
  /// Of adafactor. beta2_decay: exponent of 1 - beta2 = t^beta2_decay; eps2:
  /// least size of a parameter that counts; clip_threshold: greatest size of an
  /// update, torch's d. eps is torch's eps[0], by default that of f32.
  std::optional<double> beta2Decay, eps2, clipThreshold;
  /// Of lars. trust_coefficient
  std::optional<double> trustCoefficient;
  /// amsgrad: the denominator's second moment is the largest one so far.
  bool amsgrad = false;
  /// --lr-scale=REGEX:FACTOR and --weight-decay-scale=REGEX:FACTOR: factors for
  /// the parameters whose name the expression is found in; the first counts.
  std::vector<std::string> lrScale, weightDecayScale;
  /// --moments=f32|bf16|8bit: what moments are kept in between updates; f32 is
  /// the parameter's own type. The update computes in f32 and rounds what it
  /// keeps, so in bf16 a decay rate above 1 - 2^-9 may leave a moment where it
  /// is. 8bit: BlockMoments.h.
  std::string moments = "f32";
  /// --optimizer-group=REGEX:NAME[(KEY=VALUE,...)]: the optimizer of the
  /// parameters whose name the expression is found in; the first counts. Keys
  /// are flags of the optimizer: lr, weight-decay, momentum, nesterov,
  /// dampening, beta1, beta2, eps, alpha, amsgrad, ... What is not given is as
  /// for `name`, if that is the same optimizer, else the optimizer's default.
  /// The schedule scales every lr by the same factor.
  std::vector<std::string> groups;
  /// --no-decay=none|norm_bias. norm_bias: no weight decay for parameters of
  /// less than two dimensions and those named *.bias.
  std::string noDecay = "none";
  /// --sparse-embeddings=exact|lazy|off: where gradients and updates of
  /// embedding tables are those of the rows that a step looked up
  /// (RowGradients.cpp). exact: where other rows would not move; lazy: also
  /// where they would, as torch's SparseAdam; off: nowhere.
  std::string sparse = "exact";

  /// No option: the default of momentum under a schedule that cycles it.
  std::optional<double> cycledMomentum;

  /// Replaces what is unset by the default of `name`. Idempotent.
  void resolve();
  /// The optimizer, or the option, whose update of an element depends on other
  /// elements of the tensor or on its shape; empty: none.
  std::string wholeTensorRule() const;

  void addTo(OptionTable &table);
};

/// The learning rate as a function of t, the number of updates, or of whole
/// epochs, done before this update and after the warm-up; T is their number in
/// the whole training. Formulas and defaults: torch.optim.lr_scheduler.
struct ScheduleOptions {
  /// --schedule=constant|step|multistep|linear|cosine|polynomial|onecycle
  /// |exponential|inverse_sqrt|wsd|plateau
  std::string name = "constant";
  /// --schedule-per=update|epoch: what t counts, and what every length below is
  /// given in, except --steps.
  bool perEpoch = false;
  /// --warmup=N: lr (n + 1) / N for the first N, then the schedule.
  int64_t warmup = 0;
  /// --warmup-start-factor=F: instead lr (F + (1 - F) n / N), as torch's
  /// LinearLR before another schedule.
  std::optional<double> warmupStart;
  /// --steps=N: updates of the whole training; 0: `dlc train` sets it.
  int64_t totalSteps = 0;
  /// step(decay_steps, decay_rate) multiplies by the rate every so many,
  /// exponential(decay_rate) at each.
  int64_t decaySteps = 1000;
  double decayRate = 0.1;
  /// multistep(milestones=[A,B,...]) multiplies by decay_rate at each.
  std::vector<int64_t> milestones;
  /// linear(start_factor, end_factor) goes from one to the other.
  double startFactor = 1.0 / 3, endFactor = 1;
  /// inverse_sqrt(timescale=N): lr / sqrt(1 + t / N); 0: N is the warm-up's
  /// length, or 10,000 without one.
  int64_t timescale = 0;
  /// wsd(decay_steps=N, decay=cosine|linear|sqrt): lr, and in the last N steps
  /// down to min_lr; sqrt: by 1 - sqrt(x).
  std::string decay = "cosine";
  /// min_lr: where cosine, polynomial, wsd and plateau end.
  double minLr = 0;
  /// cosine(cycle_steps=N) starts again after N, then after N cycle_mult,
  /// ..., from lr cycle_decay^i in cycle i; 0: no restarts.
  int64_t cycleSteps = 0, cycleMult = 1;
  double cycleDecay = 1;
  /// polynomial(power)
  double power = 1;
  /// plateau(factor, patience, threshold, min_lr): torch's ReduceLROnPlateau
  /// with a relative threshold. `dlc train` counts the validations
  /// (runtime/train/run/Plateau.h).
  double plateauFactor = 0.1, plateauThreshold = 1e-4;
  int64_t plateauPatience = 10;
  /// onecycle(pct_start, div_factor, final_div_factor) rises to lr in
  /// that share of T from lr / div, and ends at lr / (div final_div).
  double pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4;
  /// onecycle(cycle_momentum, base_momentum, max_momentum)
  /// takes momentum, or beta1, from max to base and back as lr rises and falls.
  bool cycleMomentum = true;
  double baseMomentum = 0.85, maxMomentum = 0.95;

  void addTo(OptionTable &table);
};

/// Moving averages of parameters and running statistics: e = d e + (1 - d) new
/// after the n-th update. Until n = `start` they are copies.
struct EmaOptions {
  /// --ema
  bool enabled = false;
  /// --ema=auto|ultralytics|constant|timm|swa, with k = n - start:
  ///   ultralytics  d = decay (1 - exp(-k / tau))
  ///   constant     d = decay, with a ramp at most 0.5^(1 / (ramp (k - 1)))
  ///   timm         ModelEmaV3: a copy at k = 1, then d = decay; with `warmup`
  ///                1 - (1 + (k - 1) / gamma)^-power between minDecay and decay
  ///   swa          d = 1 - 1 / k, the plain average of what follows the start
  /// auto: constant if a decay or a half-life is given, else ultralytics.
  std::string kind = "auto";
  /// --ema=DECAY. Unset: 0.9999. --ema=DECAY,...: further sets of averages,
  /// named ema.2, ema.3, ...
  std::optional<double> decay;
  std::vector<double> others;
  /// halflife=SAMPLES: decay = 0.5^(samples of an update / half-life); 0:
  /// `decay`.
  double halflife = 0;
  /// ramp=R: the half-life is at most R times the samples seen before the
  /// update (EDM's training_loop.py, with 0.05); 0: no ramp.
  double ramp = 0;
  /// tau=UPDATES
  double tau = 2000;
  /// start=UPDATE
  int64_t start = 0;
  /// warmup, gamma, power, min_decay
  bool warmup = false;
  double gamma = 1, power = 2.0 / 3, minDecay = 0;
  /// buffers=average|copy|exclude: running statistics are averaged, taken
  /// over, or have no second value.
  std::string buffers = "average";
  /// device=device|cpu. device: in the step, by the kernel that updates
  /// the parameters. cpu: by the host, in a program of its own that runs beside
  /// the next step, with the same bits.
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
/// frozen, and each target's product W x becomes W x + alpha / rank B A x.
struct LoraOptions {
  /// --lora=RANK; 0: none.
  int64_t rank = 0;
  /// --lora-alpha
  double alpha = 8;
  /// --lora-targets=REGEX: weights of matrix products and convolutions; none:
  /// those of all matrix products.
  std::vector<std::string> targets;
  /// --lora-trained=REGEX: weights that stay trained; the compiler adds what
  /// --train names and a new head.
  std::vector<std::string> trained;

  void addTo(OptionTable &table);
};

struct StepOptions {
  /// --debug-overflow: every op is a kernel of its own, so that what overflows
  /// is named exactly.
  bool debugOverflow = false;
  TargetOptions target;
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

  /// Replaces "auto" and what is unset by what it stands for here. Idempotent.
  void resolve();

  void addTo(OptionTable &table);
};

} // namespace dlc
