// dlc eval and dlc predict: use a model that is trained.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/Rows.h"

#include "runtime/base/Json.h"
#include "runtime/base/process/Log.h"
#include "runtime/train/metrics/Judge.h"
#include "runtime/train/session/Inputs.h"

namespace dlc::tool {
namespace {

struct EvalArguments {
  EvalArguments();

  std::string model, data, output;
  SampleOptions samples;
  std::optional<int64_t> threads;
  int averages = 0;
  bool json = false;
  Words metrics;
  OptionTable table;
  OptionFlags flags{table, onlySection("eval")};
};

// What both commands take.
EvalArguments::EvalArguments() {
  table.group("Options");
  addModel(table, "eval.model", model);
  table.text("eval.data", data, "PATH",
             "samples: .npz, .npy with x only, .safetensors, .csv, .parquet, a "
             "folder of "
             "pictures, .tar, .bin or .txt; several by commas");
  addAverages(table, "eval.ema", averages);
  table.group("Samples (a run's: as in its training, where nothing is given)");
  samples.addTo(table, "eval");
  table.group("Options");
  addThreads(table, "eval.threads", threads, "default: all cores");
}

// The model, ready, and the samples for one of its programs.
struct Loaded {
  std::unique_ptr<Session> session;
  SizedData data;
  Judge::Sources sources;
  SampleOptions options;
};

Result<Loaded> load(const EvalArguments &arguments, const char *program) {
  const int threads = static_cast<int>(arguments.threads.value_or(0));
  DLC_ASSIGN(Model model, openModel(arguments.model));
  DLC_ASSIGN(const SampleOptions options,
             sampleOptions(model, arguments.table, arguments.flags.given()));
  DLC_ASSIGN(auto sources, openSources(arguments.data, options));
  DLC_ASSIGN(SizedData data,
             openDatasets(sources, model.artifact.plan(), program, options));
  DLC_ASSIGN(auto session, Session::create(std::move(model),
                                           {.threads = threads,
                                            .averages = arguments.averages}));
  return Loaded{std::move(session), std::move(data), std::move(sources),
                options};
}

void print(const ClassTable &table) {
  printOut("{:>8}", "class");
  for (const std::string &column : table.columns)
    printOut(" {:>11}", column);
  printOut("\n");
  for (size_t c = 0; c < table.rows.size(); ++c) {
    printOut("{:>8}", c);
    for (size_t i = 0; i + 1 < table.columns.size(); ++i)
      printOut(" {:>11.4f}", table.rows[c][i]);
    printOut(" {:>11}\n", table.rows[c].back());
  }
}

// A matrix that no terminal shows is left to --json.
void print(const std::vector<std::vector<int64_t>> &confusion) {
  constexpr size_t kWidest = 30;
  if (confusion.size() > kWidest)
    return info("a confusion matrix of {} classes: see it by --json",
                confusion.size());
  printOut("{:>8}", "is\\found");
  for (size_t c = 0; c < confusion.size(); ++c)
    printOut(" {:>6}", c);
  printOut("\n");
  for (size_t c = 0; c < confusion.size(); ++c) {
    printOut("{:>8}", c);
    for (int64_t count : confusion[c])
      printOut(" {:>6}", count);
    printOut("\n");
  }
}

void printAsJson(const EvalResult &result, const Judgement &judged) {
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
  if (judged.isBinned)
    object["binned"] = true;
  printJson(object);
}

Result<Judgement> judge(const Loaded &loaded, const Words &metrics) {
  if (metrics.empty())
    return Judgement();
  auto made =
      Judge::create(*loaded.session, metrics, loaded.sources, loaded.options);
  if (!made)
    return made.status().withContext("--metrics");
  return made->judge();
}

Status evaluate(const EvalArguments &arguments) {
  DLC_ASSIGN(Loaded loaded, load(arguments, "eval_step"));
  DLC_ASSIGN(EvalResult result, loaded.session->evaluate(loaded.data.sets));
  DLC_ASSIGN(const Judgement judged, judge(loaded, arguments.metrics));
  if (arguments.json) {
    printAsJson(result, judged);
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
    print(judged.classes);
  if (!judged.confusion.empty())
    print(judged.confusion);
  if (judged.isBinned)
    info("areas under curves are of {} bins: more than {} scores", Tally::kBins,
         Tally::kMostScores);
  return {};
}

Status predict(const EvalArguments &arguments) {
  DLC_ASSIGN(Loaded loaded, load(arguments, "predict"));
  if (loaded.data.sets.size() > 1)
    return usageError("--data has samples of {} lengths: predict for each by "
                      "itself",
                      loaded.data.sets.size());
  DLC_ASSIGN(auto outputs, loaded.session->predict(loaded.data.sets[0]));
  std::vector<NamedArray> arrays;
  for (const Session::Output &output : outputs)
    arrays.push_back({outputs.size() == 1 ? "y" : output.name, output.dtype,
                      output.shape, output.bytes});
  DLC_TRY(writeNpz(arguments.output, arrays));
  for (const NamedArray &array : arrays)
    info("{}: {} {}", arguments.output, array.key,
         describe(array.dtype, array.shape));
  return {};
}

} // namespace

Result<SampleOptions> sampleOptions(const Model &model,
                                    const OptionTable &table,
                                    const OptionTable::Given &given) {
  DLC_ASSIGN(SampleOptions options, samplesOf(model));
  OptionTable own;
  options.addTo(own, "eval");
  for (const Option &option : own.all())
    if (isGiven(given, option.key))
      DLC_TRY(own.set(option, table.find(option.key)->get().value_or(Words()),
                      option.flag));
  DLC_TRY(own.check({}));
  return options;
}

namespace {

// A command that does `run` with its flags and those `required`.
void addCommand(CommandLine &line, CLI::App &command,
                std::shared_ptr<EvalArguments> arguments,
                std::initializer_list<const char *> required,
                Status (*run)(const EvalArguments &)) {
  arguments->flags.addTo(command);
  for (const char *name : required)
    command.get_option(name)->required();
  command.callback([&line, arguments, run] {
    line.chosen = [arguments, run] {
      const Status applied = arguments->flags.apply();
      return report(applied.ok() ? run(*arguments) : applied);
    };
  });
}

} // namespace

void addEval(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("eval", "loss and metrics on samples");
  auto arguments = std::make_shared<EvalArguments>();
  arguments->table.toggle("eval.json", arguments->json, "one object on stdout");
  addMetrics(arguments->table, "eval.metrics", arguments->metrics);
  arguments->table.require([arguments = arguments.get()](auto &) {
    return parseMetrics(arguments->metrics).status().withContext("--metrics");
  });
  command->footer("Example:\n  dlc eval runs/lenet-1 --data=test.npz --ema\n"
                  "  dlc eval runs/lenet-1/best --data=test.npz "
                  "--metrics=top5,f1,confusion");
  addCommand(line, *command, arguments, {"model", "--data"}, evaluate);
}

void addPredict(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("predict", "outputs of the model for samples");
  auto arguments = std::make_shared<EvalArguments>();
  addOutput(arguments->table, "eval.output", arguments->output,
            ".npz for the outputs: y, or by name if there are several");
  command->footer("Example:\n  dlc predict runs/lenet-1 --data=x.npz -o y.npz");
  addCommand(line, *command, arguments, {"model", "--data", "--output"},
             predict);
}

} // namespace dlc::tool
