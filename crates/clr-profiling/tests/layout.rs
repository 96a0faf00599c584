//! The tables have as many functions as those of the runtime.

/// Functions of each interface with those that it inherits, counted in `corprof.idl` of .NET 10 and in `cor.h`.
const COUNTED: &[(&str, usize)] = &[
    ("ICorProfilerCallback", 72),
    ("ICorProfilerCallback2", 80),
    ("ICorProfilerCallback3", 83),
    ("ICorProfilerCallback4", 89),
    ("ICorProfilerCallback5", 90),
    ("ICorProfilerCallback6", 91),
    ("ICorProfilerCallback7", 92),
    ("ICorProfilerCallback8", 94),
    ("ICorProfilerCallback9", 95),
    ("ICorProfilerCallback10", 97),
    ("ICorProfilerCallback11", 98),
    ("ICorProfilerInfo", 36),
    ("ICorProfilerInfo2", 57),
    ("ICorProfilerInfo3", 71),
    ("ICorProfilerInfo4", 81),
    ("ICorProfilerInfo5", 83),
    ("ICorProfilerInfo6", 84),
    ("ICorProfilerInfo7", 87),
    ("ICorProfilerInfo8", 90),
    ("ICorProfilerInfo9", 93),
    ("ICorProfilerInfo10", 99),
    ("ICorProfilerInfo11", 101),
    ("ICorProfilerInfo12", 108),
    ("ICorProfilerInfo13", 111),
    ("ICorProfilerInfo14", 114),
    ("ICorProfilerInfo15", 115),
    ("IMetaDataImport", 65),
    ("IMetaDataImport2", 73),
    ("ICorProfilerThreadEnum", 8),
];

#[test]
fn tables_have_the_runtimes_size() {
    assert_eq!(clr_profiling::interface_sizes(), COUNTED);
}
