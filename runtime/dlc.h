// SPDX-License-Identifier: Apache-2.0
// The rooms of the runtime that the tools use. Other people's programs have
// api/dlc/dlc.h and dlc.hpp.
#pragma once

#include "runtime/base/Status.h"           // how errors are reported
#include "runtime/base/process/Log.h"      // where messages go
#include "runtime/collective/Launcher.h"   // ranks
#include "runtime/data/Dataset.h"          // samples from files
#include "runtime/plan/Model.h"            // artifacts, runs, checkpoints
#include "runtime/train/Trainer.h"         // a whole training run
#include "runtime/train/session/Inputs.h"  // samples for a program
#include "runtime/train/session/Session.h" // a model that is loaded
