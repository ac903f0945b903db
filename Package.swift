// swift-tools-version: 6.2
import PackageDescription

/// Arrows point down only: nothing in this list depends on anything above it.
let package = Package(
    name: "larder",
    products: [.executable(name: "larder", targets: ["LarderCommand"])],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // The executable: subcommands, start-up, signals, drain; what its client commands read and print.
        .executableTarget(
            name: "LarderCommand",
            dependencies: [
                "LarderAPI", "LarderClient", "Larder", "MicroHTTPD", "DiskCache", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // What one thread allocates another one frees, all the time: glibc's malloc has the two wait for each other.
            linkerSettings: [.linkedLibrary("jemalloc")]),

        // HTTP <-> service.
        .target(
            name: "LarderAPI",
            dependencies: [
                "MicroHTTPD", "Larder", "HTTPCaching", "DiskCache", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            // Parts of the executable: the description of the API, which is a link to the file at the top level, its
            // page, and the dashboard.
            resources: [
                .embedInCode("openapi.yaml"), .embedInCode("Documentation/documentation.css"),
                .embedInCode("Documentation/documentation.html"), .embedInCode("Dashboard/Page"),
            ]),

        // HTTP <-> a server: the API from the other side.
        .target(
            name: "LarderClient",
            dependencies: ["Origin", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types")]),

        // The service.
        .target(
            name: "Larder",
            dependencies: [
                "Origin", "HTTPCaching", "DiskCache", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ]),

        // Four parts that do not know one another.
        .target(
            name: "MicroHTTPD",
            dependencies: [
                "CMicroHTTPD", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            // libmicrohttpd has to find these in the executable: see ServingThread.swift. Without the flag gold keeps them
            // to itself.
            linkerSettings: [
                .unsafeFlags(
                    ["epoll_wait", "recv", "gnutls_record_recv"].flatMap {
                        ["-Xlinker", "--export-dynamic-symbol=\($0)"]
                    })
            ]),
        .target(
            name: "Origin",
            dependencies: [
                "CCompression", "CCurl", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .target(
            name: "HTTPCaching",
            dependencies: [
                "Primitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ]),
        .target(
            name: "DiskCache",
            dependencies: [
                "CSQLite", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),

        // Under all of these, no policy in it.
        .target(name: "Primitives", dependencies: ["CCurl", "CSystem"]),
        .systemLibrary(name: "CSystem"),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev", "libgnutls28-dev"])]),
        .systemLibrary(name: "CCompression", providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Replays request traces through the code that evicts.
        .target(name: "TraceReplay", dependencies: ["DiskCache"], path: "Benchmarks/Eviction"),
        // Stores and reads without HTTP, in one way after the other; the harness starts it.
        .executableTarget(
            name: "StorageBenchmark",
            dependencies: [
                "DiskCache", "Primitives", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/Storage"),
        // Measures Larder beside other servers; scripts/bench builds what it needs and starts it.
        .executableTarget(
            name: "LarderBenchmarks",
            dependencies: [
                "TraceReplay", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/Harness"),

        // Makes the page of /docs from openapi.yaml. A test compares the page in Sources with its result.
        .executableTarget(
            name: "DocumentationPage",
            dependencies: ["Primitives", .product(name: "Yams", package: "Yams")],
            path: "Tests/DocumentationPage"),

        // Scripted origins, clients, gates and clocks: what the tests stand on.
        .target(
            name: "TestSupport",
            dependencies: ["Primitives", .product(name: "HTTPTypes", package: "swift-http-types")],
            path: "Tests/TestSupport"),
        .testTarget(name: "PrimitivesTests", dependencies: ["Primitives", "TestSupport"]),
        .testTarget(
            name: "MicroHTTPDTests",
            dependencies: [
                "CMicroHTTPD", "MicroHTTPD", "Primitives", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "OriginTests",
            dependencies: [
                "Origin", "CCompression", "CCurl", "Primitives", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "HTTPCachingTests",
            dependencies: [
                "HTTPCaching", "Primitives",
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ]),
        .testTarget(
            name: "DiskCacheTests",
            dependencies: [
                "DiskCache", "Primitives", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .testTarget(name: "BenchmarksTests", dependencies: ["LarderBenchmarks", "TraceReplay", "TestSupport"]),
        .testTarget(
            name: "LarderTests",
            dependencies: ["Larder", "DiskCache", "HTTPCaching", "Origin", "Primitives", "TestSupport"]),
        .testTarget(
            name: "LarderClientTests",
            dependencies: [
                "LarderClient", "Origin", "Primitives", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "LarderCommandTests",
            dependencies: ["LarderCommand", "LarderClient", "Larder", "Primitives", "TestSupport"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                // The tests start the executable: it must be built before they run.
                "LarderCommand", "DocumentationPage", "LarderAPI", "Larder", "MicroHTTPD", "DiskCache", "Origin",
                "Primitives", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Yams", package: "Yams"),
            ]),
    ]
)

// What must hold of every parser, whatever it is fed: tests like any other, and what scripts/fuzz has libFuzzer call. The
// environment says which of the two it is, because nothing but libFuzzer can be linked with the latter.
let fuzzed: [Target.Dependency] = [
    "LarderAPI", "LarderClient", "Larder", "MicroHTTPD", "Origin", "HTTPCaching", "DiskCache", "Primitives",
    .product(name: "Crypto", package: "swift-crypto"), .product(name: "HTTPTypes", package: "swift-http-types"),
]
let fuzzInputs = ["corpus", "regressions", "dictionaries"]
if Context.environment["LARDER_FUZZ"] == nil {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz", exclude: fuzzInputs + ["Entry", "Main"],
            sources: ["Properties", "Suite"]))
} else {
    package.targets += [
        .target(
            name: "LarderFuzzing", dependencies: fuzzed, path: "Tests/Fuzz", exclude: fuzzInputs + ["Main", "Suite"],
            sources: ["Entry", "Properties"]),
        .executableTarget(name: "LarderFuzz", dependencies: ["LarderFuzzing"], path: "Tests/Fuzz/Main"),
    ]
}
