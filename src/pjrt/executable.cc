// SPDX-License-Identifier: Apache-2.0
// Slots of executables, but for running (execute.cc).
#include "pjrt/executable.h"

#include <algorithm>
#include <cstring>

#include "base/hash128.h"
#include "pjrt/element_type.h"
#include "pjrt/recompilation.h"
#include "pjrt/slots.h"

namespace braze::pjrt {
namespace {

void put(const std::string& s, const char** text, size_t* size) {
  *text = s.data();
  *size = s.size();
}

PJRT_NamedValue cost(const char* name, double value) {
  PJRT_NamedValue v = {};
  v.struct_size = sizeof(v);
  v.name = name;
  v.name_size = std::strlen(name);
  v.type = PJRT_NamedValue_kFloat;
  v.float_value = static_cast<float>(value);
  v.value_size = 1;
  return v;
}

void list_kinds(std::vector<std::string>& kinds, std::vector<const char*>* text,
                std::vector<size_t>* sizes) {
  for (std::string& k : kinds) {
    if (k.empty()) k = "device";
    text->push_back(k.data());
    sizes->push_back(k.size());
  }
}

void list_shardings(const std::vector<std::string>& protos, std::vector<const char*>* bytes,
                    std::vector<size_t>* sizes) {
  for (const std::string& s : protos) {
    bytes->push_back(s.data());
    sizes->push_back(s.size());
  }
}

void fill_lists(Compiled& c) {
  const ProgramFacts& f = c.program->facts();
  for (const Shape& s : f.results) {
    c.result_types.push_back(to_buffer_type(s.dtype));
    c.result_ranks.push_back(s.dims.size());
    c.result_dims.insert(c.result_dims.end(), s.dims.begin(), s.dims.end());
  }
  list_kinds(const_cast<ProgramFacts&>(f).result_memory_kinds, &c.result_kinds,
             &c.result_kind_sizes);
  list_kinds(const_cast<ProgramFacts&>(f).argument_memory_kinds, &c.argument_kinds,
             &c.argument_kind_sizes);
  list_shardings(f.argument_shardings, &c.argument_shardings, &c.argument_sharding_sizes);
  list_shardings(f.result_shardings, &c.result_shardings, &c.result_sharding_sizes);
  c.costs = {cost("flops", f.flops), cost("bytes accessed", f.bytes),
             cost("bytes accessedout{}", 0)};
  double out = 0;
  for (const Shape& s : f.results) out += s.bytes();
  c.costs[2].float_value = static_cast<float>(out);
}

Result<std::string> optimized_program(const Compiled& c) {
  ASSIGN(const std::string module, c.program->module_proto());
  return module_with_config_proto(module, c.options);
}

// Serialized form: this header, the program, its compile options and its compiled code. The program is
// what counts: code that does not fit this build or machine is compiled anew when it is loaded.
struct SerializedHeader {
  char magic[8];
  Hash128 checksum;  // of the parts
  uint64_t sizes[3];
};
constexpr std::string_view kMagic = "BRAZEX02";

struct Bytes {
  std::string data;
};
std::string serialize(const Compiled& c) {
  const std::string image = c.program->code_image();
  std::string parts = str_cat(c.code, c.option_bytes, image);
  SerializedHeader h;
  std::memcpy(h.magic, kMagic.data(), sizeof(h.magic));
  h.checksum = hash128(parts);
  h.sizes[0] = c.code.size(), h.sizes[1] = c.option_bytes.size(), h.sizes[2] = image.size();
  return str_cat(std::string_view(reinterpret_cast<const char*>(&h), sizeof(h)), parts);
}

struct Serialized {
  std::string_view code, options, image;
};
Result<Serialized> read_serialized(std::string_view bytes) {
  SerializedHeader h;
  if (bytes.size() < sizeof(h) || bytes.substr(0, kMagic.size()) != kMagic)
    return invalid("these are no bytes of a serialized executable of this version of Braze");
  std::memcpy(&h, bytes.data(), sizeof(h));
  bytes.remove_prefix(sizeof(h));
  uint64_t left = bytes.size();
  for (uint64_t n : h.sizes) {
    if (n > left) return invalid("a serialized executable is cut short");
    left -= n;
  }
  if (left != 0 || !(hash128(bytes) == h.checksum)) return invalid("a serialized executable is damaged");
  return Serialized{bytes.substr(0, h.sizes[0]), bytes.substr(h.sizes[0], h.sizes[1]),
                    bytes.substr(h.sizes[0] + h.sizes[1])};
}

}  // namespace

Result<PJRT_LoadedExecutable*> load(PJRT_Client* client, std::string_view code,
                                    std::string_view option_bytes, bool live,
                                    std::string_view image) {
  auto c = std::make_shared<Compiled>();
  ASSIGN(c->options, parse_compile_options(option_bytes));
  c->options.live = live;
  auto x = std::make_unique<PJRT_LoadedExecutable>();
  ProgramOptions& o = c->options;
  if (o.devices.empty())
    for (int64_t i = 0; i < o.replicas * o.partitions; ++i) o.devices.push_back(i);
  if (!o.portable) {
    for (size_t i = 0; i < o.devices.size(); ++i) {
      PJRT_Device* d = client->device_of_id(o.devices[i]);
      if (!d)
        return invalid("the program wants device ", o.devices[i], " of ", client->device_list.size());
      x->devices.push_back(d);
      x->logical_ids.push_back({static_cast<int>(i / o.partitions), static_cast<int>(i % o.partitions)});
    }
  }
  ASSIGN(c->program, compile_program(code, o, image));
  note_compilation(c->program->facts());
  c->code = std::string(code);
  c->option_bytes = std::string(option_bytes);
  fill_lists(*c);
  x->client = client;
  x->compiled = std::move(c);
  return x.release();
}

Status Client_Compile(PJRT_Client_Compile_Args& a) {
  const std::string_view format(a.program->format, a.program->format_size);
  if (format != "mlir" && format != "hlo")
    return invalid("a program in format '", format, "': mlir and hlo are known");
  ASSIGN(a.executable, load(a.client, {a.program->code, a.program->code_size},
                            {a.compile_options, a.compile_options_size}, true));
  return absl::OkStatus();
}

Status Executable_Destroy(PJRT_Executable_Destroy_Args& a) {
  delete a.executable;
  return absl::OkStatus();
}
Status Executable_Name(PJRT_Executable_Name_Args& a) {
  put(a.executable->compiled->program->facts().name, &a.executable_name, &a.executable_name_size);
  return absl::OkStatus();
}
Status Executable_NumReplicas(PJRT_Executable_NumReplicas_Args& a) {
  a.num_replicas = a.executable->compiled->options.replicas;
  return absl::OkStatus();
}
Status Executable_NumPartitions(PJRT_Executable_NumPartitions_Args& a) {
  a.num_partitions = a.executable->compiled->options.partitions;
  return absl::OkStatus();
}
Status Executable_NumOutputs(PJRT_Executable_NumOutputs_Args& a) {
  a.num_outputs = a.executable->compiled->result_types.size();
  return absl::OkStatus();
}
Status Executable_SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& a) {
  a.size_in_bytes = a.executable->compiled->program->facts().code_bytes;
  return absl::OkStatus();
}
Status Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& a) {
  a.properties = a.executable->compiled->costs.data();
  a.num_properties = a.executable->compiled->costs.size();
  return absl::OkStatus();
}
Status Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& a) {
  Compiled& c = *a.executable->compiled;
  a.num_outputs = c.result_kinds.size();
  a.memory_kinds = c.result_kinds.data();
  a.memory_kind_sizes = c.result_kind_sizes.data();
  return absl::OkStatus();
}
Status Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args& a) {
  Compiled& c = *a.executable->compiled;
  a.num_parameters = c.argument_kinds.size();
  a.memory_kinds = c.argument_kinds.data();
  a.memory_kind_sizes = c.argument_kind_sizes.data();
  return absl::OkStatus();
}
Status Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args& a) {
  a.output_types = a.executable->compiled->result_types.data();
  a.num_output_types = a.executable->compiled->result_types.size();
  return absl::OkStatus();
}
Status Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args& a) {
  Compiled& c = *a.executable->compiled;
  a.num_outputs = c.result_ranks.size();
  a.dims = c.result_dims.data();
  a.dim_sizes = c.result_ranks.data();
  return absl::OkStatus();
}

// Asked for its size first, with no memory for the code.
Status Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args& a) {
  ASSIGN(const std::string bytes, optimized_program(*a.executable->compiled));
  constexpr std::string_view kFormat = "hlo_with_config";
  a.program->format = kFormat.data();
  a.program->format_size = kFormat.size();
  if (a.program->code) {
    if (a.program->code_size < bytes.size())
      return invalid("the host's memory of ", a.program->code_size,
                     " bytes is too small for a program of ", bytes.size());
    std::memcpy(a.program->code, bytes.data(), bytes.size());
  }
  a.program->code_size = bytes.size();
  return absl::OkStatus();
}

Status Executable_Serialize(PJRT_Executable_Serialize_Args& a) {
  auto* bytes = new Bytes{serialize(*a.executable->compiled)};
  put(bytes->data, &a.serialized_bytes, &a.serialized_bytes_size);
  a.serialized_executable = reinterpret_cast<PJRT_SerializedExecutable*>(bytes);
  a.serialized_executable_deleter = [](PJRT_SerializedExecutable* p) {
    delete reinterpret_cast<Bytes*>(p);
  };
  return absl::OkStatus();
}
Status Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& a) {
  ASSIGN(Serialized s, read_serialized({a.serialized_executable, a.serialized_executable_size}));
  if (a.overridden_serialized_compile_options)
    s.options = {a.overridden_serialized_compile_options,
                 a.overridden_serialized_compile_options_size};
  ASSIGN(a.loaded_executable, load(a.client, s.code, s.options, false, s.image));
  return absl::OkStatus();
}

Status Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args& a) {
  put(a.executable->compiled->option_bytes, &a.serialized_bytes, &a.serialized_bytes_size);
  a.serialized_compile_options = nullptr;
  a.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions*) {};
  return absl::OkStatus();
}
Status Executable_Fingerprint(PJRT_Executable_Fingerprint_Args& a) {
  put(a.executable->compiled->program->facts().fingerprint, &a.executable_fingerprint,
      &a.executable_fingerprint_size);
  return absl::OkStatus();
}
Status LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args& a) {
  put(a.executable->compiled->program->facts().fingerprint, &a.executable_fingerprint,
      &a.executable_fingerprint_size);
  return absl::OkStatus();
}
Status Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& a) {
  const ProgramFacts& f = a.executable->compiled->program->facts();
  a.generated_code_size_in_bytes = f.code_bytes;
  a.argument_size_in_bytes = a.output_size_in_bytes = a.alias_size_in_bytes = 0;
  for (const Shape& s : f.arguments) a.argument_size_in_bytes += s.bytes();
  for (const Shape& s : f.results) a.output_size_in_bytes += s.bytes();
  for (const Donation& d : f.donations)
    if (d.result >= 0) a.alias_size_in_bytes += f.arguments[d.argument].bytes();
  a.temp_size_in_bytes = f.temporary_bytes;
  a.host_generated_code_size_in_bytes = a.host_argument_size_in_bytes = 0;
  a.host_output_size_in_bytes = a.host_alias_size_in_bytes = a.host_temp_size_in_bytes = 0;
  a.peak_memory_in_bytes = a.argument_size_in_bytes + a.output_size_in_bytes -
                           a.alias_size_in_bytes + a.temp_size_in_bytes;
  a.total_size_in_bytes = a.peak_memory_in_bytes;
  a.total_allocation_bytes = a.temp_size_in_bytes;
  a.indefinite_allocations = 0;
  a.peak_unpadded_heap_bytes = a.peak_memory_in_bytes;
  return absl::OkStatus();
}

Status LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args& a) {
  delete a.executable;
  return absl::OkStatus();
}
Status LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& a) {
  a.executable = new PJRT_Executable{a.loaded_executable->compiled};
  return absl::OkStatus();
}
Status LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& a) {
  a.addressable_devices = a.executable->devices.data();
  a.num_addressable_devices = a.executable->devices.size();
  return absl::OkStatus();
}
Status LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& a) {
  a.addressable_device_logical_ids = a.executable->logical_ids.data();
  a.num_addressable_device_logical_ids = a.executable->logical_ids.size();
  return absl::OkStatus();
}
Status LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args& a) {
  a.executable->deleted = true;
  return absl::OkStatus();
}
Status LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& a) {
  a.is_deleted = a.executable->deleted;
  return absl::OkStatus();
}
Status LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& a) {
  auto* bytes = new Bytes{device_assignment_proto(a.executable->compiled->options)};
  put(bytes->data, &a.serialized_bytes, &a.serialized_bytes_size);
  a.serialized_device_assignment = reinterpret_cast<PJRT_DeviceAssignmentSerialized*>(bytes);
  a.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* p) {
    delete reinterpret_cast<Bytes*>(p);
  };
  return absl::OkStatus();
}

}  // namespace braze::pjrt
