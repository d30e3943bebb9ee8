// SPDX-License-Identifier: Apache-2.0
// dlc debug diff: compares two models.
#include "compiler/import/diff/Diff.h"
#include "compiler/import/tensor/Budget.h"
#include "runtime/base/Text.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc/Print.h"

#include <fmt/ranges.h>

namespace dlc::tool {
namespace {

struct DiffArguments {
  std::string a, b;
  bool json = false;
};

Json toJson(const import::ModelDiff &d) {
  Json values = Json::array();
  for (const import::ValueDiff &v : d.values)
    values.push_back({{"tensor", v.name},
                      {"type", v.type},
                      {"shape", v.shape},
                      {"elements", v.elements},
                      {"differing", v.differing},
                      {"max_absolute", v.absolute},
                      {"max_relative", v.relative},
                      {"not_finite", v.notFinite}});
  return {{"only_first", d.onlyA},
          {"only_second", d.onlyB},
          {"layout", d.layout},
          {"graph", d.graph},
          {"values", values},
          {"equal", d.equal},
          {"only_values", d.sameStructure()},
          {"same", d.same()}};
}

void printLines(const char *title, const std::vector<std::string> &lines) {
  if (!lines.empty())
    printOut("{}\n", title);
  for (const std::string &line : lines)
    printOut("  {}\n", printable(line, 500));
}

void printValues(const import::ModelDiff &d) {
  if (!d.values.empty())
    printOut("values: {} of {} initializers differ\n", d.values.size(),
             d.values.size() + size_t(d.equal));
  for (const import::ValueDiff &v : d.values)
    printOut("  {} {} [{}]: {} of {} elements, by at most {:.4g} (relative "
             "{:.4g}){}\n",
             printable(v.name), v.type, fmt::join(v.shape, ", "), v.differing,
             v.elements, v.absolute, v.relative,
             v.notFinite ? fmt::format(", {} of them not finite", v.notFinite)
                         : "");
}

void printDiff(const import::ModelDiff &d) {
  printLines("initializers only in the first", d.onlyA);
  printLines("initializers only in the second", d.onlyB);
  printLines("types and shapes", d.layout);
  printLines("graph", d.graph);
  printValues(d);
  if (d.same())
    printOut("no difference in {} initializers and the graph\n", d.equal);
  else if (d.sameStructure())
    printOut("names, types, shapes and the graph are the same\n");
}

Result<int> diffCommand(const DiffArguments &a) {
  DLC_ASSIGN(import::ModelDiff d,
             import::diffModels(a.a, a.b, size_t(import::kDefaultBudget)));
  if (a.json)
    printJson(toJson(d), 2);
  else
    printDiff(d);
  return d.same() ? 0 : 1;
}

} // namespace

void addDiff(CommandLine &line, CLI::App &parent) {
  auto a = std::make_shared<DiffArguments>();
  CLI::App *c =
      parent.add_subcommand("diff", "list the differences of two ONNX models");
  c->add_option("A", a->a, "an ONNX file")->required();
  c->add_option("B", a->b, "another one")->required();
  c->add_flag("--json", a->json, "the differences as JSON");
  c->footer(
      R"(Compares initializers by name (also in external data): names, types, shapes, the number of
elements that differ and the largest difference; nodes by their outputs: operators, inputs,
attributes; inputs and outputs of the models. Order, notes and documentation are ignored.
Exit code 0 if they are equal, 1 if they differ, 3 if a file is no model.

Examples:
  dlc debug diff lenet.onnx lenet-trained.onnx
  dlc debug diff a.onnx b.onnx --json)");
  runIfChosen(line, *c, [a] { return diffCommand(*a); });
}

} // namespace dlc::tool
