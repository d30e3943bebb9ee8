// Where weights come from: fresh values, other files, adapters.
#include "compiler/driver/Settings.h"

namespace dlc {

void Settings::addFineTune() {
  import::ImportOptions &i = options.import;
  list("model.init", i.init.rules, "[REGEX:]KIND",
       "initial values of the weights that match, or of all: "
       "{xavier,kaiming}_{uniform,normal}, trunc_normal, orthogonal, zeros, "
       "ones, keep; the first that matches counts")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::InitRule::parse(word).status());
    i.init.rules = words;
    return {};
  };
  count("model.seed", i.init.seed, 0, "of initial values and dropout");
}

} // namespace dlc
