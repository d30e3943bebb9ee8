// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/GatherRuns.h"

#include "runtime/base/files/Files.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"
#include "tools/dlc/report/GraphJson.h"

#include <algorithm>
#include <filesystem>

namespace dlc::tool {
namespace {

constexpr size_t kMostText = size_t(1) << 30;
constexpr size_t kMostTensors = 20;

// "key: value" lines of a run's config.yaml.
Json configOf(const std::string &path) {
  Json config = Json::object();
  const auto text = readFile(path, 1 << 20);
  if (!text)
    return config;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    const std::string line = text->substr(begin, end - begin);
    if (const size_t colon = line.find(": "); colon != line.npos)
      config[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return config;
}

// Settings of the compilation: "train.lr".
void addCompiled(const plan::Plan &plan, Json &config) {
  config["loss"] = plan.loss();
  config["ranks"] = std::to_string(plan.world_size());
  for (const plan::Attribute &a : plan.schedule())
    config["compiled " + a.name()] =
        a.has_s() ? a.s()
                  : fmt::format("{}", a.has_i() ? double(a.i()) : a.f());
}

// Columns of a file of JSON lines; each has all lines' values, null where a
// line has none. Only every n-th line of a long file, and its last.
Json columnsOf(const std::string &path) {
  const auto text = readFile(path, kMostText);
  Json columns = Json::object();
  if (!text)
    return columns;
  const auto lines =
      static_cast<size_t>(std::count(text->begin(), text->end(), '\n'));
  const size_t stride =
      std::max<size_t>(1, (lines + kMostPoints - 1) / kMostPoints);
  size_t number = 0, taken = 0;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    if (number++ % stride && number != lines)
      continue;
    const auto line =
        parseJson(std::string_view(*text).substr(begin, end - begin));
    if (!line || !line->is_object() || !line->contains("step") ||
        !(*line)["step"].is_number())
      continue;
    for (const auto &[key, value] : line->items()) {
      Json &column = columns[key];
      while (column.size() < taken)
        column.push_back(nullptr);
      column.push_back(value.is_number() ? value : Json(nullptr));
    }
    ++taken;
    for (Json &column : columns)
      if (column.size() < taken)
        column.push_back(nullptr);
  }
  return columns;
}

// Steps at which the loss scale became smaller.
Json skippedOf(const Json &steps) {
  Json skipped = Json::array();
  const auto scale = steps.find("loss_scale");
  if (scale == steps.end())
    return skipped;
  for (size_t i = 1; i < scale->size(); ++i)
    if ((*scale)[i].is_number() && (*scale)[i - 1].is_number() &&
        (*scale)[i].get<double>() < (*scale)[i - 1].get<double>())
      skipped.push_back(steps["step"][i]);
  return skipped;
}

// Of stats.jsonl: {"names", "steps", "values": {"norm": a row of numbers a
// parameter}}, null where a line has none; at most kMostColumns of its lines
// and the first kMostParameters.
bool isOfStep(const Json &line) {
  return line.is_object() && line.value("step", Json()).is_number() &&
         line.value("parameters", Json()).is_object();
}

void fill(Json &list, size_t count, const Json &with) {
  while (list.size() < count)
    list.push_back(with);
}

Json statisticsOf(const plan::Plan &plan, const std::string &path) {
  constexpr size_t kMostColumns = 200, kMostParameters = 400;
  const auto text = readFile(path, kMostText);
  if (!text)
    return nullptr;
  const auto lines =
      static_cast<size_t>(std::count(text->begin(), text->end(), '\n'));
  const size_t stride =
      std::max<size_t>(1, (lines + kMostColumns - 1) / kMostColumns);
  Json steps = Json::array(), values = Json::object(), names = Json::array();
  for (const plan::State &state : plan.states())
    if (state.trainable() && names.size() < kMostParameters)
      names.push_back(state.name());
  size_t number = 0;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != text->npos;
       begin = end + 1) {
    if (number++ % stride)
      continue;
    const auto line =
        parseJson(std::string_view(*text).substr(begin, end - begin));
    if (!line || !isOfStep(*line))
      continue;
    const Json &parameters = (*line)["parameters"];
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
    steps.push_back((*line)["step"]);
  }
  if (steps.empty())
    return nullptr;
  return {{"names", names}, {"steps", steps}, {"values", values}};
}

Json profileOf(const std::string &path) {
  Json rows = Json::array();
  const auto text = readFile(path, kMostText);
  if (!text)
    return rows;
  const auto all = parseJson(*text);
  if (!all || !all->is_array())
    return rows;
  for (const Json &row : *all) {
    if (!row.is_object() || !row.value("program", Json()).is_string() ||
        !row["program"].get<std::string>().starts_with("train_step") ||
        !row.value("seconds", Json()).is_number() ||
        !row.value("calls", Json()).is_number_unsigned() || row["calls"] == 0)
      continue;
    const double calls = row["calls"].get<double>();
    rows.push_back({{"nodes", row.value("nodes", Json(""))},
                    {"command", row.value("command", Json(""))},
                    {"kind", row.value("kind", Json(""))},
                    {"bucket", row.value("bucket", Json())},
                    {"ms", 1e3 * row["seconds"].get<double>() / calls}});
    // Of a profile that says when commands began.
    if (const Json begin = row.value("begin", Json()); begin.is_number())
      rows.back()["begin"] = 1e3 * begin.get<double>() / calls;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json &a, const Json &b) {
    return a["ms"].get<double>() > b["ms"].get<double>();
  });
  return rows;
}

// Algorithms that were chosen: {"commands", "op", "engine", "ms", "workspace"},
// the slowest first; those that are the library's first choice last.
Json tuningOf(const std::string &path) {
  Json rows = Json::array();
  const auto text = readFile(path, kMostText);
  const auto all = text ? parseJson(*text) : Result<Json>(Json());
  if (!all || !all->is_array())
    return rows;
  for (const Json &row : *all) {
    if (!row.is_object() || !row.value("commands", Json()).is_array())
      continue;
    std::string commands;
    for (const Json &command : row["commands"])
      if (command.is_string())
        commands += (commands.empty() ? "" : ", ") + command.get<std::string>();
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
  std::stable_sort(rows.begin(), rows.end(), [](const Json &a, const Json &b) {
    const auto time = [](const Json &row) {
      return row["ms"].is_number() ? row["ms"].get<double>() : -1;
    };
    return time(a) > time(b);
  });
  return rows;
}

uint64_t bytesIn(const plan::Buffer &buffer) {
  return plan::bytesOf(buffer.type()).value_or(0);
}

std::string nameOf(const plan::Command &command) {
  return command.label().empty() ? command.kind() : command.label();
}

// The first and the last command that reads or writes each buffer; -1: none.
std::pair<std::vector<int>, std::vector<int>>
commandsOfBuffers(const plan::Program &program) {
  std::vector<int> first(size_t(program.buffers_size()), -1), last = first;
  for (int c = 0; c < program.commands_size(); ++c)
    for (const auto *ids :
         {&program.commands(c).inputs(), &program.commands(c).outputs()})
      for (const uint32_t id : *ids) {
        if (first[id] < 0)
          first[id] = c;
        last[id] = c;
      }
  return {std::move(first), std::move(last)};
}

// Bytes of scratch memory in use during each command, and what is largest at
// their peak. A buffer lives from the first command that names it to the last.
Json memoryOfPlan(const plan::Plan &plan) {
  const plan::Program *program = plan::findProgram(plan, "train_step");
  if (!program || program->commands_size() == 0)
    return nullptr;
  const auto buffers = static_cast<size_t>(program->buffers_size());
  const auto [first, last] = commandsOfBuffers(*program);
  std::vector<int64_t> change(size_t(program->commands_size()) + 1);
  const auto isScratch = [&](size_t b) {
    const plan::Buffer &buffer = program->buffers(int(b));
    return first[b] >= 0 &&
           plan.regions(int(buffer.region())).kind() == plan::Region::SCRATCH;
  };
  for (size_t b = 0; b < buffers; ++b)
    if (isScratch(b)) {
      const auto bytes = int64_t(bytesIn(program->buffers(int(b))));
      change[size_t(first[b])] += bytes;
      change[size_t(last[b]) + 1] -= bytes;
    }
  Json at = Json::array(), live = Json::array();
  const size_t stride = change.size() / kMostPoints + 1;
  int64_t now = 0, most = -1;
  int peak = 0;
  for (size_t c = 0; c + 1 < change.size(); ++c) {
    now += change[c];
    if (now > most)
      most = now, peak = int(c);
    if (c % stride == 0)
      at.push_back(c), live.push_back(now);
  }
  std::vector<std::pair<uint64_t, std::string>> tensors;
  for (size_t b = 0; b < buffers; ++b)
    if (isScratch(b) && first[b] <= peak && last[b] >= peak)
      tensors.emplace_back(bytesIn(program->buffers(int(b))),
                           nameOf(program->commands(first[b])));
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](auto &a, auto &b) { return a.first > b.first; });
  tensors.resize(std::min(tensors.size(), kMostTensors));
  Json largest = Json::array();
  for (const auto &[bytes, name] : tensors)
    largest.push_back({{"name", name}, {"bytes", bytes}});
  if (largest.empty())
    return nullptr;
  return {{"at", at}, {"live", live}, {"tensors", largest}};
}

// Commands of predict, without its state, inputs and outputs.
Json graphOfPredict(const plan::Plan &plan) {
  const plan::Program *program = plan::findProgram(plan, "predict");
  plan::ProgramGraph commands;
  if (!program)
    return graphJson(commands);
  const plan::ProgramGraph all = plan::graphOf(plan, *program);
  std::vector<int> places(all.nodes.size(), -1);
  for (size_t i = 0; i < all.nodes.size(); ++i)
    if (all.nodes[i].kind == plan::ProgramGraph::Kind::Op) {
      places[i] = static_cast<int>(commands.nodes.size());
      commands.nodes.push_back(all.nodes[i]);
      auto &name = commands.nodes.back().name;
      name = name.empty() ? commands.nodes.back().op : name;
    }
  for (const plan::ProgramGraph::Edge &edge : all.edges) {
    const int from = places[static_cast<size_t>(edge.from)],
              to = places[static_cast<size_t>(edge.to)];
    if (from >= 0 && to >= 0)
      commands.edges.push_back({from, to, edge.label});
  }
  return graphJson(commands);
}

} // namespace

Result<Json> gatherRun(const std::string &run) {
  if (!isFolder(run))
    return failed("no run '{}': no such folder", run);
  if (!isFolder(run + "/model.dlc") || !exists(run + "/config.yaml"))
    return failed("'{}' is not a run: it has no config.yaml and model.dlc",
                  run);
  DLC_ASSIGN(const Artifact artifact,
             Artifact::open(run + "/model.dlc", Artifact::Use::Inspect));
  const plan::Plan &plan = artifact.plan();
  const auto path = std::filesystem::path(run).lexically_normal();
  Json config = configOf(run + "/config.yaml");
  Json steps = columnsOf(run + "/metrics.jsonl");
  const Json done = steps.contains("step") ? steps["step"].back() : Json(0);
  const std::string model = config.value("artifact", "");
  addCompiled(plan, config);
  Json skipped = skippedOf(steps);
  return Json{
      {"name",
       (path.has_filename() ? path : path.parent_path()).filename().string()},
      {"done", done},
      {"model", fmt::format("{} ({}, batch {} x {} rank{})", model,
                            plan.target(), plan.batch(), plan.world_size(),
                            plan.world_size() == 1 ? "" : "s")},
      {"config", std::move(config)},
      {"steps", std::move(steps)},
      {"epochs", columnsOf(run + "/epochs.jsonl")},
      {"skipped", std::move(skipped)},
      {"stats", statisticsOf(plan, run + "/stats.jsonl")},
      {"profile", profileOf(run + "/profile.json")},
      {"tuning", tuningOf(run + "/tuning.json")},
      {"memory", memoryOfPlan(plan)},
      {"graph", graphOfPredict(plan)}};
}

} // namespace dlc::tool
