//! Every function of the interfaces, in the order of their tables. The order and the numbers are those of the runtime's
//! `corprof.idl` (.NET 10) and `cor.h`; functions of an interface follow those of the one it extends.

use std::ffi::c_void;

use crate::Guid;

/// The interface that all others extend.
pub(super) const IUNKNOWN: Guid = Guid::new(0x0000_0000_0000_0000_C000_0000_0000_0046);
/// The interface of a class factory.
pub(super) const ICLASS_FACTORY: Guid = Guid::new(0x0000_0001_0000_0000_C000_0000_0000_0046);
/// Functions of `IUnknown`, with which every table begins.
const OF_IUNKNOWN: usize = 3;

/// One version of an interface.
pub(super) struct Version {
    pub(super) name: &'static str,
    pub(super) id: Guid,
    /// Functions in its table, inherited ones included.
    pub(super) size: usize,
}

/// The functions of an interface that grew by versions.
pub(super) trait Slot: Copy {
    /// Its versions, oldest first.
    const VERSIONS: &'static [Version];
    /// Its place in the table.
    fn index(self) -> usize;
}

/// A table of functions; what each takes is known where it is called.
pub(super) type Function = *const c_void;

macro_rules! interface {
    ($(#[$doc:meta])* $slots:ident { $($version:ident = $id:literal, $count:literal { $($slot:ident)* })* }) => {
        $(#[$doc])*
        #[expect(dead_code, reason = "the tables are listed whole, so that wrapping a call touches one file")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum $slots { QueryInterface, AddRef, Release, $($($slot,)*)* }

        $(const _: () = assert!([$(stringify!($slot)),*].len() == $count, stringify!($version));)*

        impl Slot for $slots {
            const VERSIONS: &'static [Version] = &{
                let mut size = OF_IUNKNOWN;
                [$(Version { name: stringify!($version), id: Guid::new($id), size: { size += $count; size } },)*]
            };

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

interface! {
    /// What the runtime tells a profiler.
    CallbackSlot {
        ICorProfilerCallback = 0x176F_BED1_A55C_4796_98CA_A9DA_0EF8_83E7, 69 {
            Initialize Shutdown AppDomainCreationStarted AppDomainCreationFinished AppDomainShutdownStarted
            AppDomainShutdownFinished AssemblyLoadStarted AssemblyLoadFinished AssemblyUnloadStarted
            AssemblyUnloadFinished ModuleLoadStarted ModuleLoadFinished ModuleUnloadStarted
            ModuleUnloadFinished ModuleAttachedToAssembly ClassLoadStarted ClassLoadFinished
            ClassUnloadStarted ClassUnloadFinished FunctionUnloadStarted JITCompilationStarted
            JITCompilationFinished JITCachedFunctionSearchStarted JITCachedFunctionSearchFinished
            JITFunctionPitched JITInlining ThreadCreated ThreadDestroyed ThreadAssignedToOSThread
            RemotingClientInvocationStarted RemotingClientSendingMessage RemotingClientReceivingReply
            RemotingClientInvocationFinished RemotingServerReceivingMessage RemotingServerInvocationStarted
            RemotingServerInvocationReturned RemotingServerSendingReply UnmanagedToManagedTransition
            ManagedToUnmanagedTransition RuntimeSuspendStarted RuntimeSuspendFinished RuntimeSuspendAborted
            RuntimeResumeStarted RuntimeResumeFinished RuntimeThreadSuspended RuntimeThreadResumed
            MovedReferences ObjectAllocated ObjectsAllocatedByClass ObjectReferences RootReferences
            ExceptionThrown ExceptionSearchFunctionEnter ExceptionSearchFunctionLeave
            ExceptionSearchFilterEnter ExceptionSearchFilterLeave ExceptionSearchCatcherFound
            ExceptionOSHandlerEnter ExceptionOSHandlerLeave ExceptionUnwindFunctionEnter
            ExceptionUnwindFunctionLeave ExceptionUnwindFinallyEnter ExceptionUnwindFinallyLeave
            ExceptionCatcherEnter ExceptionCatcherLeave COMClassicVTableCreated COMClassicVTableDestroyed
            ExceptionCLRCatcherFound ExceptionCLRCatcherExecute
        }
        ICorProfilerCallback2 = 0x8A8C_C829_CCF2_49FE_BBAE_0F02_2228_071A, 8 {
            ThreadNameChanged GarbageCollectionStarted SurvivingReferences GarbageCollectionFinished
            FinalizeableObjectQueued RootReferences2 HandleCreated HandleDestroyed
        }
        ICorProfilerCallback3 = 0x4FD2_ED52_7731_4B8D_9469_03D2_CC30_86C5, 3 {
            InitializeForAttach ProfilerAttachComplete ProfilerDetachSucceeded
        }
        ICorProfilerCallback4 = 0x7B63_B2E3_107D_4D48_B2F6_F61E_2294_70D2, 6 {
            ReJITCompilationStarted GetReJITParameters ReJITCompilationFinished ReJITError MovedReferences2
            SurvivingReferences2
        }
        ICorProfilerCallback5 = 0x8DFB_A405_8C9F_45F8_BFFA_83B1_4CEF_78B5, 1 {
            ConditionalWeakTableElementReferences
        }
        ICorProfilerCallback6 = 0xFC13_DF4B_4448_4F4F_950C_BA8D_19D0_0C36, 1 {
            GetAssemblyReferences
        }
        ICorProfilerCallback7 = 0xF76A_2DBA_1D52_4539_866C_2AA5_18F9_EFC3, 1 {
            ModuleInMemorySymbolsUpdated
        }
        ICorProfilerCallback8 = 0x5BED_9B15_C079_4D47_BFE2_215A_140C_07E0, 2 {
            DynamicMethodJITCompilationStarted DynamicMethodJITCompilationFinished
        }
        ICorProfilerCallback9 = 0x2758_3EC3_C8F5_482F_8052_194B_8CE4_705A, 1 {
            DynamicMethodUnloaded
        }
        ICorProfilerCallback10 = 0xCEC5_B60E_C69C_495F_87F6_84D2_8EE1_6FFB, 2 {
            EventPipeEventDelivered EventPipeProviderCreated
        }
        ICorProfilerCallback11 = 0x4235_0846_AAED_47F7_B128_FD0C_9888_1CDE, 1 {
            LoadAsNotificationOnly
        }
    }
}

interface! {
    /// What a profiler asks the runtime.
    InfoSlot {
        ICorProfilerInfo = 0x28B5_557D_3F3F_48B4_90B2_5F9E_EA2F_6C48, 33 {
            GetClassFromObject GetClassFromToken GetCodeInfo GetEventMask GetFunctionFromIP
            GetFunctionFromToken GetHandleFromThread GetObjectSize IsArrayClass GetThreadInfo
            GetCurrentThreadID GetClassIDInfo GetFunctionInfo SetEventMask SetEnterLeaveFunctionHooks
            SetFunctionIDMapper GetTokenAndMetaDataFromFunction GetModuleInfo GetModuleMetaData
            GetILFunctionBody GetILFunctionBodyAllocator SetILFunctionBody GetAppDomainInfo GetAssemblyInfo
            SetFunctionReJIT ForceGC SetILInstrumentedCodeMap GetInprocInspectionInterface
            GetInprocInspectionIThisThread GetThreadContext BeginInprocDebugging EndInprocDebugging
            GetILToNativeMapping
        }
        ICorProfilerInfo2 = 0xCC09_35CD_A518_487D_B0BB_A932_14E6_5478, 21 {
            DoStackSnapshot SetEnterLeaveFunctionHooks2 GetFunctionInfo2 GetStringLayout GetClassLayout
            GetClassIDInfo2 GetCodeInfo2 GetClassFromTokenAndTypeArgs GetFunctionFromTokenAndTypeArgs
            EnumModuleFrozenObjects GetArrayObjectInfo GetBoxClassLayout GetThreadAppDomain
            GetRVAStaticAddress GetAppDomainStaticAddress GetThreadStaticAddress GetContextStaticAddress
            GetStaticFieldInfo GetGenerationBounds GetObjectGeneration GetNotifiedExceptionClauseInfo
        }
        ICorProfilerInfo3 = 0xB555_ED4F_452A_4E54_8B39_B536_0BAD_32A0, 14 {
            EnumJITedFunctions RequestProfilerDetach SetFunctionIDMapper2 GetStringLayout2
            SetEnterLeaveFunctionHooks3 SetEnterLeaveFunctionHooks3WithInfo GetFunctionEnter3Info
            GetFunctionLeave3Info GetFunctionTailcall3Info EnumModules GetRuntimeInformation
            GetThreadStaticAddress2 GetAppDomainsContainingModule GetModuleInfo2
        }
        ICorProfilerInfo4 = 0x0D8F_DCAA_6257_47BF_B1BF_94DA_C884_66EE, 10 {
            EnumThreads InitializeCurrentThread RequestReJIT RequestRevert GetCodeInfo3 GetFunctionFromIP2
            GetReJITIDs GetILToNativeMapping2 EnumJITedFunctions2 GetObjectSize2
        }
        ICorProfilerInfo5 = 0x0760_2928_CE38_4B83_81E7_74AD_AF78_1214, 2 {
            GetEventMask2 SetEventMask2
        }
        ICorProfilerInfo6 = 0xF30A_070D_BFFB_46A7_B1D8_8781_EF7B_698A, 1 {
            EnumNgenModuleMethodsInliningThisMethod
        }
        ICorProfilerInfo7 = 0x9AEE_CC0D_63E0_4187_8C00_E312_F503_F663, 3 {
            ApplyMetaData GetInMemorySymbolsLength ReadInMemorySymbols
        }
        ICorProfilerInfo8 = 0xC5AC_80A6_782E_4716_8044_3959_8C60_CFBF, 3 {
            IsFunctionDynamic GetFunctionFromIP3 GetDynamicFunctionInfo
        }
        ICorProfilerInfo9 = 0x0081_70DB_F8CC_4796_9A51_DC8A_A0B4_7012, 3 {
            GetNativeCodeStartAddresses GetILToNativeMapping3 GetCodeInfo4
        }
        ICorProfilerInfo10 = 0x2F1B_5152_C869_40C9_AA5F_3ABE_026B_D720, 6 {
            EnumerateObjectReferences IsFrozenObject GetLOHObjectSizeThreshold RequestReJITWithInliners
            SuspendRuntime ResumeRuntime
        }
        ICorProfilerInfo11 = 0x0639_8876_8987_4154_B621_40A0_0D6E_4D04, 2 {
            GetEnvironmentVariable SetEnvironmentVariable
        }
        ICorProfilerInfo12 = 0x27B2_4CCD_1CB1_47C5_96EE_9819_0DC3_0959, 7 {
            EventPipeStartSession EventPipeAddProviderToSession EventPipeStopSession EventPipeCreateProvider
            EventPipeGetProviderInfo EventPipeDefineEvent EventPipeWriteEvent
        }
        ICorProfilerInfo13 = 0x6E6C_7EE2_0701_4EC2_9D29_2E87_33B6_6934, 3 {
            CreateHandle DestroyHandle GetObjectIDFromHandle
        }
        ICorProfilerInfo14 = 0xF460_E352_D76D_4FE9_835F_F6AF_9D6E_862D, 3 {
            EnumerateNonGCObjects GetNonGCHeapBounds EventPipeCreateProvider2
        }
        ICorProfilerInfo15 = 0xB446_462D_BD22_41DD_872D_DC71_4C49_EB56, 1 {
            EnumerateGCHeapObjects
        }
    }
}

interface! {
    /// The metadata of a module.
    MetadataSlot {
        IMetaDataImport = 0x7DAC_8207_D3AE_4C75_9B67_9280_1A49_7D44, 62 {
            CloseEnum CountEnum ResetEnum EnumTypeDefs EnumInterfaceImpls EnumTypeRefs FindTypeDefByName
            GetScopeProps GetModuleFromScope GetTypeDefProps GetInterfaceImplProps GetTypeRefProps
            ResolveTypeRef EnumMembers EnumMembersWithName EnumMethods EnumMethodsWithName EnumFields
            EnumFieldsWithName EnumParams EnumMemberRefs EnumMethodImpls EnumPermissionSets FindMember
            FindMethod FindField FindMemberRef GetMethodProps GetMemberRefProps EnumProperties EnumEvents
            GetEventProps EnumMethodSemantics GetMethodSemantics GetClassLayout GetFieldMarshal GetRVA
            GetPermissionSetProps GetSigFromToken GetModuleRefProps EnumModuleRefs GetTypeSpecFromToken
            GetNameFromToken EnumUnresolvedMethods GetUserString GetPinvokeMap EnumSignatures EnumTypeSpecs
            EnumUserStrings GetParamForMethodIndex EnumCustomAttributes GetCustomAttributeProps FindTypeRef
            GetMemberProps GetFieldProps GetPropertyProps GetParamProps GetCustomAttributeByName
            IsValidToken GetNestedClassProps GetNativeCallConvFromSig IsGlobal
        }
        IMetaDataImport2 = 0xFCE5_EFA0_8BBA_4F8E_A036_8F20_22B0_8466, 8 {
            EnumGenericParams GetGenericParamProps GetMethodSpecProps EnumGenericParamConstraints
            GetGenericParamConstraintProps GetPEKind GetVersionString EnumMethodSpecs
        }
    }
}

interface! {
    /// A list of threads.
    ThreadEnumSlot {
        ICorProfilerThreadEnum = 0x5711_94F7_25ED_419F_AA8B_7016_B315_9701, 5 {
            Skip Reset Clone GetCount Next
        }
    }
}

/// Number of functions of each version of each interface.
pub fn interface_sizes() -> Vec<(&'static str, usize)> {
    [CallbackSlot::VERSIONS, InfoSlot::VERSIONS, MetadataSlot::VERSIONS, ThreadEnumSlot::VERSIONS]
        .into_iter()
        .flatten()
        .map(|version| (version.name, version.size))
        .collect()
}

/// Functions of the newest callback interface.
pub(super) const CALLBACKS: usize = CallbackSlot::LoadAsNotificationOnly as usize + 1;
