// SPDX-License-Identifier: Apache-2.0
// dlc eval: evaluates a trained model.
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/predict/PredictSamples.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/metrics/Metrics.h"

namespace dlc::tool {
namespace {

struct EvalArguments : SampleArguments {
  bool json = false;
  Words metrics;
};

// Name of class `c`, or its number if there are fewer names.
std::string nameOf(const Words &classes, size_t c) {
  return c < classes.size() ? classes[c] : std::to_string(c);
}

// Width of a column with the first `count` class names and its title.
size_t widthOf(const Words &classes, size_t count, size_t least) {
  for (size_t c = 0; c < std::min(count, classes.size()); ++c)
    least = std::max(least, classes[c].size());
  return least;
}

void print(const ClassTable &table, const Words &classes) {
  const size_t width = widthOf(classes, table.rows.size(), 8);
  printOut("{:>{}}", "class", width);
  for (const std::string &column : table.columns)
    printOut(" {:>11}", column);
  printOut("\n");
  for (size_t c = 0; c < table.rows.size(); ++c) {
    printOut("{:>{}}", nameOf(classes, c), width);
    for (size_t i = 0; i + 1 < table.columns.size(); ++i)
      printOut(" {:>11.4f}", table.rows[c][i]);
    printOut(" {:>11}\n", table.rows[c].back());
  }
}

// Matrices too wide for a terminal are only printed by --json.
void print(const std::vector<std::vector<int64_t>> &confusion,
           const Words &classes) {
  constexpr size_t kWidest = 30;
  if (confusion.size() > kWidest)
    return info("the confusion matrix of {} classes is printed by --json only",
                confusion.size());
  const size_t first = widthOf(classes, confusion.size(), 8);
  const size_t width = widthOf(classes, confusion.size(), 6);
  printOut("{:>{}}", "is\\found", first);
  for (size_t c = 0; c < confusion.size(); ++c)
    printOut(" {:>{}}", nameOf(classes, c), width);
  printOut("\n");
  for (size_t c = 0; c < confusion.size(); ++c) {
    printOut("{:>{}}", nameOf(classes, c), first);
    for (int64_t count : confusion[c])
      printOut(" {:>{}}", count, width);
    printOut("\n");
  }
}

void printAsJson(const EvalResult &result, const Judgement &judged,
                 const Words &classes) {
  nlohmann::ordered_json object = {{"loss", result.loss}};
  if (result.accuracy)
    object["accuracy"] = *result.accuracy;
  for (const auto &[name, value] : judged.values)
    object[name] = value;
  object["samples"] = result.samples;
  for (size_t i = 0; i < judged.classes.columns.size(); ++i)
    for (const auto &row : judged.classes.rows)
      object["classes"][judged.classes.columns[i]].push_back(row[i]);
  if (!judged.confusion.empty())
    object["confusion"] = judged.confusion;
  if (!classes.empty())
    object["class_names"] = classes;
  if (judged.isBinned)
    object["binned"] = true;
  printJson(object);
}

Result<Judgement> judge(const LoadedSamples &loaded, const Words &metrics) {
  if (metrics.empty())
    return Judgement();
  DLC_ASSIGN(auto judge, Judge::create(*loaded.session, metrics, loaded.sources,
                                       loaded.options)
                             .withContext("--metrics"));
  return judge.judge();
}

Status evaluate(const EvalArguments &arguments) {
  DLC_ASSIGN(LoadedSamples loaded, loadSamples(arguments, "eval_step"));
  DLC_ASSIGN(EvalResult result, loaded.session->evaluate(loaded.data.sets));
  DLC_ASSIGN(const Judgement judged, judge(loaded, arguments.metrics));
  const Words &classes = loaded.options.classes;
  if (arguments.json) {
    printAsJson(result, judged, classes);
    return {};
  }
  printOut("loss {:.6g}", result.loss);
  if (result.accuracy)
    printOut("  accuracy {:.2f} %", 100 * *result.accuracy);
  for (const auto &[name, value] : judged.values)
    if (name != "accuracy" || !result.accuracy)
      printOut("  {} {:.6g}", name, value);
  printOut("  ({} samples)\n", result.samples);
  if (!judged.classes.rows.empty())
    print(judged.classes, classes);
  if (!judged.confusion.empty())
    print(judged.confusion, classes);
  if (judged.isBinned)
    info("areas under curves are computed with {} bins: more than {} scores",
         Tally::kBins, Tally::kMostScores);
  return {};
}

} // namespace

void addEval(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("eval", "compute loss and metrics on samples");
  auto arguments = std::make_shared<EvalArguments>();
  arguments->table.toggle("eval.json", arguments->json,
                          "JSON object on stdout");
  addMetrics(arguments->table, "eval.metrics", arguments->metrics);
  arguments->table.require([arguments = arguments.get()](auto &) {
    return parseMetrics(arguments->metrics).status().withContext("--metrics");
  });
  command->footer("Example:\n  dlc eval runs/lenet-1 --data=test.npz --ema\n"
                  "  dlc eval runs/lenet-1/best --data=test.npz "
                  "--metrics=top5,f1,confusion");
  addFlagCommand(line, *command, arguments, evaluate, {"model", "--data"});
}

} // namespace dlc::tool
