// Everything that is added to a graph to train it, as plain values. The command
// line, the YAML file and the options of the passes are views of these fields;
// each comment names the field's flag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

struct LossOptions {
  /// --loss=auto|cross_entropy|mse|bce. auto: the loss in the graph, else
  /// cross_entropy.
  std::string kind = "auto";
  /// --bn-variance=unbiased|population: running variance as frameworks keep it,
  /// or as the ONNX text says.
  bool bnVariancePopulation = false;
};

/// Automatic mixed precision: matrix products and what lies between them
/// compute in half.
struct AmpOptions {
  /// --amp
  bool enabled = false;
  /// --amp-dtype=bf16|fp16
  std::string dtype = "bf16";
  /// --amp-allow=OP,... and --amp-deny=OP,...: ops moved to that list, as dlc
  /// mnemonics or ONNX operator names.
  std::vector<std::string> allow, deny;
};

/// Loss scaling by GradScaler's algorithm (torch/amp/grad_scaler.py).
struct ScalerOptions {
  /// --loss-scale=auto|none|dynamic|VALUE. auto: dynamic under fp16, else none.
  std::string scale = "auto";
  /// --loss-scale-init: the first dynamic scale.
  double init = 65536;
  /// --loss-scale-growth: factor after `interval` finite steps in a row.
  double growthFactor = 2;
  /// --loss-scale-backoff: factor after a step with an infinite gradient.
  double backoffFactor = 0.5;
  /// --loss-scale-interval
  int64_t interval = 2000;
};

struct AllReduceOptions {
  /// --ddp=N: ranks.
  int64_t world = 1;
  /// --bucket-bytes: a bucket is full from this size on.
  int64_t bucketBytes = 25 << 20;
  /// --first-bucket-bytes: the same for the first bucket, small so that the
  /// first all-reduce starts early.
  int64_t firstBucketBytes = 1 << 20;
};

struct ClipOptions {
  /// --clip-grad=NORM: largest norm of all gradients together; 0: no clipping.
  double maxNorm = 0;
};

/// Names and defaults are torch.optim's, except that SGD has momentum 0.9.
struct OptimizerOptions {
  /// --optimizer=sgd|adamw
  std::string name = "sgd";
  /// --lr. Unset: 0.01 for sgd, 0.001 for adamw.
  std::optional<double> lr;
  /// --weight-decay. Unset: 0 for sgd, 0.01 for adamw.
  std::optional<double> weightDecay;
  /// --momentum, --nesterov: sgd.
  double momentum = 0.9;
  bool nesterov = false;
  /// --betas=A,B and --eps: adamw.
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

/// The learning rate as a function of t, the number of updates done before this
/// one.
struct ScheduleOptions {
  /// --schedule=constant|step|cosine
  std::string name = "constant";
  /// --warmup=STEPS: lr (t + 1) / warmup while t < warmup; the schedule starts
  /// after them.
  int64_t warmup = 0;
  /// --steps=N: updates of the whole training, which a cosine spans; 0: `dlc
  /// train` sets it.
  int64_t totalSteps = 0;
  /// --decay-steps, --decay-rate: step multiplies by the rate every so many
  /// updates.
  int64_t decaySteps = 1000;
  double decayRate = 0.1;
  /// --min-lr: where cosine ends.
  double minLr = 0;
};

/// Exponential moving average of parameters and running statistics.
struct EmaOptions {
  /// --ema
  bool enabled = false;
  /// --ema=DECAY
  double decay = 0.9999;
  /// --ema-tau=UPDATES: decay (1 - exp(-n / tau)) at the n-th update; 0:
  /// constant, as with --ema=DECAY.
  double tau = 2000;
};

struct StepOptions {
  LossOptions loss;
  AmpOptions amp;
  ScalerOptions scaler;
  AllReduceOptions allReduce;
  ClipOptions clip;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  EmaOptions ema;

  /// Replaces "auto" and what is unset by what it stands for here. Idempotent.
  void resolve();
};

} // namespace dlc
