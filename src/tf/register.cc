// SPDX-License-Identifier: Apache-2.0
// libbraze_tf.so: makes Braze the compiler of TensorFlow's CPU device.
//
// TensorFlow loads every library in site-packages/tensorflow-plugins when it is imported. The constructor
// below then loads the PJRT plugin, gives TensorFlow a client of it for "CPU" and switches TensorFlow's
// XLA operators to clients of that kind. What turns graphs into HLO stays TensorFlow's own.
//
// Invariant: unless everything is as expected, nothing of TensorFlow is touched and the import goes on;
// braze_tf_state tells why. BRAZE_TF=0 switches off, BRAZE_TF=verbose also tells on standard
// error, as does a BRAZE_LIBRARY that cannot be used.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tf/device_info.h"
#include "tf/tensorflow_abi.h"

namespace braze::tf {
namespace {

enum class Outcome { kActive, kOff, kInert };

struct State {
  Outcome outcome = Outcome::kInert;
  std::string why = "TensorFlow is not loaded in this process";
};

State& state() {
  static State* s = new State;
  return *s;
}

template <typename F>
F symbol(void* library, const char* name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

void* loaded(const char* soname) { return dlopen(soname, RTLD_NOW | RTLD_NOLOAD); }

// Beside this library: site-packages/tensorflow-plugins/ and site-packages/braze/.
std::string plugin_path() {
  if (const char* named = std::getenv("BRAZE_LIBRARY"); named && *named) return named;
  Dl_info info = {};
  if (!dladdr(reinterpret_cast<void*>(&plugin_path), &info) || !info.dli_fname) return {};
  std::string folder(info.dli_fname);
  for (int up = 0; up < 2; ++up) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return {};
    folder.resize(slash);
  }
  return folder + "/braze/libbraze_pjrt.so";
}

const PJRT_Api* plugin_api = nullptr;

// TensorFlow asks for device k of "CPU:k"; all of them are this process's cores.
PJRT_Error* lookup_any_device(PJRT_Client_LookupAddressableDevice_Args* a) {
  PJRT_Client_LookupAddressableDevice_Args first = *a;
  if (first.local_hardware_id > 0) first.local_hardware_id = 0;
  PJRT_Error* e = plugin_api->PJRT_Client_LookupAddressableDevice(&first);
  a->addressable_device = first.addressable_device;
  return e;
}

// TensorFlow's reshape, expand_dims and bitcast are views: a buffer comes back as an argument in another shape.
PJRT_Error* create_client(PJRT_Client_Create_Args* a) {
  std::vector<PJRT_NamedValue> options(a->create_options, a->create_options + a->num_options);
  PJRT_NamedValue views = {};
  views.struct_size = sizeof(views);
  views.name = "arguments_by_size";
  views.name_size = std::strlen(views.name);
  views.type = PJRT_NamedValue_kBool;
  views.bool_value = true;
  views.value_size = 1;
  options.push_back(views);
  PJRT_Client_Create_Args with = *a;
  with.create_options = options.data();
  with.num_options = options.size();
  PJRT_Error* e = plugin_api->PJRT_Client_Create(&with);
  a->client = with.client;
  return e;
}

// The plugin's table, for as long as the process lives; null and a reason if there is none.
const PJRT_Api* load_plugin(std::string* why) {
  const std::string path = plugin_path();
  if (access(path.c_str(), R_OK) != 0) {
    *why = "the plugin is not readable at " + path;
    return nullptr;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto get = library ? symbol<const PJRT_Api* (*)()>(library, "GetPjrtApi") : nullptr;
  plugin_api = get ? get() : nullptr;
  if (!plugin_api) {
    const char* error = dlerror();
    *why = "the plugin cannot be loaded: " + std::string(error ? error : path);
    return nullptr;
  }
  if (plugin_api->struct_size != sizeof(PJRT_Api) ||
      plugin_api->pjrt_api_version.minor_version != PJRT_API_MINOR) {
    *why = path + " is of another version than this library";
    return nullptr;
  }
  static PJRT_Api table;
  table = *plugin_api;
  table.PJRT_Client_LookupAddressableDevice = lookup_any_device;
  table.PJRT_Client_Create = create_client;
  PJRT_Plugin_Initialize_Args args = {};
  args.struct_size = sizeof(args);
  if (PJRT_Error* e = table.PJRT_Plugin_Initialize(&args)) {
    PJRT_Error_Destroy_Args gone = {sizeof(gone), nullptr, e};
    table.PJRT_Error_Destroy(&gone);
    *why = "the plugin does not start";
    return nullptr;
  }
  return &table;
}

std::string tested_versions() {
  std::string out;
  for (const Build& b : kBuilds) out += (out.empty() ? "" : ", ") + std::string(b.version);
  return out;
}

bool has_gpu() { return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0; }

// The row of the TensorFlow at hand; null and a reason if it has none.
const Build* find_build(void* library, void* framework, std::string* why) {
  auto version = symbol<const char* (*)()>(library, "TF_Version");
  if (!version && framework) version = symbol<const char* (*)()>(framework, "TF_Version");
  const char* found = version ? version() : nullptr;
  if (!found) {
    *why = "this TensorFlow does not tell its version";
    return nullptr;
  }
  for (const Build& b : kBuilds)
    if (std::strcmp(b.version, found) == 0) return &b;
  *why = std::string("TensorFlow ") + found + " is not one of the tested versions: " + tested_versions();
  return nullptr;
}

State activate() {
  State s;
  void* library = loaded("libtensorflow_cc.so.2");
  void* framework = loaded("libtensorflow_framework.so.2");
  if (!library) return s;
  const Build* build = find_build(library, framework, &s.why);
  if (!build) return s;
  auto wrap = symbol<WrapClient>(library, build->wrap_client);
  auto set_client = symbol<SetClient>(library, build->set_client);
  auto get_flags = symbol<GetOpsFlags>(library, build->ops_flags);
  if (!wrap || !set_client || !get_flags) {
    s.why = std::string("TensorFlow ") + build->version + " is another build than the one of PyPI";
    return s;
  }
  auto cuda = framework ? symbol<bool (*)()>(framework, "_ZN10tensorflow19IsGoogleCudaEnabledEv") : nullptr;
  if (cuda && cuda() && has_gpu()) {
    s.why = "this TensorFlow serves a GPU; Braze stays away from it";
    return s;
  }
  OpsFlags* flags = get_flags();
  if (flags->launch > 1 || flags->compile_on_demand > 1 || flags->compile_and_run > 1 ||
      flags->all_devices > 1 || flags->gpu > 1) {
    s.why = "TensorFlow's flags are not laid out as expected";
    return s;
  }
  const PJRT_Api* api = load_plugin(&s.why);
  if (!api) return s;
  const EmptyMap options;
  NullSharedPointer store;
  StatusOrPointer client;
  wrap(&client, api, &options, &store);
  if (client.status != kOkStatus) {
    s.why = "the plugin gave no client";
    return s;
  }
  const std::string device = "CPU";
  const void* status = nullptr;
  set_client(&status, &device, &client.pointer);
  if (status != kOkStatus) {
    s.why = "TensorFlow did not take the client";
    return s;
  }
  if (build->run && !give_cpu_device_info(library, framework, build->run, &s.why)) return s;
  flags->launch = flags->compile_on_demand = flags->compile_and_run = flags->all_devices = 1;
  s.outcome = Outcome::kActive;
  s.why = std::string("TensorFlow ") + build->version + " compiles for CPU with Braze";
  return s;
}

__attribute__((constructor)) void on_load() {
  const char* wish = std::getenv("BRAZE_TF");
  if (wish && std::strcmp(wish, "0") == 0) {
    state() = {Outcome::kOff, "switched off by BRAZE_TF=0"};
    return;
  }
  state() = activate();
  const bool active = state().outcome == Outcome::kActive;
  const char* named = std::getenv("BRAZE_LIBRARY");  // whoever names a library wants to know that it is not used
  if ((wish && std::strcmp(wish, "verbose") == 0) || (named && *named && !active))
    std::fprintf(stderr, "braze: %s: %s\n", active ? "active" : "not active", state().why.c_str());
}

}  // namespace
}  // namespace braze::tf

// 0 active, 1 switched off, 2 not active. `why`, if not null, is given one line that lives on.
extern "C" __attribute__((visibility("default"))) int braze_tf_state(const char** why) {
  if (why) *why = braze::tf::state().why.c_str();
  return static_cast<int>(braze::tf::state().outcome);
}
// Versions of TensorFlow that the library was tested with, separated by commas.
extern "C" __attribute__((visibility("default"))) const char* braze_tf_versions() {
  static const std::string* versions = new std::string(braze::tf::tested_versions());
  return versions->c_str();
}
