// The shared object depends on the kernels alone: not on the run, the threads or the cache.
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --jobs=1 -o %t.1.so
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --jobs=2 -o %t.2.so
// RUN: cmp %t.1.so %t.2.so
// RUN: rm -rf %t.cache
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --cache=%t.cache -o %t.3.so
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --cache=%t.cache -o %t.4.so
// RUN: cmp %t.1.so %t.3.so
// RUN: cmp %t.1.so %t.4.so
// A damaged entry is a miss.
// RUN: %python -c "import glob; [open(f, 'r+b').write(b'damaged') for f in glob.glob('%t.cache/*.o')]"
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --cache=%t.cache -o %t.5.so
// RUN: cmp %t.1.so %t.5.so
// The oldest entries are removed after a compilation that adds some: here, all.
// RUN: rm -rf %t.small
// RUN: dlc-codegen %S/../lower/schedule-kernels.mlir --cache=%t.small --cache-bytes=1 -o %t.6.so
// RUN: cmp %t.1.so %t.6.so
// RUN: %python -c "import os; assert os.listdir('%t.small') == []"
