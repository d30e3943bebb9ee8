// The C++ API of the runtime, which the tool `dlc` itself uses: train, evaluate
// and predict with what `dlc compile` made. Link libdlc.so; no Python, no
// compiler. runtime/README.md has an example.
#pragma once

#include "runtime/base/Status.h"           // how errors are reported
#include "runtime/base/process/Log.h"      // where messages go
#include "runtime/collective/Launcher.h"   // ranks
#include "runtime/data/Dataset.h"          // samples from files
#include "runtime/plan/Model.h"            // artifacts, runs, checkpoints
#include "runtime/train/Trainer.h"         // a whole training run
#include "runtime/train/session/Inputs.h"  // samples for a program
#include "runtime/train/session/Session.h" // a model that is loaded

namespace dlc {

// The version of the library that is linked, "0.1.0".
const char *version();

} // namespace dlc
