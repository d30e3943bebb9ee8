// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/Options.h"

#include "runtime/base/options/Commas.h"
#include "runtime/base/options/Nearest.h"

namespace dlc::api {
namespace {

Words wordsOf(const Option &option, const char *value) {
  if (!value)
    return {"true"};
  return option.commas ? splitAtCommas(value) : Words{value};
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
  OptionTable::Given given;
  for (size_t i = 0; i < count; ++i) {
    DLC_ASSIGN(const Option *option, find(table, text(options[i].name)));
    DLC_TRY(table.set(*option, wordsOf(*option, options[i].value),
                      option->name(), &given));
  }
  DLC_TRY(table.check(given));
  return given;
}

std::vector<dlc_option> given(const std::vector<KeptOption> &kept) {
  std::vector<dlc_option> options;
  for (const auto &[name, value] : kept)
    options.push_back({name.c_str(), value ? value->c_str() : nullptr});
  return options;
}

Result<SampleOptions> withOptions(SampleOptions samples,
                                  const std::vector<KeptOption> &kept) {
  OptionTable table;
  samples.addTo(table, "run");
  samples.addDrawsTo(table, "run");
  const std::vector<dlc_option> options = given(kept);
  DLC_TRY(apply(table, options.data(), options.size()).status());
  return samples;
}

} // namespace dlc::api
