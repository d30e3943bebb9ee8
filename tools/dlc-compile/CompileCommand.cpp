// SPDX-License-Identifier: Apache-2.0
// dlc compile: compiles an ONNX model to a training program.
#include "compiler/driver/Compiler.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Sizes.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"

#include <algorithm>
#include <filesystem>

namespace dlc::tool {
namespace {

struct CompileArguments : Settings {
  std::string emit;
  bool quiet = false;
};

void addOutputFlags(CLI::App &c, CompileArguments &a) {
  c.add_option("-o,--output", a.options.output,
               "the artifact (default: the model's name with .dlc)")
      ->type_name("FOLDER");
  c.add_option("--stop-after", a.options.stopAfter,
               "print the program after a phase: import, canonicalize, loss, "
               "autocast, autodiff, ..., plan")
      ->type_name("PHASE");
  c.add_option("--emit", a.emit,
               "print the program instead of writing an artifact: mlir")
      ->check(CLI::IsMember({"mlir"}));
  c.add_flag("--quiet", a.quiet, "no summary");
}

Status resolve(CompileArguments &a) {
  if (!a.emit.empty() && a.options.stopAfter.empty())
    a.options.stopAfter = "plan";
  if (!a.options.stopAfter.empty() && !a.options.output.empty() &&
      a.options.output != "-")
    return usageError("--output {}: --stop-after and --emit write no artifact, "
                      "they print the program: > {}",
                      a.options.output, a.options.output);
  if (a.options.output.empty())
    a.options.output =
        std::filesystem::path(a.options.model).stem().string() + ".dlc";
  return {};
}

/// "batch 16", or the composition of an update's batch.
std::string batchText(const plan::Plan &plan) {
  int64_t world = plan.world_size(), window = plan.accumulate();
  std::string text = fmt::format("batch {}", plan.batch());
  if (world > 1)
    text += " a rank";
  if (window > 1)
    text += fmt::format(" and micro-batch, {} of these an update", window);
  if (world * window > 1)
    text += fmt::format(", {} in all", plan.batch() * world * window);
  return text;
}

/// Warns if the device has no matrix products in the type of --amp.
void sayWhereAmpIsSlow(const plan::Plan &plan, const AmpOptions &amp) {
  if (!amp.enabled() || plan.target() != "cpu")
    return;
  if (amp.float8())
    info("--amp-dtype=fp8: a CPU has no products of 8-bit floats and "
         "multiplies their values in 16 bits, so that a step takes longer than "
         "with --amp-dtype=bf16");
  const auto &has = plan.cpu_features();
  const std::string half = amp.half();
  if (half == "bf16" && std::ranges::count(has, "avx512bw") > 0)
    return;
  info("--amp: {} computes {} products in f32, so that a step takes longer "
       "than without --amp",
       half == "bf16" ? "a CPU without AVX-512" : "a CPU", half);
}

void printSummary(const CompileArguments &a, const CompileResult &r) {
  const CompileOptions &o = a.options;
  info("options: {}", toLine(o));
  int64_t parameters = 0, commands = 0, kernels = 0;
  for (const auto &state : r.plan.states())
    if (state.trainable()) {
      int64_t n = 1;
      for (int64_t d : state.type().shape())
        n *= d;
      parameters += n;
    }
  for (const auto &program : r.plan.programs())
    if (program.name() == (o.predictOnly ? "predict" : "train_step"))
      for (const auto &command : program.commands()) {
        ++commands;
        kernels += command.kind() == "kernel";
      }
  info("{}: {} trainable parameters, {}, {} commands a step ({} "
       "generated kernels)",
       o.output, parameters, batchText(r.plan), commands, kernels);
  info("{}", a.target.summary(r.plan, o.train.target));
  sayWhereAmpIsSlow(r.plan, o.train.amp);
  if (r.plan.sizes_size() > 1)
    info("{} sizes, selected by the data: {}", r.plan.sizes_size(),
         plan::sizesText(r.plan));
  info("import {:.0f} ms, passes {:.0f} ms, kernels {:.0f} ms",
       r.importSeconds * 1e3, r.passSeconds * 1e3, r.kernelSeconds * 1e3);
}

Status compileCommand(CompileArguments &a) {
  DLC_TRY(resolve(a));
  if (a.quiet)
    setQuiet(true);
  DLC_ASSIGN(CompileResult result, compile(a.options));
  // Reports next to a printed program are comments.
  for (const auto &report :
       {result.importReport, result.castReport, result.placementReport})
    for (const std::string &line : report)
      printOut("{}{}\n", a.options.stopAfter.empty() ? "" : "// ", line);
  if (!a.options.stopAfter.empty())
    printOut("{}", result.program);
  else
    printSummary(a, result);
  return {};
}

} // namespace

void addCompile(CommandLine &line) {
  auto a = std::make_shared<CompileArguments>();
  CLI::App *c = line.app.add_subcommand(
      "compile", "turn an ONNX model into a training program");
  c->add_option("model", a->options.model, "the ONNX file")->required();
  addOutputFlags(*c, *a);
  a->flags.addFilesTo(*c);
  a->flags.addOverridesTo(*c);
  addFlagCommand(line, *c, a, compileCommand);
  line.shortHelps[c].flags = {
      "--output",     "--config",       "--target",       "--batch",
      "--dim",        "--loss",         "--optimizer",    "--lr",
      "--schedule",   "--warmup",       "--weight-decay", "--steps",
      "--accumulate", "--clip-grad",    "--amp",          "--amp-dtype",
      "--ema",        "--ddp",          "--zero",         "--weights",
      "--freeze",     "--replace-head", "--lora",         "--init",
      "--memory"};
  c->footer("Examples:\n"
            "  dlc compile lenet.onnx\n"
            "  dlc compile lenet.onnx --amp --ddp=2 --ema --optimizer=sgd "
            "--lr=0.05 --schedule=cosine -o lenet.dlc\n"
            "  dlc compile gpt.onnx --batch=8 --dim time=256 --optimizer=adamw "
            "--clip-grad=1\n"
            "  dlc compile gpt.onnx --batch=8,32 --dim time=128,256\n"
            "  dlc compile lenet.onnx --weights=base.safetensors "
            "--replace-head=5 --freeze='^c'\n"
            "  dlc compile gpt.onnx --lora=8 --lora-alpha=16 "
            "--lora-targets='qkv|proj'\n"
            "  dlc compile lenet.onnx --init=kaiming_normal "
            "--init='f3:zeros' --seed=1\n"
            "  dlc compile lenet.onnx --config=exp.yaml train.lr=0.1\n"
            "  dlc compile lenet.onnx --stop-after=autodiff --emit=mlir");
}

} // namespace dlc::tool
