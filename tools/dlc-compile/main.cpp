// dlc-compile: `dlc compile` and `dlc export`.
#include "runtime/base/Log.h"
#include "tools/dlc-compile/Commands.h"

#include <fmt/core.h>

namespace dlc::tool {

int report(const Status &status) {
  if (!status.ok())
    logError(status.message());
  return static_cast<int>(status.code());
}

static int run(int argc, char **argv) {
  CommandLine line;
  line.app.name("dlc");
  line.app.description("The compiler's part of dlc.");
  line.app.require_subcommand(1);
  addCompile(line);
  addConfig(line);
  addExport(line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return line.app.exit(request);
  } catch (const CLI::ParseError &error) {
    return report(usageError("{}", explain(line.app, error)));
  }
  return line.chosen();
}

} // namespace dlc::tool

int main(int argc, char **argv) { return dlc::tool::run(argc, argv); }
