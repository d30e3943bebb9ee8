// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/Options.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/train/session/AveragesRow.h"

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

// The rows of a table in the form of dlc.h.
class ListedRows {
public:
  explicit ListedRows(const OptionTable &table) {
    for (const Option &option : table.all())
      if (option.flag.starts_with("--"))
        rows_.push_back({keep(option.name()), keep(option.type),
                         keep(option.group), keep(option.help),
                         option.optionalWord, option.commas || option.repeats});
  }
  ListedRows(const ListedRows &) = delete;
  ListedRows &operator=(const ListedRows &) = delete;

  const dlc_option_row *get(size_t *count) const {
    if (count)
      *count = rows_.size();
    return rows_.data();
  }

private:
  const char *keep(std::string text) {
    return texts_.emplace_back(std::move(text)).c_str();
  }

  std::deque<std::string> texts_;
  std::vector<dlc_option_row> rows_;
};

const ListedRows &datasetRows() {
  static const ListedRows rows = [] {
    SampleOptions samples;
    OptionTable table;
    samples.addTo(table, "run");
    samples.addDrawsTo(table, "run");
    return ListedRows(table);
  }();
  return rows;
}

const ListedRows &sessionRows() {
  static const ListedRows rows(SessionRows().table);
  return rows;
}

const ListedRows &trainerRows() {
  static const ListedRows rows = [] {
    TrainOptions options;
    LaunchFlags launch;
    bool signals = false;
    OptionTable table;
    addTrainerRows(table, options, launch, signals);
    return ListedRows(table);
  }();
  return rows;
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

SessionRows::SessionRows() {
  table.count("run.threads", options.threads, 0, "of a CPU");
  addAverages(table, "run.ema", options.averages).flag = "--ema";
  table.toggle("run.no-graph", noGraph, "launch commands one by one");
  options.tune.addTo(table);
}

void addTrainerRows(OptionTable &table, TrainOptions &options,
                    LaunchFlags &launch, bool &signals) {
  options.addTo(table);
  launch.addTo(table, "run");
  table.toggle("run.signals", signals, "handled by the run").notKept();
}

} // namespace dlc::api

const dlc_option_row *dlc_options(const char *of, size_t *count) {
  using namespace dlc::api;
  return list("options", {{of, "the name"}}, count,
              [&]() -> const dlc_option_row * {
                const std::string_view what = of;
                if (what == "dataset")
                  return datasetRows().get(count);
                if (what == "session")
                  return sessionRows().get(count);
                return what == "trainer" ? trainerRows().get(count) : nullptr;
              });
}
