// SPDX-License-Identifier: Apache-2.0
#include "spmd/tiling.h"

#include <algorithm>
#include <numeric>

#include "base/lexer.h"
#include "frontend/hlo_sharding.h"

namespace braze::spmd {
namespace {

constexpr int64_t kMaxDevices = 1 << 16;

// A reader of the short forms; errors name the whole text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) {}

  bool eat(std::string_view s) {
    skip();
    if (rest_.substr(0, s.size()) != s) return false;
    rest_.remove_prefix(s.size());
    return true;
  }
  Status expect(std::string_view s) {
    return eat(s) ? absl::OkStatus() : error(str_cat("expected '", s, "'"));
  }
  Result<int64_t> integer() {
    skip();
    const bool negative = eat("-");
    int64_t v = 0;
    size_t n = 0;
    while (n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9' && v < (int64_t{1} << 40))
      v = v * 10 + (rest_[n++] - '0');
    if (n == 0) return error("expected a number");
    rest_.remove_prefix(n);
    return negative ? -v : v;
  }
  Result<std::string> quoted() {
    TRY(expect("\""));
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) return error("an open string");
    std::string out(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return out;
  }
  // @name or @"name"
  Result<std::string> symbol() {
    TRY(expect("@"));
    if (!rest_.empty() && rest_[0] == '"') return quoted();
    size_t n = 0;
    while (n < rest_.size() && rest_[n] != ',' && rest_[n] != '>' && rest_[n] != ' ') ++n;
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  // The rest of a list whose opening bracket is read.
  template <typename F>
  Status list(std::string_view close, F item) {
    for (bool first = true; !eat(close); first = false) {
      if (!first) TRY(expect(","));
      TRY(item());
    }
    return absl::OkStatus();
  }
  Status error(std::string_view what) const {
    return invalid("sharding ", text_, ": ", what, " at '", rest_.substr(0, 20), "'");
  }

 private:
  void skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  std::string_view text_, rest_;
};

// ["x"=2, "y"=4], device_ids=[…]>
Status read_mesh(Reader& r, Mesh* m) {
  TRY(r.expect("["));
  TRY(r.list("]", [&]() -> Status {
    Mesh::Axis a;
    ASSIGN(a.name, r.quoted());
    TRY(r.expect("="));
    ASSIGN(a.size, r.integer());
    if (a.size < 1 || a.size > kMaxDevices) return r.error("a size of an axis");
    m->axes.push_back(std::move(a));
    return absl::OkStatus();
  }));
  if (r.eat(",")) {
    TRY(r.expect("device_ids"));
    TRY(r.expect("="));
    TRY(r.expect("["));
    TRY(r.list("]", [&]() -> Status {
      ASSIGN(int64_t id, r.integer());
      m->device_ids.push_back(id);
      return absl::OkStatus();
    }));
  }
  return r.expect(">");
}

Result<AxisRef> read_axis(Reader& r) {
  AxisRef a;
  ASSIGN(a.name, r.quoted());
  if (r.eat(":")) {
    TRY(r.expect("("));
    ASSIGN(a.pre, r.integer());
    TRY(r.expect(")"));
    ASSIGN(a.size, r.integer());
    if (a.pre < 1 || a.size < 1) return r.error("a part of an axis");
  }
  return a;
}

Status read_axes(Reader& r, std::vector<AxisRef>* out) {
  TRY(r.expect("{"));
  return r.list("}", [&]() -> Status {
    ASSIGN(AxisRef a, read_axis(r));
    out->push_back(std::move(a));
    return absl::OkStatus();
  });
}

// {"x", ?}p1
Status read_dim(Reader& r, AxisSharding* s) {
  TRY(r.expect("{"));
  std::vector<AxisRef> axes;
  bool open = false;
  TRY(r.list("}", [&]() -> Status {
    if (r.eat("?")) return open = true, absl::OkStatus();
    ASSIGN(AxisRef a, read_axis(r));
    axes.push_back(std::move(a));
    return absl::OkStatus();
  }));
  if (r.eat("p")) TRY(r.integer().status());
  s->dims.push_back(std::move(axes));
  s->open.push_back(open);
  return absl::OkStatus();
}

// An axis part as the digit of a position: position / divisor % size.
struct Digit {
  int64_t divisor = 1, size = 1;
};
Result<Digit> digit_of(const AxisRef& a, const Mesh& m) {
  int64_t inner = 1;
  for (size_t k = m.axes.size(); k-- > 0;) {
    const int64_t n = m.axes[k].size;
    if (m.axes[k].name != a.name) {
      inner *= n;
      continue;
    }
    if (a.size == 0) return Digit{inner, n};
    if (n % (a.pre * a.size) != 0)
      return invalid("sharding: axis \"", a.name, "\" of size ", n, " has no part (", a.pre, ")", a.size);
    return Digit{inner * (n / (a.pre * a.size)), a.size};
  }
  return invalid("sharding: the mesh has no axis \"", a.name, "\"");
}

// `keys`: the tile of each position; devices of a tile in order of position.
Tiling grouped(Dims tiles, const std::vector<int64_t>& keys, const std::vector<int64_t>& ids) {
  Tiling t;
  t.tiles = std::move(tiles);
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  for (int64_t p : order) t.devices.push_back(ids.empty() ? p : ids[p]);
  return t;
}

Status check_devices(const Tiling& t, int64_t devices, std::string_view text) {
  std::vector<bool> seen(devices, false);
  bool good = static_cast<int64_t>(t.devices.size()) == devices;
  for (size_t k = 0; good && k < t.devices.size(); ++k) {
    good = t.devices[k] >= 0 && t.devices[k] < devices && !seen[t.devices[k]];
    if (good) seen[t.devices[k]] = true;
  }
  if (good) return absl::OkStatus();
  return unimplemented("sharding ", text, " over other devices than the program's ", devices);
}

Result<Tiling> tiling_of_hlo(std::string_view text, int64_t rank, int64_t devices) {
  ASSIGN(const HloSharding s, parse_sharding(text));
  if (s.kind != HloSharding::kTiled) return replicated(rank, devices);
  Tiling t;
  if (static_cast<int64_t>(s.tile.size()) < rank) return invalid("sharding ", text, " of rank ", rank);
  t.tiles.assign(s.tile.begin(), s.tile.begin() + rank);
  for (int64_t n : s.tile)
    if (n < 1 || n > kMaxDevices) return invalid("sharding ", text);
  t.devices = s.devices;
  if (!s.iota_reshape.empty()) {
    // Element i of the iota, reshaped and transposed.
    const int64_t n = product(s.iota_reshape);
    if (n != devices || s.iota_transpose.size() != s.iota_reshape.size())
      return unimplemented("sharding ", text, " over other devices than the program's ", devices);
    Dims dims, strides(s.iota_reshape.size(), 1), step;
    for (size_t k = s.iota_reshape.size(); k-- > 1;) strides[k - 1] = strides[k] * s.iota_reshape[k];
    for (int64_t d : s.iota_transpose) {
      if (d < 0 || d >= static_cast<int64_t>(strides.size())) return invalid("sharding ", text);
      dims.push_back(s.iota_reshape[d]);
      step.push_back(strides[d]);
    }
    for (int64_t i = 0; i < n; ++i) {
      int64_t id = 0, rest = i;
      for (size_t k = dims.size(); k-- > 0; rest /= dims[k]) id += rest % dims[k] * step[k];
      t.devices.push_back(id);
    }
  }
  for (size_t k = 0; k < s.last_dims.size() && rank + k < s.tile.size(); ++k) {
    if (s.last_dims[k] != HloSharding::kUnreduced) continue;
    if (k > 0 && t.terms == 1 && product(DimSpan(s.tile).subspan(rank, k)) != 1)
      return unimplemented("sharding ", text, " with unreduced devices behind others");
    t.terms *= s.tile[rank + k];
  }
  TRY(check_devices(t, devices, text));
  if (t.devices.size() % t.count() != 0) return invalid("sharding ", text);
  return t;
}

}  // namespace

int64_t Tiling::position(int64_t d) const {
  return std::find(devices.begin(), devices.end(), d) - devices.begin();
}

Result<MeshTable> meshes_of(const Module& m) {
  constexpr std::string_view kPrefix = "sdy.mesh.";
  MeshTable out;
  for (const auto& [key, text] : m.other) {
    if (key.rfind(kPrefix, 0) != 0) continue;
    Reader r(text);
    TRY(r.expect("#sdy.mesh<"));
    TRY(read_mesh(r, &out[key.substr(kPrefix.size())]));
  }
  return out;
}

bool is_axis_sharding(std::string_view text) { return text.rfind("#sdy.sharding", 0) == 0; }

Result<AxisSharding> parse_axis_sharding(std::string_view text) {
  AxisSharding s;
  Reader r(text);
  // A list, one for each value, of which there must be one.
  const bool list = r.eat("#sdy.sharding_per_value<[");
  TRY(r.expect(list ? "<" : "#sdy.sharding<"));
  if (r.eat("mesh<")) {
    TRY(read_mesh(r, &s.inline_mesh.emplace()));
  } else {
    ASSIGN(s.mesh, r.symbol());
  }
  TRY(r.expect(","));
  TRY(r.expect("["));
  TRY(r.list("]", [&] { return read_dim(r, &s); }));
  while (r.eat(",")) {
    if (r.eat("replicated=")) {
      std::vector<AxisRef> replicated_axes;
      TRY(read_axes(r, &replicated_axes));
      continue;
    }
    TRY(r.expect("unreduced="));
    if (r.eat("max")) s.reduction = "max";
    else if (r.eat("min")) s.reduction = "min";
    TRY(read_axes(r, &s.unreduced));
  }
  TRY(r.expect(">"));
  if (list) TRY(r.expect("]"));
  return s;
}

Result<const Mesh*> mesh_of(const AxisSharding& s, const MeshTable& meshes) {
  if (s.inline_mesh) return &*s.inline_mesh;
  auto at = meshes.find(s.mesh);
  if (at == meshes.end()) return invalid("sharding: no mesh @", s.mesh);
  return &at->second;
}

Tiling replicated(int64_t rank, int64_t devices) {
  Tiling t;
  t.tiles.assign(rank, 1);
  t.devices.resize(devices);
  std::iota(t.devices.begin(), t.devices.end(), 0);
  return t;
}

Result<Tiling> tiling_of(const AxisSharding& s, const MeshTable& meshes, int64_t devices,
                         const std::set<std::string>* only) {
  ASSIGN(const Mesh* mesh, mesh_of(s, meshes));
  const auto rank = static_cast<int64_t>(s.dims.size());
  // A mesh of one named device, or an empty one: the value is one, wherever it lies.
  if (mesh->axes.empty()) return replicated(rank, devices);
  int64_t n = 1;
  for (const Mesh::Axis& a : mesh->axes) n = std::min(n * a.size, kMaxDevices + 1);
  if (n != devices || (!mesh->device_ids.empty() && static_cast<int64_t>(mesh->device_ids.size()) != n))
    return unimplemented("a mesh of ", n, " devices in a program for ", devices);
  Dims tiles;
  std::vector<int64_t> keys(n, 0);
  for (const auto& axes : s.dims) {
    int64_t count = 1;
    for (const AxisRef& a : axes) {
      if (only && !only->count(a.name)) continue;
      ASSIGN(const Digit digit, digit_of(a, *mesh));
      for (int64_t p = 0; p < n; ++p) keys[p] = keys[p] * digit.size + p / digit.divisor % digit.size;
      count *= digit.size;
    }
    if (count > n) return invalid("sharding: an axis is used twice");
    tiles.push_back(count);
  }
  int64_t terms = 1;
  for (const AxisRef& a : s.unreduced) {
    if (only && !only->count(a.name)) continue;
    ASSIGN(const Digit digit, digit_of(a, *mesh));
    for (int64_t p = 0; p < n; ++p) keys[p] = keys[p] * digit.size + p / digit.divisor % digit.size;
    terms *= digit.size;
  }
  if (product(tiles) * terms > n) return invalid("sharding: an axis is used twice");
  Tiling t = grouped(std::move(tiles), keys, mesh->device_ids);
  t.terms = terms;
  if (s.reduction == "max") t.reduction = Op::kMaximum;
  if (s.reduction == "min") t.reduction = Op::kMinimum;
  TRY(check_devices(t, devices, "of a mesh"));
  return t;
}

Result<Tiling> tiling_of(std::string_view text, int64_t rank, const MeshTable& meshes, int64_t devices,
                         const std::set<std::string>* only) {
  if (text.empty()) return replicated(rank, devices);
  if (!is_axis_sharding(text)) return tiling_of_hlo(text, rank, devices);
  ASSIGN(const AxisSharding s, parse_axis_sharding(text));
  ASSIGN(Tiling t, tiling_of(s, meshes, devices, only));
  if (static_cast<int64_t>(t.tiles.size()) != rank) {
    if (t.count() == 1) t.tiles.assign(rank, 1);
    else return invalid("sharding ", text, " of an array of rank ", rank);
  }
  return t;
}

Result<Shape> tile_shape(const Shape& whole, const Tiling& t) {
  Shape s = whole;
  for (size_t d = 0; d < t.tiles.size(); ++d) {
    if (t.tiles[d] == 1) continue;
    if (s.dims[d] % t.tiles[d] != 0)
      return unimplemented("dimension ", d, " of ", to_string(whole, false), " in ", t.tiles[d],
                           " parts of different size");
    s.dims[d] /= t.tiles[d];
  }
  return s;
}

Dims tile_start(const Shape& tile, const Tiling& t, int64_t k) {
  Dims start(t.tiles.size(), 0);
  for (size_t d = t.tiles.size(); d-- > 0; k /= t.tiles[d]) start[d] = k % t.tiles[d] * tile.dims[d];
  return start;
}

std::string hlo_text(const Tiling& t) {
  if (t.replicated() && !t.unreduced()) return "{replicated}";
  HloSharding s;
  s.kind = HloSharding::kTiled;
  s.tile = t.tiles;
  if (t.unreduced()) {
    s.tile.push_back(t.terms);
    s.tile.push_back(t.holders());
    s.last_dims = {HloSharding::kUnreduced, HloSharding::kReplicated};
  } else if (t.members() > 1) {
    s.tile.push_back(t.members());
    s.replicate_last = true;
  }
  s.devices = t.devices;
  return print_sharding(s);
}

std::set<std::string> quoted_names(std::string_view text) {
  std::set<std::string> out;
  while (true) {
    const size_t open = text.find('"');
    if (open == std::string_view::npos) return out;
    text.remove_prefix(open + 1);
    const size_t close = text.find('"');
    if (close == std::string_view::npos) return out;
    out.insert(std::string(text.substr(0, close)));
    text.remove_prefix(close + 1);
  }
}

}  // namespace braze::spmd
