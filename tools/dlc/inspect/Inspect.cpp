// SPDX-License-Identifier: Apache-2.0
// dlc inspect: contents of an artifact, and costs of its step.
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/inspect/Costs.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/RankItems.h"

#include <map>

namespace dlc::tool {
namespace {

using Ordered = nlohmann::ordered_json;

uint64_t elementsOf(const plan::TensorType &type) {
  return checkedElements(type.shape()).value_or(0);
}

uint64_t tensorBytes(const plan::TensorType &type) {
  return plan::bytesOf(type).value_or(0);
}

Ordered statesOf(const plan::Plan &plan) {
  Ordered roles = Ordered::object();
  for (const plan::State &state : plan.states()) {
    Ordered &role = roles[state.role()];
    if (role.is_null())
      role = {{"count", 0}, {"elements", 0}, {"bytes", 0}};
    role["count"] = role["count"].get<uint64_t>() + 1;
    role["elements"] =
        role["elements"].get<uint64_t>() + elementsOf(state.type());
    role["bytes"] = role["bytes"].get<uint64_t>() + tensorBytes(state.type());
  }
  return roles;
}

uint64_t trainableElements(const plan::Plan &plan) {
  uint64_t count = 0;
  for (const plan::State &state : plan.states())
    if (state.role() == "param" && state.trainable())
      count += elementsOf(state.type());
  return count;
}

// Collectives of a program: number of buckets, and total bytes.
Ordered collectivesOf(const plan::Program &program) {
  uint64_t buckets = 0, bytes = 0, gathers = 0, gathered = 0;
  for (const plan::Command &command : program.commands()) {
    if (plan::gathersElsewhere(command)) {
      ++gathers;
      gathered += tensorBytes(program.buffers(int(command.outputs(0))).type());
    }
    if (command.kind() != "all_reduce" && command.kind() != "reduce_scatter")
      continue;
    ++buckets;
    for (uint32_t id : command.inputs())
      bytes += tensorBytes(program.buffers(int(id)).type());
  }
  return {{"buckets", buckets},
          {"bytes", bytes},
          {"gathers", gathers},
          {"gathered_bytes", gathered}};
}

// Bytes of trainable parameters that are sharded, and of replicated ones.
Ordered partsOf(const plan::Plan &plan) {
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> ends; // by their start
  for (const plan::Part &part : plan.parts())
    ends[{part.region(), part.offset()}] = part.offset() + part.bytes();
  uint64_t parts = 0, whole = 0;
  for (const plan::State &state : plan.states()) {
    if (state.role() != "param" || !state.trainable())
      continue;
    const auto after = ends.upper_bound({state.region(), state.offset()});
    const bool isPart = after != ends.begin() &&
                        std::prev(after)->first.first == state.region() &&
                        state.offset() < std::prev(after)->second;
    (isPart ? parts : whole) += tensorBytes(state.type());
  }
  return {{"parts", parts}, {"whole", whole}};
}

// Parameters of which a program updates only some rows.
Ordered movedByRows(const plan::Plan &plan, const plan::Program &program) {
  Ordered names = Ordered::array();
  for (const plan::Command &command : program.commands()) {
    if (command.kind() != "put_rows" &&
        !plan::intAttribute(command, "puts_rows", 0))
      continue;
    const plan::Buffer &moved = program.buffers(int(command.outputs(0)));
    for (const plan::State &state : plan.states())
      if (state.role() == "param" && state.region() == moved.region() &&
          state.offset() == moved.offset())
        names.push_back(state.name());
  }
  return names;
}

Ordered programsOf(const plan::Plan &plan) {
  Ordered programs = Ordered::object();
  for (const plan::Program &program : plan.programs()) {
    uint64_t flops = 0, bytes = 0;
    std::map<std::string, uint64_t> kinds;
    for (const plan::Command &command : program.commands()) {
      flops += command.flops();
      bytes += command.bytes();
      ++kinds[command.kind()];
    }
    programs[program.name()] = {{"flops", flops},
                                {"bytes", bytes},
                                {"commands", program.commands_size()},
                                {"kinds", kinds},
                                {"collectives", collectivesOf(program)},
                                {"moved_by_rows", movedByRows(plan, program)},
                                {"scratch_bytes", program.scratch_bytes()},
                                {"live_bytes", memoryOf(plan, program).live}};
  }
  return programs;
}

Ordered memoryOf(const plan::Plan &plan) {
  Ordered regions = Ordered::object();
  for (const plan::Region &region : plan.regions())
    regions[region.name()] = region.bytes();
  return {{"regions", regions},
          {"bytes", totalBytes(plan)},
          {"host_bytes", hostBytes(plan)}};
}

Ordered scheduleOf(const plan::Plan &plan) {
  Ordered schedule = Ordered::object();
  for (const plan::Attribute &attribute : plan.schedule()) {
    if (attribute.has_i())
      schedule[attribute.name()] = attribute.i();
    else if (attribute.has_f())
      schedule[attribute.name()] = attribute.f();
    else
      schedule[attribute.name()] = attribute.s();
  }
  return schedule;
}

// The model's sizes, the largest first: {"batch": 8, "time": 128}.
Ordered sizesOf(const plan::Plan &plan) {
  Ordered sizes = Ordered::array();
  for (const plan::Size &size : plan.sizes()) {
    Ordered entry = {{"batch", size.batch()}};
    for (const plan::Size::Dim &dim : size.dims())
      entry[dim.name()] = dim.size();
    sizes.push_back(std::move(entry));
  }
  return sizes;
}

// GPU architectures with machine code: "sm_90".
Ordered smsOf(const Artifact &artifact) {
  Ordered names = Ordered::array();
  const std::string head = "kernels.", tail = ".cubin";
  for (const auto &[name, entry] : artifact.manifest()["files"].items())
    if (name.starts_with(head) && name.ends_with(tail))
      names.push_back(
          name.substr(head.size(), name.size() - head.size() - tail.size()));
  return names;
}

// Reads a list of objects from the compiler, each with these text fields.
Result<Ordered> listOf(const Artifact &artifact, const char *file,
                       std::initializer_list<const char *> keys) {
  constexpr size_t kLargest = size_t(64) << 20;
  Ordered list = Ordered::array();
  if (!artifact.has(file))
    return list;
  DLC_ASSIGN(std::string text, readFile(artifact.filePath(file), kLargest));
  DLC_ASSIGN(const Json json, parseJson(text).withContext(file));
  for (const Json &entry : json) {
    Ordered row;
    for (const char *key : keys) {
      DLC_ASSIGN(row[key], jsonString(entry, key));
    }
    if (entry.contains("repair")) { // absent in older versions
      DLC_ASSIGN(row["repair"], jsonString(entry, "repair"));
    }
    list.push_back(std::move(row));
  }
  return list;
}

Ordered summarize(const Model &model, bool costs) {
  const plan::Plan &plan = model.artifact.plan();
  Ordered summary = {{"artifact", model.artifact.path()},
                     {"hash", model.artifact.hash()},
                     {"producer", plan.producer()},
                     {"target", plan.target()},
                     {"cpu", plan.cpu()},
                     {"sm", smsOf(model.artifact)},
                     {"world_size", plan.world_size()},
                     {"batch", plan.batch()},
                     {"sizes", sizesOf(plan)},
                     {"loss", plan.loss()}};
  if (model.checkpoint)
    summary["step"] = model.checkpoint->step;
  summary["schedule"] = scheduleOf(plan);
  summary["parameters"] = trainableElements(plan);
  summary["parameter_bytes"] = partsOf(plan);
  summary["state"] = statesOf(plan);
  summary["programs"] = programsOf(plan);
  summary["memory"] = memoryOf(plan);
  if (costs)
    summary["costs"] = commandCosts(model.artifact);
  return summary;
}

// 1234567 -> "1.23 M"
std::string human(double value, const char *unit = "") {
  constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 1000 && prefix < 5; ++prefix)
    value /= 1000;
  return prefix == 0
             ? fmt::format("{} {}", value, unit)
             : fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

std::string human(const Ordered &value, const char *unit = "") {
  return human(value.get<double>(), unit);
}

std::string textOf(const Ordered &value) {
  return printable(value.get<std::string>());
}

void printProgram(const std::string &name, const Ordered &program) {
  printOut("{}: {} a step, {} commands\n", printable(name),
           human(program["flops"], "FLOP"), program["commands"].get<int64_t>());
  printOut("  {}\n",
           joined(program["kinds"].items(), ", ", [](const auto &kind) {
             return fmt::format("{} {}", kind.value().template get<uint64_t>(),
                                printable(kind.key()));
           }));
  if (const Ordered &names = program["moved_by_rows"]; !names.empty())
    printOut("  updated by rows: {}\n", joined(names, ", ", textOf));
  const Ordered &collectives = program["collectives"];
  if (collectives["buckets"].get<uint64_t>() > 0)
    printOut("  collectives: {} buckets, {}\n",
             collectives["buckets"].get<uint64_t>(),
             human(collectives["bytes"], "B"));
  if (collectives["gathers"].get<uint64_t>() > 0)
    printOut("  parameters: {} gathers, {}\n",
             collectives["gathers"].get<uint64_t>(),
             human(collectives["gathered_bytes"], "B"));
}

void printDecisions(const Ordered &decisions) {
  std::map<std::string, int> repairs;
  for (const Ordered &decision : decisions)
    if (decision.contains("repair") && decision["repair"] != "")
      ++repairs[textOf(decision["repair"])];
  std::string counts;
  for (const auto &[repair, count] : repairs)
    counts += fmt::format("{}{} {}", counts.empty() ? ", by repairs: " : ", ",
                          repair, count);
  printOut("what the import decided about tensors{}\n", counts);
  for (const Ordered &decision : decisions)
    printOut("  {:10} {}: {}\n", decision["kind"].get<std::string>(),
             printable(decision["tensor"].get<std::string>()),
             printable(decision["why"].get<std::string>(), 500));
  printOut("\n");
}

// Prints a line per tensor; unless `all`, only for the first that are neither
// trained nor statistics.
void printTensors(const Ordered &tensors, bool all) {
  constexpr size_t kShown = 20;
  size_t width = 0, shown = 0, kept = 0;
  for (const Ordered &row : tensors)
    width = std::max(width, printable(textOf(row["tensor"])).size());
  printOut("tensors of the model\n");
  for (const Ordered &row : tensors) {
    const std::string decision = row["decision"].get<std::string>();
    const bool isPlain = decision == "trained" || decision == "statistics";
    if (!all && (isPlain || shown == kShown)) {
      ++kept;
      continue;
    }
    ++shown;
    printOut("  {:<{}}  {:10}  {}\n", textOf(row["tensor"]),
             std::min<size_t>(width, 60), decision,
             printable(row["reason"].get<std::string>(), 500));
  }
  if (kept)
    printOut("  {} more, trained or statistics of batch norm{} (--tensors)\n",
             kept, shown == kShown ? ", or not" : "");
  printOut("\n");
}

std::string shown(const Ordered &value) {
  return value.is_string()         ? textOf(value)
         : value.is_number_float() ? numberText(value.get<double>())
                                   : dumpJson(value);
}

void printSummary(const Ordered &summary, bool tensors) {
  std::string made = summary["cpu"].get<std::string>();
  for (const auto &sm : summary["sm"])
    made += (made.empty() ? "" : ", ") + sm.get<std::string>();
  printOut("{}: {} for {}, batch {} x {} ranks, {} parameters\n",
           summary["artifact"].get<std::string>(), textOf(summary["target"]),
           printable(made), summary["batch"].get<int64_t>(),
           summary["world_size"].get<uint32_t>(),
           summary["parameters"].get<uint64_t>());
  if (summary["sizes"].size() > 1) {
    printOut("sizes:");
    for (const auto &size : summary["sizes"])
      printOut(" {}", dumpJson(size));
    printOut("\n");
  }
  const std::string loss = textOf(summary["loss"]);
  std::string schedule = loss.empty() ? "predicts only" : "loss: " + loss;
  for (const auto &[name, value] : summary["schedule"].items())
    schedule += fmt::format(", {}: {}", printable(name), shown(value));
  printOut("{}\n\nstate\n", schedule);
  for (const auto &[role, state] : summary["state"].items())
    printOut("  {:8} {:5} tensors {:>12} elements {:>10}\n", printable(role),
             state["count"].get<uint64_t>(), state["elements"].get<uint64_t>(),
             human(state["bytes"], "B"));
  printOut("\n");
  if (!summary["tensors"].empty())
    printTensors(summary["tensors"], tensors);
  if (!summary["decisions"].empty())
    printDecisions(summary["decisions"]);
  for (const auto &[name, program] : summary["programs"].items())
    printProgram(name, program);
  printOut("\nmemory: {}\n", human(summary["memory"]["bytes"], "B"));
  for (const auto &[name, bytes] : summary["memory"]["regions"].items())
    printOut("  {:12} {:>10}\n", printable(name), human(bytes, "B"));
  const Ordered &parameters = summary["parameter_bytes"];
  if (parameters["parts"].get<uint64_t>() > 0)
    printOut("parameters: {} in parts, {} whole on each rank\n",
             human(parameters["parts"], "B"), human(parameters["whole"], "B"));
  if (summary.contains("costs"))
    printCosts(summary["costs"]);
}

// Number of rows in the table of --memory.
constexpr size_t kRows = 20;

struct InspectArguments {
  std::string path;
  bool json = false, memory = false, costs = false, tensors = false;
};

Status inspect(const InspectArguments &a) {
  DLC_ASSIGN(Model model, openModel(a.path, Artifact::Use::Inspect));
  if (a.memory && !a.json) {
    const plan::Plan &plan = model.artifact.plan();
    printOut("memory of a rank: {}\n{}", roundBytes(double(totalBytes(plan))),
             memoryTable(plan, kRows));
    return {};
  }
  Ordered summary = summarize(model, a.costs);
  DLC_ASSIGN(summary["tensors"], listOf(model.artifact, "tensors.json",
                                        {"tensor", "decision", "reason"}));
  DLC_ASSIGN(summary["decisions"], listOf(model.artifact, "decisions.json",
                                          {"tensor", "kind", "why"}));
  if (a.json)
    printJson(summary, 2);
  else
    printSummary(summary, a.tensors);
  return {};
}

} // namespace

void addInspect(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "inspect", "show state, cost and memory of a model, its trainable "
                 "tensors, and what the exporter had merged or folded");
  auto arguments = std::make_shared<InspectArguments>();
  command
      ->add_option("model", arguments->path, "an artifact, run or checkpoint")
      ->required();
  command->add_flag("--json", arguments->json, "one JSON object on stdout");
  command->add_flag("--memory", arguments->memory,
                    "memory by state role, and the largest activations");
  command->add_flag("--tensors", arguments->tensors,
                    "each weight of the model, whether it trains, and why");
  command->add_flag("--costs", arguments->costs,
                    "bytes, FLOPs and predicted time on GPUs of each kernel");
  command->footer("Examples:\n  dlc inspect lenet.dlc --json\n"
                  "  dlc inspect lenet.dlc --memory");
  runIfChosen(line, *command, [arguments] { return inspect(*arguments); });
}

} // namespace dlc::tool
