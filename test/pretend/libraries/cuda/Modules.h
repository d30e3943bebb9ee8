// SPDX-License-Identifier: Apache-2.0
// Modules of the stand-in: the kernels that PTX or machine code declares, with
// the sizes of their parameters.
#pragma once

#include "test/pretend/libraries/Standin.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::standin {

struct Function {
  std::string name;
  std::vector<size_t> parameters; // bytes of each
  int ownShared = 0;              // bytes, static
  int dynamicShared = 48 << 10;   // at most, with its own
  unsigned most = 1024;           // threads of a block
};

struct Module {
  int device; // in whose context it was loaded
  std::map<std::string, Function> functions;
};

// As a driver of this version (13000) for this SM takes it. `log` is what its
// compiler says of PTX.
CUresult loadModule(const void *image, int driver, int sm, Module *&module,
                    std::string &log);
CUresult unloadModule(Module *module);
void forgetModules(int device); // all of its context
Function *findFunction(Module *module, const std::string &name);
bool isLive(const Function *function);

// Checks a launch; then the kernel's host function is what runs.
CUresult launchKernel(Function *function, Launch launch, CUstream stream);

} // namespace dlc::standin
