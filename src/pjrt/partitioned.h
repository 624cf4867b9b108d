// SPDX-License-Identifier: Apache-2.0
// Programs over several devices: the program of one device that spmd/expand makes, with the parts of
// arrays that devices hold as arguments and results.
#pragma once

#include <memory>
#include <string_view>

#include "pjrt/program.h"

namespace braze::pjrt {

// `facts` are of the whole arrays. Replicas and partitions are those of `options`; `image` as in
// compile_program.
Result<std::unique_ptr<Program>> compile_partitioned(std::unique_ptr<Module> m, ProgramFacts facts,
                                                     const ProgramOptions& options,
                                                     std::string_view image = {});

}  // namespace braze::pjrt
