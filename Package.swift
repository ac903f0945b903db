// swift-tools-version: 6.2
import PackageDescription

/// The dependencies point down only: a target depends on no target above it in this list.
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
        // The executable: the subcommands, start-up, signals and drain, and the input and output of the client
        // commands.
        .executableTarget(
            name: "LarderCommand",
            dependencies: [
                "LarderAPI", "LarderClient", "Larder", "MicroHTTPD", "JSONEdits", "DiskCache", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // All the time, a thread frees memory that another thread allocated. With glibc's malloc, the two threads
            // wait for each other.
            linkerSettings: [.linkedLibrary("jemalloc")]),

        // The server side of the API: HTTP above the service.
        .target(
            name: "LarderAPI",
            dependencies: [
                "EmbeddedFiles", "MicroHTTPD", "Larder", "HTTPCaching", "DiskCache", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The files that are part of the executable: the description of the API, its page, and the dashboard.
        .target(
            name: "EmbeddedFiles", dependencies: ["CEmbeddedFiles"],
            exclude: ["openapi.yaml", "Documentation", "Dashboard"]),
        .target(name: "CEmbeddedFiles"),

        // The client side of the API: HTTP to a server.
        .target(
            name: "LarderClient",
            dependencies: ["Origin", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types")]),

        // The service.
        .target(
            name: "Larder",
            dependencies: [
                "Browser", "Origin", "HTTPCaching", "JSONEdits", "WebArchive", "Outbox", "Subscriptions", "Feeds",
                "StateDatabase", "DiskCache", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ]),

        // Modules that do not import one another.
        .target(
            name: "MicroHTTPD",
            dependencies: [
                "CMicroHTTPD", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            // libmicrohttpd must find these functions in the executable; see ServingThread.swift and
            // ConnectionDriver+Receiving.swift. Without the flag, gold does not export them.
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
            name: "Browser", dependencies: ["CSystem", "Primitives"],
            resources: [.embedInCode("Scripts")]),
        .target(name: "JSONEdits", dependencies: ["Primitives"]),
        .target(name: "WebArchive", dependencies: ["CCompression", "Primitives"]),
        .target(name: "Feeds", dependencies: ["CCompression", "CExpat", "Primitives"]),
        .target(
            name: "DiskCache",
            dependencies: [
                "CSQLite", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(
            name: "Outbox",
            dependencies: [
                "StateDatabase", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .target(
            name: "Subscriptions",
            dependencies: ["StateDatabase", "Primitives", .product(name: "GRDB", package: "GRDB.swift")]),

        // The base of Outbox and Subscriptions.
        .target(
            name: "StateDatabase",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        // The base of all modules above. It contains no policy.
        .target(name: "Primitives", dependencies: ["CCurl", "CSystem"]),
        .systemLibrary(name: "CSystem"),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev", "libgnutls28-dev"])]),
        .systemLibrary(name: "CCompression", providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"])]),
        .systemLibrary(name: "CExpat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Replays request traces through the code that evicts.
        .target(name: "TraceReplay", dependencies: ["DiskCache", "Primitives"], path: "Benchmarks/Eviction"),
        // Stores and reads without HTTP, in one way after the other. The harness starts this target.
        .executableTarget(
            name: "StorageBenchmark",
            dependencies: [
                "DiskCache", "Primitives", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/Storage"),
        // Measures Larder beside other servers. scripts/bench builds the necessary targets and starts this one.
        .executableTarget(
            name: "LarderBenchmarks",
            dependencies: [
                "TraceReplay", "WebArchive", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/Harness"),

        // Makes the page of /docs from openapi.yaml. A test compares the page in Sources with its result.
        .executableTarget(
            name: "DocumentationPage",
            dependencies: ["Primitives", .product(name: "Yams", package: "Yams")],
            path: "Tests/DocumentationPage"),
        // Prints the items of feeds, which scripts/check-feeds compares with those of another parser.
        .executableTarget(name: "FeedReport", dependencies: ["Feeds", "Primitives"], path: "Tests/FeedReport"),

        // Scripted origins, clients, gates and clocks, which the tests use.
        .target(
            name: "TestSupport",
            dependencies: ["DiskCache", "Primitives", .product(name: "HTTPTypes", package: "swift-http-types")],
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
        .testTarget(name: "JSONEditsTests", dependencies: ["JSONEdits", "Primitives", "TestSupport"]),
        .testTarget(name: "WebArchiveTests", dependencies: ["WebArchive", "Primitives", "TestSupport"]),
        .testTarget(name: "FeedsTests", dependencies: ["Feeds", "CCompression", "Primitives", "TestSupport"]),
        .testTarget(name: "BrowserTests", dependencies: ["Browser", "Primitives", "TestSupport"]),
        .testTarget(
            name: "DiskCacheTests",
            dependencies: [
                "DiskCache", "Primitives", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "OutboxTests",
            dependencies: [
                "Outbox", "StateDatabase", "Primitives", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "StateDatabaseTests",
            dependencies: ["StateDatabase", "TestSupport", .product(name: "GRDB", package: "GRDB.swift")]),
        .testTarget(
            name: "SubscriptionsTests", dependencies: ["Subscriptions", "StateDatabase", "Primitives", "TestSupport"]),
        .testTarget(
            name: "BenchmarksTests", dependencies: ["LarderBenchmarks", "TraceReplay", "WebArchive", "TestSupport"]),
        .testTarget(
            name: "LarderTests",
            dependencies: [
                "Larder", "DiskCache", "HTTPCaching", "WebArchive", "Outbox", "Subscriptions", "StateDatabase",
                "Origin",
                "Primitives", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
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
                // The tests start the executable, so it must be built before they run.
                "LarderCommand", "DocumentationPage", "LarderAPI", "Larder", "MicroHTTPD", "DiskCache", "Origin",
                "Primitives", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Yams", package: "Yams"),
            ]),
    ]
)

// The properties that every parser must have for any input. They run as ordinary tests, and scripts/fuzz runs them
// under libFuzzer. `LARDER_FUZZ` in the environment chooses between the two, because a build for libFuzzer can link no
// executable other than the fuzzer.
let fuzzed: [Target.Dependency] = [
    "LarderAPI", "LarderClient", "Larder", "MicroHTTPD", "Origin", "HTTPCaching", "JSONEdits", "WebArchive", "Feeds",
    "Outbox", "DiskCache", "Primitives",
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
