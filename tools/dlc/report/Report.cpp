// SPDX-License-Identifier: Apache-2.0
// dlc report: writes a self-contained HTML page about runs.
#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/graph/ProgramGraph.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Metrics.h"
#include "runtime/train/metrics/Ranking.h"
#include "runtime/train/session/Inputs.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/graph/Drawing.h"
#include "tools/dlc/inspect/ShownSamples.h"
#include "tools/dlc/report/Page.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <set>
#include <string>

namespace dlc::tool {
namespace {

constexpr size_t kMostPoints = 2000;
constexpr size_t kMostText = size_t(1) << 30;
constexpr size_t kMostTensors = 20, kMostClasses = 200;

// Removes the folders of absolute paths, which are specific to this machine.
std::string withoutFolders(const std::string &value) {
  std::string text;
  for (size_t at = 0; at < value.size(); ++at) {
    const bool isFirst = at == 0 || strchr(" ,=:'\"[(", value[at - 1]);
    if (value[at] == '/' && isFirst)
      at = value.rfind('/', value.find_first_of(" ,'\"])", at)) + 1;
    text += value.substr(at, 1);
  }
  return text;
}

// Parses "key: value" lines of a run's config.yaml.
Json configOf(const std::string &path) {
  Json config = Json::object();
  const auto text = readFile(path, 1 << 20);
  if (!text)
    return config;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    const std::string line = text->substr(begin, end - begin);
    if (const size_t colon = line.find(": "); colon != line.npos)
      config[line.substr(0, colon)] = withoutFolders(line.substr(colon + 2));
  }
  return config;
}

// Adds options of the compilation, such as "train.lr".
void addCompiled(const plan::Plan &plan, Json &config) {
  config["loss"] = plan.loss();
  config["ranks"] = std::to_string(plan.world_size());
  for (const plan::Attribute &a : plan.schedule())
    config["compiled " + a.name()] =
        a.has_s() ? a.s()
                  : fmt::format("{}", a.has_i() ? double(a.i()) : a.f());
}

// Calls take(line) for lines of a JSON lines file that have a "step": `most` of
// them at equal distances, and the last one.
template <class Take>
void readLines(const std::string &path, size_t most, const Take &take) {
  const auto text = readFile(path, kMostText);
  if (!text)
    return;
  const auto lines = size_t(std::ranges::count(*text, '\n'));
  const size_t stride = std::max<size_t>(1, (lines + most - 1) / most);
  size_t number = 0;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    if (number++ % stride && number != lines)
      continue;
    const auto line =
        parseJson(std::string_view(*text).substr(begin, end - begin));
    if (line && line->is_object() && line->value("step", Json()).is_number())
      take(*line);
  }
}

void fill(Json &list, size_t count, const Json &with) {
  while (list.size() < count)
    list.push_back(with);
}

// Columns of a JSON lines file; null for a line that lacks the value.
Json columnsOf(const std::string &path) {
  Json columns = Json::object();
  size_t taken = 0;
  readLines(path, kMostPoints, [&](const Json &line) {
    for (const auto &[key, value] : line.items()) {
      fill(columns[key], taken, nullptr);
      columns[key].push_back(value.is_number() ? value : Json(nullptr));
    }
    ++taken;
    for (Json &column : columns)
      fill(column, taken, nullptr);
  });
  return columns;
}

// Parses a JSON file; null if it is invalid.
Json jsonIn(const std::string &path) {
  const auto text = readFile(path, kMostText);
  auto json = text ? parseJson(*text) : Result<Json>(Json());
  return json ? *std::move(json) : Json();
}

// Contents of stats.jsonl: {"names", "steps", "values": {"norm": a row of
// numbers per parameter}}, null for missing values; the first kMostParameters.
Json statisticsOf(const plan::Plan &plan, const std::string &path) {
  constexpr size_t kMostColumns = 200, kMostParameters = 400;
  Json steps = Json::array(), values = Json::object(), names = Json::array();
  for (const plan::State &state : plan.states())
    if (state.trainable() && names.size() < kMostParameters)
      names.push_back(state.name());
  readLines(path, kMostColumns, [&](const Json &line) {
    const Json parameters = line.value("parameters", Json());
    if (!parameters.is_object())
      return;
    for (size_t i = 0; i < names.size(); ++i) {
      const Json row = parameters.value(names[i].get<std::string>(), Json());
      if (!row.is_object())
        continue;
      for (const auto &[key, value] : row.items()) {
        Json &all = values[key];
        fill(all, i + 1, Json::array());
        fill(all[i], steps.size(), nullptr);
        all[i].push_back(value.is_number() ? value : Json(nullptr));
      }
    }
    steps.push_back(line["step"]);
  });
  if (steps.empty())
    return nullptr;
  return {{"names", names}, {"steps", steps}, {"values", values}};
}

// The last line of ranks.jsonl, if each rank has a number or null.
Json ranksOf(const std::string &path) {
  Json last;
  readLines(path, 1, [&](const Json &line) { last = line; });
  if (!last.is_object() || !last.value("slow", Json()).is_string() ||
      !last.value("hosts", Json()).is_array())
    return nullptr;
  for (const char *key : {"seconds", "data_wait", "computes", "blocked"}) {
    const Json values = last.value(key, Json());
    if (!values.is_array() || values.size() != last["hosts"].size())
      return nullptr;
    for (const Json &value : values)
      if (!value.is_number() && !value.is_null())
        return nullptr;
  }
  for (const Json &host : last["hosts"])
    if (!host.is_string())
      return nullptr;
  return last;
}

Json profileOf(const std::string &path) {
  Json rows = Json::array();
  for (const Json &row : jsonIn(path)) {
    if (!row.is_object() || !row.value("program", Json()).is_string() ||
        !row["program"].get<std::string>().starts_with("train_step") ||
        !row.value("seconds", Json()).is_number() ||
        !row.value("calls", Json()).is_number_unsigned() || row["calls"] == 0)
      continue;
    const double calls = row["calls"].get<double>();
    const Json nodes = row.value("nodes", Json());
    rows.push_back({{"nodes", nodes.is_string() ? nodesOf(nodes) : ""},
                    {"command", row.value("command", Json(""))},
                    {"kind", row.value("kind", Json(""))},
                    {"bucket", row.value("bucket", Json())},
                    {"ms", 1e3 * row["seconds"].get<double>() / calls}});
    // Profiles of newer versions have start times of commands.
    if (const Json begin = row.value("begin", Json()); begin.is_number())
      rows.back()["begin"] = 1e3 * begin.get<double>() / calls;
  }
  return rows;
}

// Selected algorithms: {"commands", "op", "engine", "ms", "workspace"}.
Json tuningOf(const std::string &path) {
  Json rows = Json::array();
  for (const Json &row : jsonIn(path)) {
    if (!row.is_object() || !row.value("commands", Json()).is_array())
      continue;
    const std::string commands =
        joined(row["commands"], ", ", [](const Json &command) {
          return command.is_string() ? command.get<std::string>() : "";
        });
    const Json ms = row.value("milliseconds", Json()),
               workspace = row.value("workspace", Json()),
               op = row.value("op", Json()),
               engine = row.value("engine", Json());
    rows.push_back(
        {{"commands", commands},
         {"op", op.is_string() ? op : Json("")},
         {"engine", engine.is_string() ? engine : Json()},
         {"ms", ms.is_number() ? ms : Json()},
         {"workspace", workspace.is_number_unsigned() ? workspace : Json()}});
  }
  return rows;
}

// Bytes of scratch memory that are live at each command of a step, and the
// largest tensors at the peak.
Json memoryOfPlan(const plan::Plan &plan) {
  const plan::Program *program = plan::findProgram(plan, plan::kTrain);
  if (!program)
    return nullptr;
  const ProgramMemory memory = dlc::memoryOf(plan, *program);
  Json at = Json::array(), live = Json::array(), largest = Json::array();
  const size_t stride = memory.liveAt.size() / kMostPoints + 1;
  for (size_t c = 0; c < memory.liveAt.size(); c += stride)
    at.push_back(c), live.push_back(memory.liveAt[c]);
  for (const ScratchTensor &tensor :
       memory.alive | std::views::take(kMostTensors))
    largest.push_back(
        {{"name", nodesOf(tensor.node)}, {"bytes", tensor.bytes}});
  if (largest.empty())
    return nullptr;
  return {{"at", at}, {"live", live}, {"tensors", largest}};
}

// The best validation for each metric, by the rule of --best.
Json bestOf(const Json &epochs) {
  Json best = Json::array();
  for (const auto &[key, values] : epochs.items()) {
    const std::string name = key.starts_with("val_") ? key.substr(4) : "";
    const auto metrics = parseMetrics({name});
    if (name != "loss" && !(metrics && isNumber(metrics->front())))
      continue;
    const bool isMore = name != "loss" && isMoreBetter(metrics->front());
    size_t at = values.size();
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].is_number() &&
          (at == values.size() ||
           (isMore ? values[i] > values[at] : values[i] < values[at])))
        at = i;
    if (at < values.size())
      best.push_back({{"name", key},
                      {"value", values[at]},
                      {"epoch", epochs.value("epoch", Json())[at]}});
  }
  return best;
}

// Total time according to the last row of results.csv.
Json secondsOf(const std::string &path) {
  const auto text = readFile(path, kMostText);
  if (!text || !text->starts_with("epoch,step,time,"))
    return nullptr;
  const size_t row = text->rfind('\n', text->size() - 2) + 1;
  const auto cells = splitAtCommas(text->substr(row));
  return cells.size() > 2 ? Json(std::atof(cells[2].c_str())) : Json();
}

// Square matrix of integers, else null.
Json confusionOf(const std::string &path) {
  const Json json = jsonIn(path);
  const Json matrix =
      json.is_object() ? json.value("confusion", Json()) : Json();
  if (!matrix.is_array() || matrix.empty() || matrix.size() > kMostClasses)
    return nullptr;
  for (const Json &row : matrix)
    if (!row.is_array() || row.size() != matrix.size() ||
        !std::ranges::all_of(
            row, [](const Json &n) { return n.is_number_unsigned(); }))
      return nullptr;
  return matrix;
}

struct Guess {
  int64_t sample = 0, number = 0;
  double probability = 0;
  std::optional<int64_t> label;

  bool isWrong() const { return label && *label != number; }
};

bool comesFirst(const Guess &a, const Guess &b) {
  if (a.isWrong() != b.isWrong())
    return a.isWrong();
  return a.isWrong() ? a.probability > b.probability
                     : a.probability < b.probability;
}

// Reads a run folder, even of a run that has just begun: {"name", "done",
// "model", "config", "steps", "epochs", "best", "seconds", "confusion",
// "stats", "ranks", "profile", "tuning", "memory", "graph"}. Damaged or missing
// lines and files are omitted, but a damaged artifact is Code::Corrupt. Long
// curves are reduced to kMostPoints. `drawn` are programs whose graphs other
// runs have included: their "graph" is null.
Result<Json> gatherRun(const std::string &run, std::set<std::string> &drawn) {
  DLC_TRY(checkIsRun(run));
  DLC_ASSIGN(const Artifact artifact,
             Artifact::open(run + "/model.dlc", Artifact::Use::Inspect));
  const plan::Plan &plan = artifact.plan();
  const auto path = std::filesystem::path(run).lexically_normal();
  Json config = configOf(run + "/config.yaml");
  Json steps = columnsOf(run + "/metrics.jsonl");
  const Json done = steps.contains("step") ? steps["step"].back() : Json(0);
  const std::string model = config.value("artifact", "");
  addCompiled(plan, config);
  Json epochs = columnsOf(run + "/epochs.jsonl"), best = bestOf(epochs), graph;
  if (const plan::Program *predict = plan::findProgram(plan, "predict");
      predict && drawn.insert(predict->SerializeAsString()).second) {
    DLC_ASSIGN(graph, render(plan::graphOf(plan, *predict),
                             GraphColour::Precision, model + ": predict"));
  }
  return Json{
      {"name",
       (path.has_filename() ? path : path.parent_path()).filename().string()},
      {"done", done},
      {"model", fmt::format("{} ({}, batch {} x {} rank{})", model,
                            plan.target(), plan.batch(), plan.world_size(),
                            plan.world_size() == 1 ? "" : "s")},
      {"config", std::move(config)},
      {"steps", std::move(steps)},
      {"epochs", std::move(epochs)},
      {"best", std::move(best)},
      {"seconds", secondsOf(run + "/results.csv")},
      {"confusion", confusionOf(run + "/classes.json")},
      {"stats", statisticsOf(plan, run + "/stats.jsonl")},
      {"ranks", ranksOf(run + "/ranks.jsonl")},
      {"profile", profileOf(run + "/profile.json")},
      {"tuning", tuningOf(run + "/tuning.json")},
      {"memory", memoryOfPlan(plan)},
      {"graph", std::move(graph)}};
}

// Predicts the images at `data`, prepared as in the run's evaluation. Returns
// {"samples", "wrong", "shown"}; shown has at most `count` of [{"picture": a
// data URL of its PNG, "name", "class", "probability", "label"}]: first those
// with a wrong class, the most confident first, then the correct ones, the
// least confident first. Without labels, "wrong" and "label" are null, and the
// least confident come first. Code::Usage for samples that are not images, or a
// model without classes.
Result<Json> predictionsOf(const std::string &run, const std::string &data,
                           int64_t count) {
  DLC_ASSIGN(Model model, openModel(run));
  DLC_ASSIGN(const SampleOptions options, samplesOf(model));
  DLC_ASSIGN(const auto sources, openSources(data, options));
  DLC_ASSIGN(const SizedData sized,
             openDatasets(sources, model.artifact.plan(), "predict", options));
  DLC_ASSIGN(const auto session, Session::create(std::move(model), {}));
  if (sized.sets.size() > 1)
    return usageError("--data has samples of {} sizes, expected pictures",
                      sized.sets.size());
  const Dataset &dataset = sized.sets[0];
  DLC_ASSIGN(
      const auto shown,
      ShownSamples::open(dataset.source(), dataset.columns()[0].spec().key)
          .withContext("--data"));
  DLC_ASSIGN(Ranking ranking,
             Ranking::create(*session, sized.sizes[0], "--data"));
  std::vector<Guess> guesses;
  const auto take = [&](int64_t sample, const auto &ranks) -> Status {
    Guess guess{sample, ranks[0].number, ranks[0].probability, {}};
    DLC_ASSIGN(guess.label, shown.label(sample, nullptr));
    guesses.push_back(guess);
    return {};
  };
  DLC_TRY(ranking.run(dataset, 1, take));
  const auto wrong = std::ranges::count_if(
      guesses, [](const Guess &guess) { return guess.isWrong(); });
  std::ranges::stable_sort(guesses, comesFirst);
  guesses.resize(std::min(guesses.size(), size_t(count)));
  const auto nameOf = [&](int64_t number) {
    return nameOfClass(options.classes, number);
  };
  Json all = Json::array();
  for (const Guess &guess : guesses) {
    DLC_ASSIGN(const Picture picture, shown.picture(guess.sample, nullptr));
    const std::string name = dataset.source().nameOf(guess.sample);
    all.push_back(
        {{"picture", addressOf(picture)},
         {"name", name.empty() ? fmt::format("sample {}", guess.sample) : name},
         {"class", nameOf(guess.number)},
         {"probability", guess.probability},
         {"label", guess.label ? Json(nameOf(*guess.label)) : Json()}});
  }
  return Json{{"samples", dataset.samples()},
              {"wrong", shown.hasLabels() ? Json(wrong) : Json()},
              {"shown", std::move(all)}};
}

struct ReportArguments : FlagArguments {
  ReportArguments() : FlagArguments("report") {
    table.list("report.runs", runs, "RUN", "run folders").named("runs");
    addOutput(table, "report.output", output, "page (default report.html)");
    table.text("report.data", data, "PATH",
               "pictures, as --data of dlc eval, for which the page shows each "
               "run's predictions");
    table.count("report.pictures", pictures, 1,
                "number of pictures of --data to show", 1000);
  }

  Words runs;
  std::string output, data;
  int64_t pictures = 24;
};

Status writeReport(const ReportArguments &arguments) {
  Json runs = Json::array();
  std::set<std::string> drawn;
  for (const std::string &run : arguments.runs) {
    DLC_ASSIGN(Json gathered, gatherRun(run, drawn));
    if (!arguments.data.empty()) {
      DLC_ASSIGN(gathered["predictions"],
                 predictionsOf(run, arguments.data, arguments.pictures));
    }
    runs.push_back(std::move(gathered));
  }
  const std::string path =
      arguments.output.empty() ? "report.html" : arguments.output;
  DLC_TRY(writeFileAtomically(path, reportPage({{"runs", runs}})));
  printOut("{}\n", path);
  return {};
}

} // namespace

void addReport(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "report", "write a page of curves, time and memory");
  auto arguments = std::make_shared<ReportArguments>();
  addFlagCommand(line, *command, arguments, writeReport);
  command->get_option("runs")
      ->required()
      ->expected(1, 1 << 16)
      ->allow_extra_args();
  command->footer(
      R"(One HTML file that needs no network: loss and metrics of one or more runs, the settings that
differ, time by node (of runs with --profile), memory over a step, the model as a graph.

Examples:
  dlc report runs/lenet-1
  dlc report runs/flowers --data=flowers/val
  dlc report runs/lenet-1 runs/lenet-2 -o both.html)");
}

} // namespace dlc::tool
