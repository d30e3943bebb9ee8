#include "tools/dlc/Rows.h"

namespace dlc::tool {

Option &addModel(OptionTable &table, std::string key, std::string &path) {
  return table
      .text(std::move(key), path, "TEXT",
            "a run (its newest checkpoint), a checkpoint or an artifact")
      .named("model");
}

Option &addAverages(OptionTable &table, std::string key, int &set) {
  Option &row = table.add(std::move(key),
                          "use the moving averages of the weights; --ema=2: "
                          "the second set of them",
                          "");
  row.set = [&set](auto &words) -> Status {
    DLC_ASSIGN(const std::string word, oneWord(words));
    DLC_ASSIGN(const int64_t number,
               parseCount(word == "true" ? "1" : word, 0, 1 << 20));
    set = static_cast<int>(number);
    return {};
  };
  row.get = [&set] { return Words{std::to_string(set)}; };
  return row;
}

Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help) {
  return table.count(std::move(key), threads, 1, std::move(help), 4096);
}

Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help) {
  Option &row = table.text(std::move(key), path, "FILE", std::move(help))
                    .named("--output");
  row.alias = "-o";
  return row;
}

} // namespace dlc::tool
