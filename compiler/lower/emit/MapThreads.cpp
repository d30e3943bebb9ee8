// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_MAPTHREADS
#include "compiler/lower/Passes.h.inc"

namespace {

struct MapThreads : impl::MapThreadsBase<MapThreads> {
  void runOnOperation() final {
    if (failed(options.target->mapThreads(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace dlc
