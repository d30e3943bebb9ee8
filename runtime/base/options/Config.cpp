// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Config.h"

#include "runtime/base/files/Files.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace dlc {
namespace {

constexpr uint64_t kMaxBytes = 256 << 10; // of a file
constexpr size_t kMaxDepth = 32;          // of bases
/// Files read, counting each repetition: bases with two bases each would be a
/// billion at that depth.
constexpr int kMaxFiles = 1000;
/// Words of all files: aliases may repeat a list many times.
constexpr size_t kMaxWords = 1'000'000;
/// Keys for bases: detectron2's, and yacs'.
constexpr const char *kBases[] = {"_BASE_", "BASE"};

// The text of a scalar, or the texts of a list.
Status readWords(const YAML::Node &node, const std::string &name,
                 ConfigValue &value) {
  if (node.IsNull())
    return {};
  if (node.IsScalar()) {
    value.words.push_back(node.Scalar());
    return {};
  }
  if (node.IsSequence())
    for (const auto &element : node)
      if (element.IsScalar())
        value.words.push_back(element.Scalar());
      else
        return usageError("{}: '{}' contains more than scalar values",
                          value.where, name);
  else
    return usageError("{}: expected '{}' to be a value or a list", value.where,
                      name);
  return {};
}

class Reader {
public:
  Status read(const std::string &path) {
    std::error_code error;
    std::string real = std::filesystem::weakly_canonical(path, error).string();
    if (std::ranges::count(open_, real) > 0)
      return usageError("{}: _BASE_ or BASE includes this file recursively",
                        path);
    if (open_.size() >= kMaxDepth)
      return usageError("{}: more than {} nested base files", path, kMaxDepth);
    if (++files_ > kMaxFiles)
      return usageError("{}: more than {} files are read for one config", path,
                        kMaxFiles);
    DLC_ASSIGN(std::string text, readFile(path, kMaxBytes));
    open_.push_back(real);
    DLC_TRY(parse(path, text));
    open_.pop_back();
    return {};
  }

  Config take() { return std::move(config_); }

private:
  static std::string at(const std::string &path, const YAML::Mark &mark) {
    return mark.is_null()
               ? path
               : fmt::format("{}:{}:{}", path, mark.line + 1, mark.column + 1);
  }

  Status parse(const std::string &path, const std::string &text) {
    YAML::Node root;
    try {
      root = YAML::Load(text);
    } catch (const YAML::Exception &error) {
      return usageError("{}: {}", at(path, error.mark), error.msg);
    }
    if (root.IsNull())
      return {};
    if (!root.IsMap())
      return usageError("{}: expected sections of keys", path);
    if (root[kBases[0]] && root[kBases[1]])
      return usageError("{}: {} and {} are the same setting: give one of them",
                        path, kBases[0], kBases[1]);
    for (const char *name : kBases)
      DLC_TRY(bases(path, name, root[name]));
    std::set<std::string> seen;
    for (const auto &entry : root) {
      const std::string section = entry.first.Scalar();
      if (section == kBases[0] || section == kBases[1])
        continue;
      if (!seen.insert(section).second)
        return usageError("{}: '{}' is given twice",
                          at(path, entry.first.Mark()), section);
      DLC_TRY(readSection(path, section, entry.first, entry.second));
    }
    return {};
  }

  Status bases(const std::string &path, const char *key,
               const YAML::Node &node) {
    if (!node)
      return {};
    std::vector<std::string> names;
    if (node.IsScalar())
      names.push_back(node.Scalar());
    else if (node.IsSequence())
      for (const auto &element : node)
        names.push_back(element.IsScalar() ? element.Scalar() : "");
    for (const std::string &name : names)
      if (name.empty())
        names.clear();
    if (names.empty())
      return usageError("{}: expected {} to be a file's name, or a list",
                        at(path, node.Mark()), key);
    for (const std::string &name : names)
      DLC_TRY(
          read((std::filesystem::path(path).parent_path() / name).string()));
    return {};
  }

  Status readSection(const std::string &path, const std::string &section,
                     const YAML::Node &key, const YAML::Node &node) {
    if (node.IsNull())
      return {};
    if (!node.IsMap())
      return usageError("{}: expected '{}' to be a section of keys",
                        at(path, key.Mark()), section);
    std::set<std::string> seen;
    for (const auto &entry : node) {
      const std::string name = section + "." + entry.first.Scalar();
      if (!seen.insert(name).second)
        return usageError("{}: '{}' is given twice",
                          at(path, entry.first.Mark()), name);
      ConfigValue value{
          {}, at(path, entry.second.Mark()), at(path, entry.first.Mark())};
      DLC_TRY(readWords(entry.second, name, value));
      words_ += value.words.size();
      if (words_ > kMaxWords)
        return usageError("{}: more than {} values", value.where, kMaxWords);
      config_[name] = std::move(value);
    }
    return {};
  }

  Config config_;
  std::vector<std::string> open_;
  int files_ = 0;
  size_t words_ = 0;
};

} // namespace

Result<Config> readConfig(const std::string &path) {
  Reader reader;
  DLC_TRY(reader.read(path));
  return reader.take();
}

Result<std::pair<std::string, ConfigValue>>
parseOverride(const std::string &text) {
  const size_t split = text.find('=');
  const std::string name = text.substr(0, split);
  if (split == std::string::npos || name.find('.') == std::string::npos)
    return usageError(
        "unexpected argument '{}': expected one file, and settings "
        "as in train.lr=0.1",
        text);
  ConfigValue value{{}, text, text};
  try {
    DLC_TRY(readWords(YAML::Load(text.substr(split + 1)), name, value));
  } catch (const YAML::Exception &error) {
    return usageError("{}: {}", text, error.msg);
  }
  return std::pair(name, value);
}

} // namespace dlc
