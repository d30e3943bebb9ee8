// The C++ API of the runtime, which the tool `dlc` itself uses: train, evaluate
// and predict with what `dlc compile` made. Link libdlc.so; no Python, no
// compiler. runtime/README.md has an example.
#pragma once

#include "runtime/base/Log.h"            // where messages go
#include "runtime/base/Status.h"         // how errors are reported
#include "runtime/collective/Launcher.h" // ranks
#include "runtime/data/Dataset.h"        // samples from files
#include "runtime/plan/Model.h"          // artifacts, runs, checkpoints
#include "runtime/train/Inputs.h"        // samples for a program
#include "runtime/train/Session.h"       // a model that is loaded
#include "runtime/train/Trainer.h"       // a whole training run

namespace dlc {

// The version of the library that is linked, "0.1.0".
const char *version();

} // namespace dlc
