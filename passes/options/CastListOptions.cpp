// SPDX-License-Identifier: Apache-2.0
// Options of autocast's lists: validation of names, and the file of
// --amp-lists.
#include "passes/Options.h"
#include "passes/autocast/CastNames.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Nearest.h"
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

namespace dlc {
namespace {

constexpr uint64_t kMaxListsBytes = 1 << 20;
const Words kCastListNames{"allow", "deny", "infer", "clear"};

/// Code::Usage for a name that is neither an op of dlc nor in `onnxOperators`,
/// with the nearest one.
Status checkCastName(const std::string &name, const Words &onnxOperators) {
  if (!castableOps(name).empty() || llvm::is_contained(onnxOperators, name))
    return {};
  Words known = castableOps();
  known.insert(known.end(), onnxOperators.begin(), onnxOperators.end());
  return usageError("'{}' is neither an op of dlc nor an ONNX operator that it "
                    "knows{}",
                    name, suggestion(name, known));
}

/// Names by list:
///
///   allow: [Gemm, Conv]
///   deny:                # or infer, clear
///     - HardSwish
///
/// Code::Usage, with file, line and column, for an unknown key or op, an op on
/// two lists, and invalid syntax; Code::Failed if it cannot be read.
class ListsFile {
public:
  ListsFile(const std::string &path, const Words &onnxOperators)
      : path(path), onnxOperators(onnxOperators) {}

  using Lists = std::map<std::string, std::vector<std::string>>;
  Result<Lists> read() {
    DLC_ASSIGN(std::string text, readFile(path, kMaxListsBytes));
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
                        fmt::join(kCastListNames, ", "));
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
    if (std::find(kCastListNames.begin(), kCastListNames.end(), list) ==
        kCastListNames.end())
      return usageError("{}: '{}' is none of the lists {}{}", at(key.Mark()),
                        list, fmt::join(kCastListNames, ", "),
                        suggestion(list, kCastListNames));
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
    DLC_TRY(checkCastName(name, onnxOperators).withContext(place));
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

  const std::string &path;
  const Words &onnxOperators;
  Lists lists;
  std::map<std::string, std::pair<std::string, std::string>> seen;
};

} // namespace

void AmpOptions::addLists(OptionTable &table, Words onnxOperators) {
  const auto known = std::make_shared<const Words>(std::move(onnxOperators));
  for (auto [key, field] :
       {std::pair("amp.allow", &allow), std::pair("amp.deny", &deny),
        std::pair("amp.infer", &infer), std::pair("amp.clear", &clear)})
    table.find(key)->set = [field, known](auto &words) -> Status {
      for (const std::string &word : words)
        DLC_TRY(checkCastName(word, *known));
      *field = words;
      return {};
    };
  table
      .text("amp.lists", listsFile, "FILE",
            "YAML file of ops to add to the lists allow, deny, infer and clear")
      .named("--amp-lists")
      .only("amp.level", {"O1", "O2", "O3"})
      .set = [this, known](auto &words) -> Status {
    fileLists.clear();
    listsFile = words.size() == 1 ? words[0] : "";
    if (listsFile.empty())
      return {};
    DLC_ASSIGN(fileLists, ListsFile(listsFile, *known).read());
    return {};
  };
}

void AmpOptions::resolve() {
  auto move = [&](const char *list, Words &to) {
    const Words &from = fileLists[list];
    to.insert(to.end(), from.begin(), from.end());
  };
  move("allow", allow);
  move("deny", deny);
  move("infer", infer);
  move("clear", clear);
  fileLists.clear();
  listsFile.clear();
}

} // namespace dlc
