#include "runtime/dlc.h"

namespace dlc {

const char *version() { return dlcVersion().data(); }

} // namespace dlc
