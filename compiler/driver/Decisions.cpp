#include "compiler/driver/Decisions.h"
#include "runtime/base/Json.h"

namespace dlc {

std::string decisionsJson(const std::vector<import::Decision> &decisions) {
  Json json = Json::array();
  for (const import::Decision &decision : decisions)
    json.push_back({{"tensor", decision.tensor},
                    {"kind", decision.kind},
                    {"why", decision.text}});
  return dumpJson(json, 1) + "\n";
}

} // namespace dlc
