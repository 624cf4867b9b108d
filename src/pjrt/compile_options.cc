// SPDX-License-Identifier: Apache-2.0
// Compiled with exceptions: protozero reports malformed input by them; they are caught here.
#include "pjrt/compile_options.h"

#include <exception>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace braze::pjrt {
namespace {

using protozero::pbf_reader;

enum class Kind { kString, kBool, kInt, kDouble, kAny };
struct Known {
  std::string_view name;
  Kind kind;
};
// Every name that is accepted. XLA's have no effect but for those that apply() names.
constexpr Known kKnown[] = {
    {"braze_backend", Kind::kString},
    {"braze_check", Kind::kBool},
    {"exec_time_optimization_effort", Kind::kDouble},
    {"memory_fitting_effort", Kind::kDouble},
    {"optimization_level", Kind::kInt},
    {"memory_fitting_level", Kind::kInt},
#define XLA_OPTION(name, kind) {#name, Kind::kind},
#include "pjrt/xla_options.def"
#undef XLA_OPTION
};
constexpr std::string_view kKindNames[] = {"string", "bool", "int32", "double", "any"};

struct Value {
  Kind kind = Kind::kString;
  std::string text;
  bool flag = false;
};

Value read_value(pbf_reader m) {
  Value v;
  while (m.next()) switch (m.tag()) {
      case 1:
        v.kind = Kind::kString;
        v.text = m.get_string();
        break;
      case 2:
        v.kind = Kind::kBool;
        v.flag = m.get_bool();
        v.text = v.flag ? "true" : "false";
        break;
      case 3:
        v.kind = Kind::kInt;
        v.text = str_cat(m.get_int64());
        break;
      case 4:
        v.kind = Kind::kDouble;
        v.text = str_cat(m.get_double());
        break;
      default: m.skip();
    }
  return v;
}

// Whether text given for a typed option reads as one.
bool reads_as(Kind kind, Value& v) {
  if (kind == v.kind || kind == Kind::kAny) return true;
  if (kind == Kind::kDouble && v.kind == Kind::kInt) return true;
  if (v.kind != Kind::kString) return false;
  if (kind == Kind::kBool) {
    v.flag = v.text == "true" || v.text == "True" || v.text == "1";
    return v.flag || v.text == "false" || v.text == "False" || v.text == "0";
  }
  char* end = nullptr;
  if (kind == Kind::kInt) (void)std::strtoll(v.text.c_str(), &end, 10);
  else (void)std::strtod(v.text.c_str(), &end);
  return !v.text.empty() && *end == 0;
}

Status apply(const std::string& name, Value v, ProgramOptions* o) {
  for (const Known& k : kKnown) {
    if (k.name != name) continue;
    if (!reads_as(k.kind, v))
      return invalid("While setting option ", name, ", '", v.text, "' is not a valid ",
                     kKindNames[static_cast<int>(k.kind)], " value.");
    if (name == "braze_check") o->check = v.flag;
    if (name == "braze_backend") o->backend = v.text;
    if (name == "xla_dump_hlo_as_proto") o->dump_proto = v.flag;
    if (name == "xla_dump_to") o->dump_dir = v.text;
    return absl::OkStatus();
  }
  return invalid("No such compile option: '", name, "'");
}

Status read_override(pbf_reader m, ProgramOptions* o) {
  std::string name;
  Value v;
  while (m.next()) {
    if (m.tag() == 1) name = m.get_string();
    else if (m.tag() == 2) v = read_value(m.get_message());
    else m.skip();
  }
  return apply(name, std::move(v), o);
}

std::vector<int64_t> read_ids(pbf_reader m) {
  std::vector<int64_t> ids;
  while (m.next()) {
    if (m.tag() != 1) {
      m.skip();
    } else if (m.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (int64_t id : m.get_packed_int64()) ids.push_back(id);
    } else {
      ids.push_back(m.get_int64());
    }
  }
  return ids;
}

Status read_assignment(pbf_reader m, ProgramOptions* o) {
  std::vector<std::vector<int64_t>> by_partition;
  while (m.next()) {
    if (m.tag() == 3) by_partition.push_back(read_ids(m.get_message()));
    else m.skip();
  }
  for (size_t r = 0; !by_partition.empty() && r < by_partition[0].size(); ++r)
    for (const auto& ids : by_partition) {
      if (ids.size() != by_partition[0].size())
        return invalid("device_assignment: partitions have different numbers of replicas");
      o->devices.push_back(ids[r]);
    }
  return absl::OkStatus();
}

Status read_build_options(pbf_reader m, ProgramOptions* o) {
  while (m.next()) switch (m.tag()) {
      case 4: o->replicas = m.get_int64(); break;
      case 5: o->partitions = m.get_int64(); break;
      case 9: TRY(read_assignment(m.get_message(), o)); break;
      default: m.skip();
    }
  return absl::OkStatus();
}

Status read_all(pbf_reader m, ProgramOptions* o) {
  while (m.next()) switch (m.tag()) {
      case 3: TRY(read_build_options(m.get_message(), o)); break;
      case 4: o->portable = m.get_bool(); break;
      case 7: TRY(read_override(m.get_message(), o)); break;
      default: m.skip();
    }
  return absl::OkStatus();
}

}  // namespace

Result<ProgramOptions> parse_compile_options(std::string_view bytes) {
  ProgramOptions o;
  try {
    TRY(read_all(pbf_reader(bytes.data(), bytes.size()), &o));
  } catch (const std::exception& e) {
    return invalid("malformed compile options: ", e.what());
  }
  if (o.replicas < 1 || o.partitions < 1 || o.replicas > 65536 || o.partitions > 65536)
    return invalid("compile options: ", o.replicas, " replicas of ", o.partitions, " partitions");
  if (!o.devices.empty() && o.devices.size() != static_cast<size_t>(o.replicas * o.partitions))
    return invalid("device_assignment: ", o.devices.size(), " devices for ", o.replicas,
                   " replicas of ", o.partitions, " partitions");
  return o;
}

std::string device_assignment_proto(const ProgramOptions& o) {
  std::string out;
  if (o.portable) return out;
  protozero::pbf_writer w(out);
  w.add_int32(1, static_cast<int32_t>(o.replicas));
  w.add_int32(2, static_cast<int32_t>(o.partitions));
  for (int64_t p = 0; p < o.partitions; ++p) {
    protozero::pbf_writer computation(w, 3);
    std::vector<int64_t> ids;
    for (int64_t r = 0; r < o.replicas; ++r) ids.push_back(o.devices[r * o.partitions + p]);
    computation.add_packed_int64(1, ids.begin(), ids.end());
  }
  return out;
}

Result<std::string> module_with_config_proto(std::string_view module, const ProgramOptions& o) {
  std::string out;
  try {
    protozero::pbf_writer w(out);
    w.add_message(1, module.data(), module.size());
    protozero::pbf_writer config(w, 2);
    pbf_reader m(module.data(), module.size());
    while (m.next(4)) config.add_message(1, m.get_view());  // the module's host_program_shape
    config.add_int64(4, o.replicas);
    config.add_int64(5, o.partitions);
  } catch (const std::exception& e) {
    return internal("a module that was just written: ", e.what());
  }
  return out;
}

}  // namespace braze::pjrt
