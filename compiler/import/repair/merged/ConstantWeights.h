// SPDX-License-Identifier: Apache-2.0
// Weights that the model's file has in Constant nodes and in graphs inside of
// nodes.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// A Constant of f32, f16, bf16 or f64 that would be trained, or be a running
/// statistic, if it were an initializer of the main graph (findRoles) becomes
/// one, named as the node's output; so do initializers of these types of graphs
/// inside of nodes, trained or not. Names of such graphs that are not unique
/// get the node's before them (separateNames). All other Constants stay nodes:
/// numbers, what no layer reads as its weight, a few numbers that a Gather
/// chooses from, narrow types, ones and zeros that a norm of groups is written
/// with; in a file of torch's, which has its parameters as initializers, all of
/// them if one of those is trained. To be called before the file is restored.
/// Linear in the size of the file; a Constant that cannot be read stays as
/// well. Code::BadModel only where the budget is used up.
Status takeConstants(OnnxFile &file);

} // namespace dlc::import
