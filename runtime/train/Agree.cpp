#include "runtime/train/Agree.h"

#include <cstdlib>

namespace dlc {

Status agree(Communicator &communicator, const Status &own) {
  // A lost peer cannot be told anything.
  if (own.code() == Code::PeerLost || communicator.size() == 1)
    return own;
  std::string text =
      fmt::format("{} {}", static_cast<int>(own.code()), own.message());
  DLC_ASSIGN(std::vector<std::string> all, communicator.allGather(text));
  for (const std::string &other : all) {
    size_t space = other.find(' ');
    int code = std::atoi(other.c_str());
    if (code != 0)
      return Status(static_cast<Code>(code), other.substr(space + 1));
  }
  return {};
}

} // namespace dlc
