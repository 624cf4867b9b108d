// SPDX-License-Identifier: Apache-2.0
// Compares two op trees up to the numbering of values: names, operands, types, attributes.
#pragma once

#include <string>
#include <vector>

#include "frontend/mlir_read.h"

namespace braze::mlir {

class Compare {
 public:
  Compare(const Module& a, const Module& b, bool attrs) : a_(a), b_(b), attrs_(attrs) {
    map_.resize(a.value_types.size(), UINT32_MAX);
  }
  // "" or the first difference.
  std::string run() {
    op(*a_.op, *b_.op);
    return what_;
  }
  // Attributes that only one side has and that do not count, as "op:name"; "" accepts none.
  bool (*may_be_missing)(const Op& op, std::string_view name, const Attr& value) = nullptr;

 private:
  bool differ(const Op& o, std::string_view what) {
    if (what_.empty()) what_ = str_cat("op ", ops_, " ", o.name, ": ", what);
    return false;
  }
  bool pair(const Op& o, ValueId x, ValueId y) {
    map_[x] = y;
    if (!equal(&a_.type(x), &b_.type(y))) {
      return differ(o, str_cat("type ", print_type(a_.type(x)), " / ", print_type(b_.type(y))));
    }
    return true;
  }
  bool attributes(const Op& x, const Op& y, const Op& owner) {
    for (const NamedAttr& n : x.attrs) {
      const Attr* other = y.attr(n.name);
      if (!other && may_be_missing && may_be_missing(owner, n.name, *n.value)) continue;
      if (!other || !equal(n.value, other)) {
        return differ(x, str_cat(n.name, " = ", print_attr(*n.value).substr(0, 300), " / ",
                                 other ? print_attr(*other).substr(0, 300) : "absent"));
      }
    }
    return true;
  }
  bool op(const Op& x, const Op& y) {
    ++ops_;
    if (x.name != y.name) return differ(x, str_cat("name ", y.name));
    if (x.operands.size() != y.operands.size()) return differ(x, "number of operands");
    for (size_t k = 0; k < x.operands.size(); ++k) {
      if (map_[x.operands[k]] != y.operands[k]) return differ(x, str_cat("operand ", k));
    }
    if (x.num_results != y.num_results) return differ(x, "number of results");
    for (uint32_t k = 0; k < x.num_results; ++k) {
      if (!pair(x, x.result(k), y.result(k))) return false;
    }
    if (attrs_ && (!attributes(x, y, x) || !attributes(y, x, x))) return false;
    if (x.regions.size() != y.regions.size()) return differ(x, "number of regions");
    for (size_t r = 0; r < x.regions.size(); ++r) {
      auto p = x.regions[r].blocks, q = y.regions[r].blocks;
      if (p.size() != q.size()) return differ(x, "number of blocks");
      for (size_t k = 0; k < p.size(); ++k) {
        if (p[k].num_args != q[k].num_args) return differ(x, "number of block arguments");
        for (uint32_t i = 0; i < p[k].num_args; ++i) {
          if (!pair(x, p[k].arg(i), q[k].arg(i))) return false;
        }
        if (p[k].ops.size() != q[k].ops.size()) return differ(x, "number of ops");
        for (size_t i = 0; i < p[k].ops.size(); ++i) {
          if (!op(*p[k].ops[i], *q[k].ops[i])) return false;
        }
      }
    }
    return true;
  }

  const Module& a_;
  const Module& b_;
  bool attrs_;
  std::vector<ValueId> map_;
  int ops_ = 0;
  std::string what_;
};

}  // namespace braze::mlir
