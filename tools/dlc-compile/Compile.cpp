// dlc compile: an ONNX model becomes a training program.
#include "compiler/driver/Compiler.h"
#include "runtime/base/Files.h"
#include "runtime/base/Log.h"
#include "tools/dlc-compile/Commands.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <regex>

namespace dlc::tool {
namespace {

struct Arguments {
  CompileOptions options;
  std::vector<std::string> dims, betas, train, freeze;
  std::string bnVariance = "unbiased", ema, emit, bucketMb;
  bool amp = false, quiet = false;
};

CLI::Validator oneOf(std::vector<std::string> names) {
  return CLI::Validator(
      [names](std::string &text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end())
          return "";
        std::string guess = nearest(text, names);
        return fmt::format(
            "'{}' is not one of {}{}", text, fmt::join(names, ", "),
            guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess));
      },
      fmt::format("{{{}}}", fmt::join(names, ",")));
}

/// A whole number of at least `low`.
CLI::Validator count(int64_t low) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        int64_t n = 0;
        auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), n);
        if (error == std::errc() && end == text.data() + text.size() &&
            n >= low)
          return "";
        return fmt::format("expected a whole number of at least {}, found '{}'",
                           low, text);
      },
      "N");
}

constexpr double kTiny = std::numeric_limits<double>::min();

/// A finite number in [low, high]; CLI11's own checks let a NaN through.
CLI::Validator number(double low, double high = 1e300) {
  std::string range = high < 1e300   ? fmt::format("from {} to {}", low, high)
                      : low == kTiny ? "above 0"
                                     : fmt::format("of at least {}", low);
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        char *end = nullptr;
        double x = std::strtod(text.c_str(), &end);
        if (text.empty() || *end || !(x >= low && x <= high))
          return fmt::format("expected a number {}, found '{}'", range, text);
        return "";
      },
      "NUMBER");
}

void addModelFlags(CLI::App &c, Arguments &a) {
  c.add_option("model", a.options.model, "the ONNX file")->required();
  c.add_option("-o,--output", a.options.output,
               "the artifact (default: the model's name with .dlc)")
      ->type_name("FOLDER");
  c.add_option("--batch", a.options.batch, "rows of one rank's step")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30))
      ->capture_default_str();
  c.add_option("--dim", a.dims, "binds a symbolic dimension of the model")
      ->type_name("NAME=N");
  c.add_option("--train", a.train, "trains these initializers too")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  c.add_option("--freeze", a.freeze, "does not train these")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  c.add_option("--cpu", a.options.cpu,
               "the CPU to compile for; native is this one")
      ->capture_default_str();
}

void addTrainFlags(CLI::App &c, Arguments &a) {
  StepOptions &t = a.options.train;
  c.add_option("--loss", t.loss.kind,
               "loss; auto takes the graph's own, else cross_entropy")
      ->check(oneOf({"auto", "cross_entropy", "mse", "bce"}))
      ->capture_default_str();
  c.add_option("--bn-variance", a.bnVariance,
               "running variance as frameworks or as the ONNX text keeps it")
      ->check(oneOf({"unbiased", "population"}))
      ->capture_default_str();
  OptimizerOptions &o = t.optimizer;
  c.add_option("--optimizer", o.name)
      ->check(oneOf(optimizerNames()))
      ->capture_default_str();
  c.add_option("--lr", o.lr,
               "learning rate; this and what follows: the optimizer's default "
               "in PyTorch or timm")
      ->check(number(0));
  c.add_option("--momentum", o.momentum)->check(number(0, 1));
  c.add_flag_callback(
      "--nesterov", [&o] { o.nesterov = true; }, "Nesterov's momentum");
  c.add_option("--dampening", o.dampening, "of the momentum")
      ->check(number(0, 1));
  c.add_option("--weight-decay", o.weightDecay)->check(number(0));
  c.add_option("--betas", a.betas, "decay rates of both moments")
      ->delimiter(',')
      ->expected(2)
      ->type_name("A,B");
  c.add_option("--eps", o.epsilon)->check(number(kTiny));
  c.add_option("--alpha", o.alpha, "decay rate of the squares")
      ->check(number(0, 1));
  c.add_flag("--amsgrad", o.amsgrad, "divide by the largest second moment");
  c.add_option("--lr-scale", o.lrScale, "factor of lr by name")
      ->type_name("REGEX:FACTOR")
      ->allow_extra_args(false);
  c.add_option("--weight-decay-scale", o.weightDecayScale,
               "factor of the weight decay by name")
      ->type_name("REGEX:FACTOR")
      ->allow_extra_args(false);
  c.add_option("--no-decay", o.noDecay, "what has no weight decay")
      ->check(oneOf({"none", "norm_bias"}))
      ->capture_default_str();
  c.add_option("--schedule", t.schedule.name, "of the learning rate")
      ->check(oneOf({"constant", "step", "cosine"}))
      ->capture_default_str();
  c.add_option("--warmup", t.schedule.warmup, "steps of linear warm-up")
      ->check(count(0));
  c.add_option("--steps", t.schedule.totalSteps,
               "length of the schedule (default: set by dlc train)")
      ->check(count(0));
  c.add_option("--decay-steps", t.schedule.decaySteps,
               "step: updates between decays")
      ->check(count(1))
      ->capture_default_str();
  c.add_option("--decay-rate", t.schedule.decayRate, "step: factor of a decay")
      ->check(number(0))
      ->capture_default_str();
  c.add_option("--min-lr", t.schedule.minLr, "cosine: where it ends")
      ->check(number(0));
  c.add_option("--clip-grad", t.clip.maxNorm,
               "bounds the gradients' common norm")
      ->check(number(0));
  c.add_option("--ema", a.ema,
               "averages the weights; alone: decay 0.9999 with a ramp")
      ->expected(0, 1)
      ->type_name("[DECAY]");
}

void addPrecisionFlags(CLI::App &c, Arguments &a) {
  StepOptions &t = a.options.train;
  c.add_flag("--amp", a.amp,
             "matrix products in half precision, weights and gradients in f32");
  c.add_option("--amp-dtype", t.amp.dtype)
      ->check(oneOf({"bf16", "fp16"}))
      ->capture_default_str();
  c.add_option("--amp-allow", t.amp.allow, "ops that run in half")
      ->delimiter(',')
      ->type_name("OP,...");
  c.add_option("--amp-deny", t.amp.deny, "ops that stay f32")
      ->delimiter(',')
      ->type_name("OP,...");
  c.add_option("--loss-scale", t.scaler.scale,
               "auto, none, dynamic or a number")
      ->capture_default_str();
  c.add_option("--loss-scale-init", t.scaler.init)
      ->check(number(kTiny))
      ->capture_default_str();
  c.add_option("--loss-scale-interval", t.scaler.interval)
      ->check(count(1))
      ->capture_default_str();
  c.add_option("--ddp", t.allReduce.world, "ranks that train together")
      ->check(CLI::Range(int64_t(1), int64_t(65536)))
      ->capture_default_str();
  c.add_option("--bucket-mb", a.bucketMb,
               "size of an all-reduce bucket (default: 25; the first one 1)")
      ->check(number(kTiny));
}

void addOutputFlags(CLI::App &c, Arguments &a) {
  c.add_option("--stop-after", a.options.stopAfter,
               "print the program after a phase: import, canonicalize, loss, "
               "autocast, autodiff, ..., plan")
      ->type_name("PHASE");
  c.add_option("--emit", a.emit,
               "print the program instead of writing an artifact: mlir")
      ->check(oneOf({"mlir"}));
  c.add_flag("--quiet", a.quiet, "no summary");
}

Status parseDims(Arguments &a) {
  for (const std::string &text : a.dims) {
    size_t split = text.find('=');
    char *end = nullptr;
    long long n = split == std::string::npos
                      ? 0
                      : std::strtoll(text.c_str() + split + 1, &end, 10);
    if (n <= 0 || *end)
      return usageError(
          "--dim: expected NAME=N with N of 1 or more, found '{}'", text);
    a.options.import.dims[text.substr(0, split)] = n;
  }
  return {};
}

Status checkPatterns(const char *flag, const std::vector<std::string> &texts) {
  for (const std::string &text : texts)
    try {
      std::regex compiled(text);
    } catch (const std::regex_error &) {
      return usageError("{}: '{}' is not a regular expression", flag, text);
    }
  return {};
}

/// Flags that only one kind of schedule reads.
Status checkSchedule(const CLI::App &c, const ScheduleOptions &o) {
  auto only = [&](const char *flag, const char *schedule) {
    return c.count(flag) && o.name != schedule
               ? usageError("{} needs --schedule={}", flag, schedule)
               : Status();
  };
  DLC_TRY(only("--decay-steps", "step"));
  DLC_TRY(only("--decay-rate", "step"));
  DLC_TRY(only("--min-lr", "cosine"));
  if (o.totalSteps && o.warmup >= o.totalSteps)
    return usageError("--warmup={} leaves none of --steps={}", o.warmup,
                      o.totalSteps);
  return {};
}

Result<double> parseNumber(const std::string &flag, const std::string &text,
                           double low, double high) {
  char *end = nullptr;
  double x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(x >= low && x < high))
    return usageError("{}: expected a number in [{}, {}), found '{}'", flag,
                      low, high, text);
  return x;
}

/// What the flags say beyond a plain field.
Status resolve(CLI::App &c, Arguments &a) {
  DLC_TRY(parseDims(a));
  DLC_TRY(checkPatterns("--train", a.train));
  DLC_TRY(checkPatterns("--freeze", a.freeze));
  DLC_TRY(checkSchedule(c, a.options.train.schedule));
  StepOptions &t = a.options.train;
  if (!a.betas.empty()) {
    DLC_ASSIGN(t.optimizer.beta1, parseNumber("--betas", a.betas[0], 0, 1));
    DLC_ASSIGN(t.optimizer.beta2, parseNumber("--betas", a.betas[1], 0, 1));
  }
  t.ema.enabled = c.count("--ema") > 0;
  if (!a.ema.empty()) {
    DLC_ASSIGN(t.ema.decay, parseNumber("--ema", a.ema, 0, 1));
    t.ema.tau = 0;
  }
  if (!a.bucketMb.empty()) {
    t.allReduce.bucketBytes = int64_t(std::stod(a.bucketMb) * (1 << 20));
    t.allReduce.firstBucketBytes =
        std::min(t.allReduce.firstBucketBytes, t.allReduce.bucketBytes);
  }
  const std::string &scale = t.scaler.scale;
  if (scale != "auto" && scale != "none" && scale != "dynamic")
    if (auto value = parseNumber("--loss-scale", scale, 1e-30, 1e30); !value)
      return usageError(
          "--loss-scale: expected auto, none, dynamic or a number, found '{}'",
          scale);
  t.loss.bnVariancePopulation = a.bnVariance == "population";
  t.amp.enabled = a.amp;
  if (!a.amp && !(t.amp.allow.empty() && t.amp.deny.empty()))
    return usageError("--amp-allow and --amp-deny need --amp");
  if (!a.emit.empty() && a.options.stopAfter.empty())
    a.options.stopAfter = "plan";
  a.options.import.roles.train = a.train;
  a.options.import.roles.freeze = a.freeze;
  if (t.optimizer.nesterov && t.optimizer.momentum == 0.0)
    return usageError("--nesterov needs a --momentum above 0");
  for (const char *flag : {"momentum", "nesterov", "dampening", "betas", "eps",
                           "alpha", "amsgrad"})
    if (c.count(std::string("--") + flag) &&
        !optimizerReads(t.optimizer.name, flag))
      return usageError("--{} needs --optimizer=...; {} does not read it", flag,
                        t.optimizer.name);
  if (a.options.output.empty())
    a.options.output =
        std::filesystem::path(a.options.model).stem().string() + ".dlc";
  return {};
}

/// Every setting, so that no default is silent.
void printSettings(const CompileOptions &o) {
  std::string yaml = toYaml(o), line;
  for (char &ch : yaml)
    if (ch == '\n')
      ch = ',';
  std::string text = yaml.substr(0, yaml.size() - 1);
  for (size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2)
    if (at + 1 < text.size() && text[at + 1] != ' ')
      text.insert(at + 1, " ");
  info("options: {}", text);
}

void printSummary(const CompileOptions &o, const CompileResult &r) {
  int64_t parameters = 0, commands = 0, kernels = 0;
  for (const auto &state : r.plan.states())
    if (state.trainable()) {
      int64_t n = 1;
      for (int64_t d : state.type().shape())
        n *= d;
      parameters += n;
    }
  for (const auto &program : r.plan.programs())
    if (program.name() == "train_step")
      for (const auto &command : program.commands()) {
        ++commands;
        kernels += command.kind() == "kernel";
      }
  int64_t world = r.plan.world_size();
  info("{}: {} trainable parameters, batch {}{}, {} commands a step ({} "
       "generated kernels)",
       o.output, parameters, r.plan.batch(),
       world > 1 ? fmt::format(" a rank, {} in all", r.plan.batch() * world)
                 : "",
       commands, kernels);
  info("import {:.0f} ms, passes {:.0f} ms, kernels {:.0f} ms",
       r.importSeconds * 1e3, r.passSeconds * 1e3, r.kernelSeconds * 1e3);
}

Status compileCommand(CLI::App &c, Arguments &a) {
  DLC_TRY(resolve(c, a));
  if (a.quiet)
    setQuiet(true);
  if (a.options.stopAfter.empty())
    printSettings(a.options);
  DLC_ASSIGN(CompileResult result, compile(a.options));
  if (!a.options.stopAfter.empty())
    fmt::print("{}", result.program);
  else
    printSummary(a.options, result);
  return {};
}

} // namespace

void addCompile(CommandLine &line) {
  auto a = std::make_shared<Arguments>();
  CLI::App *c = line.app.add_subcommand(
      "compile", "turn an ONNX model into a training program");
  addModelFlags(*c, *a);
  addTrainFlags(*c, *a);
  addPrecisionFlags(*c, *a);
  addOutputFlags(*c, *a);
  c->footer("Examples:\n"
            "  dlc compile lenet.onnx\n"
            "  dlc compile lenet.onnx --amp --ddp=2 --ema --optimizer=sgd "
            "--lr=0.05 --schedule=cosine -o lenet.dlc\n"
            "  dlc compile gpt.onnx --batch=8 --dim time=256 --optimizer=adamw "
            "--clip-grad=1\n"
            "  dlc compile lenet.onnx --stop-after=autodiff --emit=mlir");
  c->callback([&line, c, a] {
    line.chosen = [c, a] { return report(compileCommand(*c, *a)); };
  });
}

} // namespace dlc::tool
