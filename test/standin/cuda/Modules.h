// Modules of the stand-in: the kernels that PTX or machine code declares, with
// the sizes of their parameters.
#pragma once

#include "test/standin/Standin.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::standin {

struct Function {
  std::string name;
  std::vector<size_t> parameters; // bytes of each
  int dynamicShared = 48 << 10;   // at most
};

struct Module {
  int device; // in whose context it was loaded
  std::map<std::string, Function> functions;
};

// Null if the image is neither or has no kernel.
Module *loadModule(const void *image);
CUresult unloadModule(Module *module);
void forgetModules(int device); // all of its context
Function *findFunction(Module *module, const std::string &name);
bool isLive(const Function *function);

// Checks a launch; then the kernel's host function is what runs.
CUresult launchKernel(Function *function, Launch launch, CUstream stream);

} // namespace dlc::standin
