//! Calls of the driver API that Kerf does not have: each fails by name.
use crate::error::code;
use crate::process::say;

macro_rules! refused {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("kerf_", stringify!($name)))]
            extern "C" fn refused_call() -> i32 {
                say(concat!(stringify!($name), " is not supported by Kerf's driver"));
                code::NOT_SUPPORTED
            }
        };
    )*};
}

refused! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2
    cuArrayGetMemoryRequirements cuArrayGetPlane cuArrayGetSparseProperties cuCheckpointProcessCheckpoint
    cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
    cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
    cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetExecAffinity
    cuCtxRecordEvent cuCtxWaitEvent cuDestroyExternalMemory cuDestroyExternalSemaphore cuDevResourceGenerateDesc
    cuDevSmResourceSplitByCount cuDeviceGetDevResource cuDeviceGetGraphMemAttribute cuDeviceGetLuid
    cuDeviceGetNvSciSyncAttributes cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGraphMemTrim
    cuDeviceRegisterAsyncNotification cuDeviceSetGraphMemAttribute cuDeviceUnregisterAsyncNotification
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray cuFuncSetBlockShape cuFuncSetSharedSize
    cuGraphAddBatchMemOpNode cuGraphAddChildGraphNode cuGraphAddDependencies cuGraphAddDependencies_v2
    cuGraphAddEmptyNode cuGraphAddEventRecordNode cuGraphAddEventWaitNode cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode cuGraphAddHostNode cuGraphAddKernelNode_v2 cuGraphAddMemAllocNode
    cuGraphAddMemFreeNode cuGraphAddMemcpyNode cuGraphAddMemsetNode cuGraphAddNode cuGraphAddNode_v2
    cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams cuGraphChildGraphNodeGetGraph cuGraphClone
    cuGraphConditionalHandleCreate cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy cuGraphDestroyNode
    cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent
    cuGraphEventWaitNodeSetEvent cuGraphExecBatchMemOpNodeSetParams cuGraphExecChildGraphNodeSetParams
    cuGraphExecDestroy cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecGetFlags cuGraphExecHostNodeSetParams cuGraphExecKernelNodeSetParams_v2
    cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams cuGraphExecNodeSetParams cuGraphExecUpdate_v2
    cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
    cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetEdges
    cuGraphGetEdges_v2 cuGraphGetNodes cuGraphGetRootNodes cuGraphHostNodeGetParams cuGraphHostNodeSetParams
    cuGraphInstantiateWithFlags cuGraphInstantiateWithParams cuGraphInstantiate_v2 cuGraphKernelNodeCopyAttributes
    cuGraphKernelNodeGetAttribute cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetAttribute
    cuGraphKernelNodeSetParams_v2 cuGraphLaunch cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams
    cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams
    cuGraphNodeFindInClone cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes
    cuGraphNodeGetDependentNodes_v2 cuGraphNodeGetEnabled cuGraphNodeGetType cuGraphNodeSetEnabled
    cuGraphNodeSetParams cuGraphReleaseUserObject cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
    cuGraphRetainUserObject cuGraphUpload cuGraphicsMapResources cuGraphicsResourceGetMappedMipmappedArray
    cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray
    cuGraphicsUnmapResources cuGraphicsUnregisterResource cuGreenCtxCreate cuGreenCtxDestroy
    cuGreenCtxGetDevResource cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory
    cuImportExternalSemaphore cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle
    cuIpcOpenMemHandle_v2 cuLaunch cuLaunchCooperativeKernelMultiDevice cuLaunchGrid cuLaunchGridAsync
    cuLibraryGetUnifiedFunction cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback
    cuLogsUnregisterCallback cuMemAddressFree cuMemAddressReserve cuMemBatchDecompressAsync cuMemCreate
    cuMemExportToShareableHandle cuMemGetAccess cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle
    cuMemGetHandleForAddressRange cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolImportFromShareableHandle cuMemPoolImportPointer
    cuMemRangeGetAttribute cuMemRangeGetAttributes cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess
    cuMemUnmap cuMemcpy3DBatchAsync cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpyAtoA_v2 cuMemcpyAtoD_v2
    cuMemcpyAtoHAsync_v2 cuMemcpyAtoH_v2 cuMemcpyBatchAsync cuMemcpyDtoA_v2 cuMemcpyHtoAAsync_v2 cuMemcpyHtoA_v2
    cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements
    cuMipmappedArrayGetSparseProperties cuModuleGetSurfRef cuModuleGetTexRef cuMulticastAddDevice
    cuMulticastBindAddr cuMulticastBindMem cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind
    cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialClusterSize cuParamSetSize cuParamSetTexRef cuParamSetf
    cuParamSeti cuParamSetv cuSignalExternalSemaphoresAsync cuStreamBatchMemOp_v2 cuStreamBeginCaptureToGraph
    cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamGetAttribute cuStreamGetCaptureInfo_v2
    cuStreamGetCaptureInfo_v3 cuStreamGetGreenCtx cuStreamUpdateCaptureDependencies
    cuStreamUpdateCaptureDependencies_v2 cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32_v2
    cuStreamWriteValue64_v2 cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuSurfRefGetArray
    cuSurfRefSetArray cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled
    cuTensorMapReplaceAddress cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
    cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode
    cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags
    cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
    cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3
    cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode
    cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode
    cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray cuUserObjectCreate
    cuUserObjectRelease cuUserObjectRetain cuWaitExternalSemaphoresAsync
}
