// SPDX-License-Identifier: Apache-2.0
// Errors: absl::Status with a message that names what went wrong, where, and what to do.
//
// Braze uses no exceptions. A function that can fail returns Status or Result<T>; TRY and ASSIGN
// pass an error on. `note` adds context ("while reading ENTRY main") as the error travels up.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace braze {

using absl::Status;
template <typename T>
using Result = absl::StatusOr<T>;

// What str_cat hands to abseil: abseil's own string_view may be another type than std's.
template <typename T>
const T& cat_piece(const T& v) { return v; }
inline absl::string_view cat_piece(std::string_view s) { return {s.data(), s.size()}; }

// absl::StrCat that takes std::string_view as well.
template <typename... A>
std::string str_cat(const A&... a) { return absl::StrCat(cat_piece(a)...); }

// Errors by kind. The arguments are concatenated as by str_cat.
template <typename... A>
Status invalid(const A&... a) { return absl::InvalidArgumentError(str_cat(a...)); }
template <typename... A>
Status unimplemented(const A&... a) { return absl::UnimplementedError(str_cat(a...)); }
template <typename... A>
Status internal(const A&... a) { return absl::InternalError(str_cat(a...)); }
template <typename... A>
Status not_found(const A&... a) { return absl::NotFoundError(str_cat(a...)); }
template <typename... A>
Status exhausted(const A&... a) { return absl::ResourceExhaustedError(str_cat(a...)); }

// Returns `s` with "context: " put before its message; keeps OK as it is.
inline Status note(std::string_view context, const Status& s) {
  return s.ok() ? s : Status(s.code(), str_cat(context, ": ", s.message()));
}

}  // namespace braze

#define BRAZE_CAT_(a, b) a##b
#define BRAZE_CAT(a, b) BRAZE_CAT_(a, b)

// TRY(expr): returns the error of a Status expression, or goes on.
#define TRY(...)                                        \
  do {                                                  \
    if (::absl::Status s_ = (__VA_ARGS__); !s_.ok()) return s_; \
  } while (0)

// ASSIGN(lhs, expr): lhs = value of a Result expression, or returns its error.
#define ASSIGN(lhs, ...) ASSIGN_(BRAZE_CAT(result_, __LINE__), lhs, __VA_ARGS__)
#define ASSIGN_(tmp, lhs, ...)                \
  auto tmp = (__VA_ARGS__);                   \
  if (!tmp.ok()) return tmp.status();         \
  lhs = std::move(tmp).value()
