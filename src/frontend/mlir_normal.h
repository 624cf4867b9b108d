// SPDX-License-Identifier: Apache-2.0
// Brings an op into the canonical form of mlir_ast.h: VHLO → StableHLO, dimension lists.
//
// Interface: class Normaliser, one per module.
#pragma once

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frontend/mlir_build.h"

namespace braze::mlir {

class Normaliser {
 public:
  explicit Normaliser(Builder* builder) : b_(*builder) {}

  // The canonical name of an op under `parent` (a canonical name). An unknown VHLO op keeps its
  // name; `attributes` reports it.
  std::string_view name(std::string_view op, std::string_view parent);

  // Rewrites the attributes of `op` (its name as read) and sorts them.
  Status attributes(std::string_view op, std::vector<NamedAttr>* attrs);

 private:
  Status from_vhlo(std::string_view base, std::vector<NamedAttr>* attrs);
  void group(std::string_view base, std::vector<NamedAttr>* attrs);
  const Attr* convert(std::string_view base, std::string_view name, const Attr* value);
  void channel(std::string_view base, std::vector<NamedAttr>* attrs);
  const Attr* dimension_list(const Attr* value);

  Builder& b_;
  absl::flat_hash_map<std::string_view, std::string_view> names_;
};

// "add" and true for "vhlo.add_v1"; false if `op` is not a VHLO op.
bool vhlo_base(std::string_view op, std::string_view* base);

}  // namespace braze::mlir
