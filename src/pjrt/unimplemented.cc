// SPDX-License-Identifier: Apache-2.0
// Slots that Braze refuses: an error says so, and nothing else happens. Destroying what can't exist is
// no error.
#include "pjrt/slots.h"

namespace braze::pjrt {

#define REFUSED(name, ...) \
  Status name(PJRT_##name##_Args&) { return unimplemented("PJRT_" #name __VA_ARGS__); }
#define NOTHING(name) \
  Status name(PJRT_##name##_Args&) { return absl::OkStatus(); }

REFUSED(CopyToDeviceStream_AddChunk)
REFUSED(CopyToDeviceStream_TotalBytes)
REFUSED(CopyToDeviceStream_GranuleSize)
REFUSED(CopyToDeviceStream_CurrentBytes)
NOTHING(CopyToDeviceStream_Destroy)

// JAX looks for these words.
REFUSED(TopologyDescription_Create, ": topology not implemented")
REFUSED(TopologyDescription_Serialize)
REFUSED(TopologyDescription_Deserialize)
REFUSED(Compile, ": compiling without a client")
REFUSED(Client_Load)

REFUSED(AsyncHostToDeviceTransferManager_TransferData)
REFUSED(Client_CreateBuffersForAsyncHostToDevice)
REFUSED(AsyncHostToDeviceTransferManager_RetrieveBuffer)
REFUSED(AsyncHostToDeviceTransferManager_Device)
REFUSED(AsyncHostToDeviceTransferManager_BufferCount)
REFUSED(AsyncHostToDeviceTransferManager_BufferSize)
REFUSED(AsyncHostToDeviceTransferManager_SetBufferError)
REFUSED(AsyncHostToDeviceTransferManager_AddMetadata)
REFUSED(AsyncHostToDeviceTransferManager_TransferLiteral)
NOTHING(AsyncHostToDeviceTransferManager_Destroy)

REFUSED(Client_CreateAliasBuffer)
REFUSED(Client_FulfillAliasBuffer)
REFUSED(Buffer_CopyRawToHostFuture)
REFUSED(Buffer_DonateWithControlDependency)
REFUSED(Buffer_Bitcast)
REFUSED(Device_PoisonExecution)
REFUSED(Device_CreateAsyncTrackingEvent)
NOTHING(AsyncTrackingEvent_Destroy)

// All memory of the process is as good as mapped.
NOTHING(Client_DmaMap)
NOTHING(Client_DmaUnmap)
NOTHING(Client_UpdateGlobalProcessInfo)

}  // namespace braze::pjrt
