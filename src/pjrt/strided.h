// SPDX-License-Identifier: Apache-2.0
// Arrays with byte strides in memory, copied from one order to another.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/shape.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

// Byte strides of an array whose dimensions lie in `minor_to_major` order; empty: row-major.
Dims byte_strides(DimSpan dims, DimSpan minor_to_major, int64_t item);
bool is_row_major_order(DimSpan minor_to_major);

// Copies items of `item` bytes. Strides may be zero or negative; the two arrays must not overlap.
void copy_strided(char* to, DimSpan to_strides, const char* from, DimSpan from_strides, DimSpan dims,
                  int64_t item);

// Puts elements of types below a byte into the form literals have: signed ones sign-extended, others
// with zeros above.
void normalize_small(char* data, int64_t n, Dtype t);

// What a host asks for, as byte strides; null: row-major. `dims` are the array's.
Result<Dims> strides_of(const PJRT_Buffer_MemoryLayout* layout, DimSpan dims, int64_t item);

}  // namespace braze::pjrt
