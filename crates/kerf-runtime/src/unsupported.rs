//! Calls of the CUDA runtime that Kerf does not have: each fails by name.
use crate::error::{code, note};
use crate::process::say;

macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            say(concat!(stringify!($name), " is not supported by Kerf's runtime"));
            note(code::NOT_SUPPORTED)
        }
    )*};
}

unsupported! {
    cudaArrayGetInfo cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCreateChannelDesc cudaCreateSurfaceObject cudaCreateTextureObject cudaDestroyExternalMemory
    cudaDestroyExternalSemaphore cudaDestroySurfaceObject cudaDestroyTextureObject
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetGraphMemAttribute
    cudaDeviceGetNvSciSyncAttributes cudaDeviceGetTexture1DLinearMaxWidth cudaDeviceGraphMemTrim
    cudaDeviceRegisterAsyncNotification cudaDeviceSetGraphMemAttribute
    cudaDeviceUnregisterAsyncNotification cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaFreeArray cudaFreeMipmappedArray
    cudaFuncGetParamInfo cudaGetChannelDesc cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion
    cudaGetExportTable cudaGetKernel cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc
    cudaGetTextureObjectTextureDesc cudaGraphAddChildGraphNode cudaGraphAddDependencies
    cudaGraphAddDependencies_v2 cudaGraphAddEmptyNode cudaGraphAddEventRecordNode
    cudaGraphAddEventWaitNode cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddHostNode cudaGraphAddKernelNode
    cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode cudaGraphAddMemcpyNode cudaGraphAddMemcpyNode1D
    cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol cudaGraphAddMemsetNode
    cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphChildGraphNodeGetGraph cudaGraphClone
    cudaGraphConditionalHandleCreate cudaGraphCreate cudaGraphDebugDotPrint cudaGraphDestroy
    cudaGraphDestroyNode cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent
    cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
    cudaGraphExecChildGraphNodeSetParams cudaGraphExecDestroy cudaGraphExecEventRecordNodeSetEvent
    cudaGraphExecEventWaitNodeSetEvent cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetFlags
    cudaGraphExecHostNodeSetParams cudaGraphExecKernelNodeSetParams cudaGraphExecMemcpyNodeSetParams
    cudaGraphExecMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemsetNodeSetParams
    cudaGraphExecNodeSetParams cudaGraphExecUpdate cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphGetEdges cudaGraphGetEdges_v2
    cudaGraphGetNodes cudaGraphGetRootNodes cudaGraphHostNodeGetParams cudaGraphHostNodeSetParams
    cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams
    cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams
    cudaGraphKernelNodeSetAttribute cudaGraphKernelNodeSetParams cudaGraphLaunch
    cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams
    cudaGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams1D
    cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams cudaGraphNodeFindInClone
    cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes
    cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetEnabled cudaGraphNodeGetType
    cudaGraphNodeSetEnabled cudaGraphNodeSetParams cudaGraphReleaseUserObject
    cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2 cudaGraphRetainUserObject
    cudaGraphUpload cudaGraphicsMapResources cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
    cudaImportExternalMemory cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle
    cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernelMultiDevice cudaLibraryEnumerateKernels cudaLibraryGetGlobal
    cudaLibraryGetKernel cudaLibraryGetKernelCount cudaLibraryGetManaged
    cudaLibraryGetUnifiedFunction cudaLibraryLoadData cudaLibraryLoadFromFile cudaLibraryUnload
    cudaMalloc3DArray cudaMallocArray cudaMallocMipmappedArray
    cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle
    cudaMemPoolGetAccess cudaMemPoolImportFromShareableHandle
    cudaMemPoolImportPointer cudaMemRangeGetAttribute cudaMemRangeGetAttributes
    cudaMemcpy2DArrayToArray cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArray
    cudaMemcpy2DToArrayAsync cudaMemcpy3DBatchAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpyArrayToArray cudaMemcpyBatchAsync cudaMemcpyFromArray cudaMemcpyFromArrayAsync
    cudaMemcpyToArray cudaMemcpyToArrayAsync cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_v2 cudaStreamBeginCapture cudaStreamBeginCaptureToGraph
     cudaStreamEndCapture cudaStreamGetAttribute cudaStreamGetCaptureInfo
    cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v3
     cudaStreamUpdateCaptureDependencies
    cudaStreamUpdateCaptureDependencies_v2 cudaThreadExchangeStreamCaptureMode
    cudaThreadGetCacheConfig cudaThreadGetLimit cudaUserObjectCreate cudaUserObjectRelease
    cudaUserObjectRetain cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_v2
}
