// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/lengths/Joined.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dlc {
namespace {

class RenamedSource final : public SourceOver {
public:
  RenamedSource(std::shared_ptr<const Source> source,
                std::map<std::string, std::string> names)
      : SourceOver(std::move(source)), names_(std::move(names)) {}

  std::vector<std::string> keys() const override {
    std::vector<std::string> keys = source_->keys();
    for (const auto &[key, name] : names_)
      std::ranges::replace(keys, name, key);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    return source_->head(nameIn(key));
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    return source_->rows(nameIn(key));
  }

private:
  std::string nameIn(const std::string &key) const {
    const auto found = names_.find(key);
    return found == names_.end() ? key : found->second;
  }

  std::map<std::string, std::string> names_; // by name of the input
};

} // namespace

std::string columnsText(const std::string &text) {
  if (text.find(':') != text.npos || text.find('=') == text.npos)
    return text;
  std::string columns;
  for (const std::string_view found : splitAt(text, ',')) {
    std::string part(found);
    const size_t equals = part.find('=');
    if (equals != part.npos)
      part[equals] = ':';
    if (!columns.empty())
      columns += equals == part.npos ? ',' : ';';
    columns += part;
  }
  return columns;
}

std::shared_ptr<const Source> renamed(std::shared_ptr<const Source> source,
                                      const std::string &columns) {
  std::map<std::string, std::string> names;
  for (const std::string_view part : splitAt(columns, ';'))
    if (const size_t colon = part.find(':'); colon != part.npos)
      if (const std::string name(part.substr(colon + 1)); source->has(name))
        names[std::string(part.substr(0, colon))] = name;
  if (names.empty())
    return source;
  return std::make_shared<const RenamedSource>(std::move(source),
                                               std::move(names));
}

} // namespace dlc
