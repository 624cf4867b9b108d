// SPDX-License-Identifier: Apache-2.0
// Pictures of a module, for dumps.
//
// Interface: print_dot (Graphviz, a cluster per computation) and print_html (one page without
// outside parts: every computation as a list with links from use to definition and back, small ones
// also as a drawing).
#pragma once

#include <string>

#include "ir/module.h"

namespace braze {

std::string print_dot(const Module& m);
std::string print_html(const Module& m);

}  // namespace braze
