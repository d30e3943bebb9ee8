#include "runtime/exec/Executor.h"
#include "AllocationCounter.h"
#include <gtest/gtest.h>
