// SPDX-License-Identifier: Apache-2.0
include "ops/Attention.td"
include "ops/Elementwise.td"
include "ops/Linear.td"
include "ops/Norm.td"
include "ops/Random.td"
include "ops/Reduce.td"
include "ops/Shape.td"
include "ops/Train.td"
