// SPDX-License-Identifier: Apache-2.0
// What lowering reads of instructions and computations, as hashes: computations of one key lower to
// kernels that differ in names alone. Names, places in files and numbers of instructions do not count.
#pragma once

#include "base/hash128.h"
#include "ir/module.h"

namespace braze::loop {

Hash128 shape_key(const Shape& s);
// An instruction without its operands: op, shape, attributes and what it calls.
Hash128 instr_key(const Instr& i);
Hash128 computation_key(const Computation& c);

}  // namespace braze::loop
