#include "runtime/api/Options.h"

#include "runtime/api/Handles.h"
#include "runtime/base/options/Nearest.h"

namespace dlc::api {
namespace {

Words wordsOf(const Option &option, const char *value) {
  if (!value)
    return {"true"};
  if (!option.commas)
    return {value};
  Words words;
  for (std::string_view rest = value;;) {
    const size_t comma = rest.find(',');
    words.emplace_back(rest.substr(0, comma));
    if (comma == rest.npos)
      return words;
    rest.remove_prefix(comma + 1);
  }
}

Result<const Option *> find(const OptionTable &table, const std::string &name) {
  Words names;
  for (const Option &option : table.all()) {
    const std::string flag = option.flag.starts_with("--") ? option.name() : "";
    if (!flag.empty() && flag == name)
      return &option;
    names.push_back(flag);
  }
  return usageError("no option '{}'{}", name, suggestion(name, names));
}

} // namespace

Result<OptionTable::Given> apply(OptionTable &table, const dlc_option *options,
                                 size_t count) {
  if (count > 0)
    DLC_TRY(expectGiven(options, "the list of options"));
  OptionTable::Given given;
  for (size_t i = 0; i < count; ++i) {
    DLC_ASSIGN(const Option *option, find(table, text(options[i].name)));
    DLC_TRY(
        table.set(*option, wordsOf(*option, options[i].value), option->name()));
    given.push_back(option->key);
  }
  DLC_TRY(table.check(given));
  return given;
}

} // namespace dlc::api
