// SPDX-License-Identifier: Apache-2.0
// The few things of TensorFlow that the glue calls, without its headers: functions by mangled name, the
// types they take as plain structs of the same layout.
//
// A build of TensorFlow is served if a row of kBuilds has its version and every symbol of the row is
// found. The names hold abseil's inline namespace, so another abseil, whose types may be laid out
// otherwise, does not have them.
#pragma once

#include <cstddef>
#include <string>

#include "pjrt/c_api.h"

namespace braze::tf {

// absl::StatusOr<std::unique_ptr<T>>.
struct StatusOrPointer {
  const void* status = nullptr;
  void* pointer = nullptr;
};
// The representation of an absl::Status that is OK.
inline const void* const kOkStatus = reinterpret_cast<const void*>(1);

// An absl::flat_hash_map without elements; nobody looks further than at its size.
struct alignas(8) EmptyMap {
  size_t words[4] = {};
};
// A std::shared_ptr that is null.
struct NullSharedPointer {
  void *object = nullptr, *control = nullptr;
};

// Results that are classes are returned in memory of the caller, whose address comes first; classes with
// destructors are passed by address.
using WrapClient = StatusOrPointer* (*)(StatusOrPointer*, const PJRT_Api*, const EmptyMap*,
                                        NullSharedPointer*);
using SetClient = const void** (*)(const void** status, const std::string* device_type,
                                   void** unique_pointer);

// XlaOpsCommonFlags. The last five are of PjRtDeviceApiFlags: is the PJRT way used for …
struct OpsFlags {
  unsigned char other[8];
  unsigned char launch, compile_on_demand, compile_and_run, all_devices, gpu;
};
using GetOpsFlags = OpsFlags* (*)();

struct Build {
  const char* version;  // what TF_Version() gives
  const char *wrap_client, *set_client, *ops_flags;
  const char* run;  // RunPjRtExecutable, if it needs what device_info.h gives; else null
};

inline constexpr Build kBuilds[] = {
    {"2.21.0",
     "_ZN3xla20WrapClientAroundCApiEPK8PJRT_ApiRKN4absl12lts_2025081413flat_hash_mapINSt7__cxx1112basic_"
     "stringIcSt11char_traitsIcESaIcEEESt7variantIJSB_blSt6vectorIlSaIlEEfEENS4_18container_internal10"
     "StringHashENSH_8StringEqESaISt4pairIKSB_SG_EEEESt10shared_ptrINS_22KeyValueStoreInterfaceEE",
     "_ZN10tensorflow38SetPjRtClientInTFGlobalResourceManagerERKN3tsl10DeviceTypeESt10unique_ptrIN3xla10"
     "PjRtClientESt14default_deleteIS6_EE",
     "_ZN10tensorflow20GetXlaOpsCommonFlagsEv", nullptr},
    {"2.20.0",
     "_ZN3xla20WrapClientAroundCApiEPK8PJRT_ApiRKN4absl12lts_2025012713flat_hash_mapINSt7__cxx1112basic_"
     "stringIcSt11char_traitsIcESaIcEEESt7variantIJSB_blSt6vectorIlSaIlEEfEENS4_18container_internal10"
     "StringHashENSH_8StringEqESaISt4pairIKSB_SG_EEEESt10shared_ptrINS_22KeyValueStoreInterfaceEE",
     "_ZN10tensorflow38SetPjRtClientInTFGlobalResourceManagerERKN3tsl10DeviceTypeESt10unique_ptrIN3xla10"
     "PjRtClientESt14default_deleteIS6_EE",
     "_ZN10tensorflow20GetXlaOpsCommonFlagsEv",
     "_ZN10tensorflow17RunPjRtExecutableEiRKSt6vectorIPKNS_6TensorESaIS3_EERKN4absl12lts_2025012713flat_"
     "hash_mapIiS3_NS9_13hash_internal4HashIiEESt8equal_toIiESaISt4pairIKiS3_EEEERKS0_INS_12VariableInfoESaI"
     "SN_EERKNS_20XlaCompilationResultEPN3xla10PjRtClientEPNSV_20PjRtLoadedExecutableEPNS_15OpKernelContext"
     "E"},
};

}  // namespace braze::tf
