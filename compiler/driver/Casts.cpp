// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Casts.h"
#include "compiler/import/rows/Rows.h"
#include "passes/autocast/CastNames.h"
#include "passes/autocast/CastReport.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Nearest.h"
#include <fmt/ranges.h>
#include <set>
#include <yaml-cpp/yaml.h>

using namespace mlir;

namespace dlc {

Status checkCastName(const std::string &name) {
  if (!castableOps(name).empty() || import::allRows().count(name))
    return {};
  std::vector<std::string> known = castableOps();
  for (const auto &[onnx, row] : import::allRows())
    known.push_back(onnx);
  return usageError("'{}' is neither an op of dlc nor an ONNX operator that it "
                    "knows{}",
                    name, suggestion(name, known));
}

namespace {

constexpr uint64_t kMaxBytes = 1 << 20;

class ListsFile {
public:
  explicit ListsFile(const std::string &path) : path(path) {}

  using Lists = std::map<std::string, std::vector<std::string>>;
  Result<Lists> read() {
    DLC_ASSIGN(std::string text, readFile(path, kMaxBytes));
    YAML::Node root;
    try {
      root = YAML::Load(text);
    } catch (const YAML::Exception &error) {
      return usageError("{}: {}", at(error.mark), error.msg);
    }
    if (root.IsNull())
      return lists;
    if (!root.IsMap())
      return usageError("{}: expected lists by the keys {}", path,
                        fmt::join(keys, ", "));
    for (const auto &entry : root)
      DLC_TRY(readList(entry.first, entry.second));
    return lists;
  }

private:
  std::string at(const YAML::Mark &mark) const {
    return fmt::format("{}:{}:{}", path, mark.line + 1, mark.column + 1);
  }

  Status readList(const YAML::Node &key, const YAML::Node &names) {
    std::string list = key.Scalar();
    if (std::find(keys.begin(), keys.end(), list) == keys.end())
      return usageError("{}: '{}' is none of the lists {}{}", at(key.Mark()),
                        list, fmt::join(keys, ", "), suggestion(list, keys));
    if (names.IsScalar())
      return add(list, names);
    if (!names.IsSequence() && !names.IsNull())
      return usageError("{}: expected a list of ops", at(names.Mark()));
    for (const auto &name : names)
      DLC_TRY(add(list, name));
    return {};
  }

  Status add(const std::string &list, const YAML::Node &node) {
    std::string place = at(node.Mark());
    if (!node.IsScalar())
      return usageError("{}: expected the name of an op", place);
    const std::string &name = node.Scalar();
    DLC_TRY(checkCastName(name).withContext(place));
    std::vector<std::string> ops = castableOps(name);
    if (ops.empty())
      ops.push_back(name);
    for (const std::string &op : ops) {
      auto [first, isNew] = seen.try_emplace(op, std::pair(list, place));
      if (!isNew && first->second.first != list)
        return usageError("{}: '{}' is on the list '{}' already, at {}", place,
                          name, first->second.first, first->second.second);
    }
    lists[list].push_back(name);
    return {};
  }

  const std::vector<std::string> keys{"allow", "deny", "infer", "clear"};
  const std::string &path;
  Lists lists;
  std::map<std::string, std::pair<std::string, std::string>> seen;
};

} // namespace

Result<ListsFile::Lists> readCastLists(const std::string &path) {
  return ListsFile(path).read();
}

Status checkNodeRules(ModuleOp module, const CastLists &lists) {
  if (lists.nodeRules().empty())
    return {};
  std::set<std::string> nodes;
  module.walk([&](ir::CastPolicyInterface op) {
    for (std::string &node : nodesOf(op))
      nodes.insert(std::move(node));
  });
  for (const NodeRule &rule : lists.nodeRules()) {
    bool fits = llvm::any_of(nodes, [&](const std::string &node) {
      return rule.pattern.search(node);
    });
    if (fits)
      continue;
    return usageError(
        "{} fits no node{}", rule.text,
        nearbyNames(rule.pattern.text(), {nodes.begin(), nodes.end()}));
  }
  return {};
}

std::vector<std::string> takeCastReport(ModuleOp module) {
  std::vector<std::string> lines;
  if (auto report = module->getAttrOfType<ArrayAttr>(kCastReport))
    for (auto line : report.getAsValueRange<StringAttr>())
      lines.push_back(line.str());
  module->removeAttr(kCastReport);
  return lines;
}

} // namespace dlc
