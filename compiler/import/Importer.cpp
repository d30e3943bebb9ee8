// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Importer.h"
#include "compiler/import/Support.h"
#include "compiler/import/Translate.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

/// Applies repairs and options, so that rows can translate the file.
static Status prepare(Graph &graph, const ImportOptions &options,
                      const CustomOps &custom) {
  OnnxFile &file = graph.file;
  DLC_TRY(repair(graph, Stage::Source, options));
  const bool isOpen = options.batch || !options.trains;
  for (std::string warning :
       {options.renewNorms ? "" : fusedBatchNorm(file),
        isOpen ? "" : batchOfOne(file), lostNotes(file), lostUpdates(file),
        lostStatistics(file), lostDivisors(file), ownTraining(file)})
    if (!warning.empty())
      file.remarks.push_back({std::move(warning), true});
  if (options.trains && !options.trainQuantized)
    if (std::string remark = quantizedWeights(file); !remark.empty())
      file.remarks.push_back({std::move(remark)});
  DLC_TRY(repair(graph, Stage::Options, options));
  if (options.trains)
    for (std::string warning : {lostAverages(file), lostBackwards(file)})
      if (!warning.empty())
        file.remarks.push_back({std::move(warning), true});
  DLC_ASSIGN(graph.roles,
             decideRoles(file, options.roles, options.paddings, graph.head));
  dropDeadNodes(file); // dead nodes may use any operator
  const HostEvaluator evaluator(file.budget);
  DLC_TRY(checkSupport(file, [&](const std::string &op) {
    return evaluator.knows(op) || custom.find(op);
  }));
  return repair(graph, Stage::Form, options);
}

static void say(const std::vector<Remark> &remarks, Location at) {
  for (const Remark &remark : remarks)
    if (remark.warn)
      emitWarning(at) << remark.text;
    else
      emitRemark(at) << remark.text;
}

Result<ImportedModel> importOnnx(MLIRContext &context, const std::string &path,
                                 const ImportOptions &options) {
  context.loadDialect<ir::DlcDialect, func::FuncDialect>();
  auto fail = [](Location at, const Status &status) {
    emitError(at, status.message());
    return Status(status.code(), "");
  };
  auto custom = CustomOps::load(options.opLibraries, options.device);
  if (!custom.ok())
    return fail(UnknownLoc::get(&context), custom.status());
  auto file = loadOnnx(path, Budget(size_t(options.budget)));
  if (!file.ok())
    return fail(UnknownLoc::get(&context), file.status());

  Location at = NameLoc::get(StringAttr::get(&context, path));
  Graph graph(std::move(*file), &context);
  Status prepared = prepare(graph, options, *custom);
  say(graph.file.remarks, at);
  if (!prepared.ok())
    return fail(at, prepared);
  DLC_ASSIGN(auto module, translate(graph, *custom));
  std::vector<Replaced> replaced = giveBack(graph.file);
  return ImportedModel{.module = std::move(module),
                       .weights = std::move(graph.file.weights),
                       .source = std::move(graph.file.model),
                       .batch = graph.inputs.batch,
                       .head = std::move(graph.head),
                       .opLibraries = custom->used(),
                       .repairs = std::move(graph.runs),
                       .decisions = std::move(graph.file.decisions),
                       .roles = std::move(graph.roles),
                       .replaced = std::move(replaced)};
}

} // namespace dlc::import
