import DiskCache
import Foundation
import Logging
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The memory keeper")
struct MemoryKeeperTests {
    private static let limit = 16 << 20

    /// A cache with about 6 MiB in its memory tier, and a keeper that reads plain files as soon as they change.
    private static func withKeeper(
        files texts: [String: String], pace: MemoryPressurePolicy.Pace = .init(),
        _ body: (MemoryKeeper, DiskCache, TemporaryDirectory) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        var configuration = CacheConfiguration()
        configuration.memoryLimit = limit
        configuration.diskReserve = .bytes(0)
        let cache = try DiskCache(in: CacheDirectory(path: directory.path("cache")), configuration: configuration)
        defer { cache.close() }
        try await fill(cache)
        try FileManager.default.createDirectory(atPath: directory.path("group"), withIntermediateDirectories: false)
        for (name, text) in texts { try directory.write(text, to: "group/" + name) }
        var files = MemoryPressureFiles()
        files.stalls = [directory.path("group/memory.pressure")]
        files.memory = directory.path("group/meminfo")
        files.controlGroup = directory.path("group")
        files.notify = false
        files.readInterval = .milliseconds(1)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let keeper = MemoryKeeper(limit: limit, watching: files, pace: pace, logger: logger)
        keeper.share([MemoryKeeper.Share(cache: cache, bytes: limit)])
        defer { keeper.stop() }
        try await body(keeper, cache, directory)
    }

    /// Stores bodies and reads them, which brings them into memory.
    private static func fill(_ cache: DiskCache) async throws {
        for number in 0..<60 {
            let reservation = cache.reserve(try .data("entry \(number)"), kind: .data)
            try reservation.receive([UInt8](repeating: 1, count: 100_000))
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(1000)))
            _ = try await cache.stored("entry \(number)")
        }
        #expect(cache.memoryStatistics.count == 60)
    }

    private static func expectAllHeld(_ cache: DiskCache) async throws {
        for number in 0..<60 { #expect(try await cache.stored("entry \(number)")?.body.bytes().count == 100_000) }
    }

    private static let calm = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 total=0\n"

    @Test("Stalls shrink the memory tier to its floor, and the tier grows back when the stalls end")
    func stalls() async throws {
        var pace = MemoryPressurePolicy.Pace()
        (pace.shrinkInterval, pace.calmInterval, pace.growInterval) = (.zero, .milliseconds(50), .zero)
        try await Self.withKeeper(files: ["memory.pressure": Self.calm], pace: pace) { keeper, cache, directory in
            #expect(cache.currentMemoryLimit == Self.limit)
            try directory.write("some avg10=40.00 avg60=0.00 avg300=0.00 total=9\n", to: "group/memory.pressure")
            try await poll("the floor") { cache.currentMemoryLimit == Self.limit / 16 }
            #expect(keeper.signs > 0)
            try await poll("a smaller tier") { cache.memoryStatistics.bytes <= Self.limit / 16 }
            try await Self.expectAllHeld(cache)
            try directory.write(Self.calm, to: "group/memory.pressure")
            try await poll("the full limit") { cache.currentMemoryLimit == Self.limit }
            try await Self.expectAllHeld(cache)
            #expect(cache.memoryStatistics.count == 60)
        }
    }

    @Test("Stalls are no sign of short memory while more than an eighth of the machine's memory is available")
    func stallsWithMemoryEnough() async throws {
        let files = [
            "meminfo": "MemTotal:       1000000 kB\nMemFree:        10000 kB\nMemAvailable:   125001 kB\n",
            "memory.pressure": "some avg10=40.00 avg60=0.00 avg300=0.00 total=9\n",
        ]
        try await Self.withKeeper(files: files) { keeper, cache, directory in
            try await keeper.waitForRounds()
            #expect(keeper.signs == 0)
            #expect(cache.currentMemoryLimit == Self.limit)
            let taken = "MemTotal: 1000000 kB\nMemFree: 10000 kB\nMemAvailable: 125000 kB\n"
            try directory.write(taken, to: "taken")
            // The file is replaced in one step, because a partly written file would count as a sign.
            try #require(rename(directory.path("taken"), directory.path("group/meminfo")) == 0)
            try await poll("a sign") { keeper.signs > 0 }
        }
    }

    /// Returns whether a stall of a control group is a sign of short memory.
    ///
    /// - Parameters:
    ///   - own: the files of the group.
    ///   - around: the files of the group around it.
    ///   - machine: the text of `/proc/meminfo`; `nil` when the file is missing.
    ///   - old: the files of the group in version 1 of control groups; `nil` without version 1.
    ///   - ofMachine: whether the machine stalls instead of the group.
    ///   - mayHideLimit: see ``MemoryPressureFiles/mayHideLimit``.
    private static func isSign(
        own: [String: String] = [:], around: [String: String] = [:], old: [String: String]? = nil,
        machine: String? = "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n", ofMachine: Bool = false,
        mayHideLimit: Bool = false
    ) throws -> Bool {
        let directory = try TemporaryDirectory()
        for (place, texts) in [("around", around), ("around/own", own), ("old", old ?? [:])] {
            try FileManager.default.createDirectory(atPath: directory.path(place), withIntermediateDirectories: true)
            for (name, text) in texts { try directory.write(text, to: place + "/" + name) }
        }
        let stalls = (ofMachine ? "" : "around/own/") + "memory.pressure"
        try directory.write("some avg10=40.00 avg60=0.00 avg300=0.00 total=9\n", to: stalls)
        if let machine { try directory.write(machine, to: "meminfo") }
        var files = MemoryPressureFiles()
        files.stalls = [directory.path(stalls)]
        files.memory = directory.path("meminfo")
        files.controlGroup = directory.path("around/own")
        if old != nil { files.oldControlGroup = directory.path("old") }
        files.mayHideLimit = mayHideLimit
        files.notify = false
        var sensor = MemoryPressureSensor(files)
        return sensor.sign() == .short
    }

    @Test("With free memory in the machine, a stall is a sign of short memory only if a group is at its limit")
    func stallsInGroups() throws {
        let stat = "anon 900000\ninactive_file 90000\n"
        let taken = ["memory.max": "1000000\n", "memory.current": "999000\n", "memory.stat": stat]
        let free = taken.merging(["memory.max": "max\n"]) { $1 }
        #expect(try !Self.isSign(own: free, around: free))
        #expect(try Self.isSign(own: taken, around: free))
        #expect(try Self.isSign(own: free, around: taken))
        // A group without the memory controller has only `memory.pressure`.
        #expect(try Self.isSign(own: [:], around: taken))
        #expect(try !Self.isSign(own: [:], around: free))
        #expect(try Self.isSign(own: taken, ofMachine: true))
    }

    @Test("A stall of a group that has few pages of files is a sign of short memory, even if no limit is visible")
    func stallsInGroupsWithoutFiles() throws {
        let group = ["memory.max": "max\n", "memory.current": "999000\n", "memory.stat": "anon 990000\n"]
        #expect(try Self.isSign(own: group))
        // Here the machine stalls, and not the group.
        #expect(try !Self.isSign(own: group, ofMachine: true))
    }

    @Test("A stall of the machine is a sign of short memory if a group of version 1 is at its limit")
    func stallsInOldGroups() throws {
        let free = [
            "memory.limit_in_bytes": "1000000\n", "memory.usage_in_bytes": "990000\n",
            "memory.stat": "total_rss 90000\ntotal_inactive_file 900000\n",
        ]
        let taken = free.merging(["memory.stat": "total_rss 980000\ntotal_inactive_file 9000\n"]) { $1 }
        #expect(try !Self.isSign(old: free, ofMachine: true))
        #expect(try Self.isSign(old: taken, ofMachine: true))
    }

    @Test("A stall is a sign of short memory if over 256 pages were read back from swap since the last check")
    func stallsOfSwap() throws {
        let directory = try TemporaryDirectory()
        func write(_ count: Int, to name: String) throws {
            let counts = "inactive_file 900\nworkingset_refault_anon \(count)\nworkingset_refault_file 9\n"
            try directory.write(counts, to: name)
        }
        try directory.write("some avg10=40.00 avg60=0.00 avg300=0.00 total=9\n", to: "stalls")
        try directory.write("MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n", to: "meminfo")
        try directory.write("1000\n", to: "memory.current")
        try write(5000, to: "memory.stat")
        try write(7000, to: "vmstat")
        var files = MemoryPressureFiles()
        files.stalls = [directory.path("stalls")]
        files.memory = directory.path("meminfo")
        files.machineCounts = directory.path("vmstat")
        files.controlGroup = directory.path
        files.notify = false
        var sensor = MemoryPressureSensor(files)
        // The kernel counted these reads from swap before the sensor started, so they are no sign.
        #expect(sensor.sign() == nil)
        for name in ["memory.stat", "vmstat"] {
            try write(8000, to: name)
            #expect(sensor.sign() == .short)
            #expect(sensor.sign() == nil)
            try write(8200, to: name)
            #expect(sensor.sign() == nil)
        }
    }

    @Test("A stall is a sign of short memory if no file shows the free memory or a limit, or if a limit may be hidden")
    func stallsOfUnknownCause() throws {
        let stat = "anon 900000\ninactive_file 90000\n"
        let free = ["memory.max": "max\n", "memory.current": "999000\n", "memory.stat": stat]
        for isOfMachine in [false, true] {
            #expect(try Self.isSign(machine: nil, ofMachine: isOfMachine))
            #expect(try Self.isSign(own: free, machine: nil, ofMachine: isOfMachine))
            #expect(try Self.isSign(machine: "what is this", ofMachine: isOfMachine))
            #expect(try Self.isSign(ofMachine: isOfMachine, mayHideLimit: true))
            #expect(try !Self.isSign(ofMachine: isOfMachine))
        }
        let limited = free.merging(["memory.max": "9000000\n"]) { $1 }
        #expect(try !Self.isSign(own: limited, machine: nil))
    }

    @Test("A group at its limit without pages of files is a sign of short memory; an oom event is a stronger sign")
    func events() async throws {
        let none = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"
        let files = [
            "memory.events": none, "memory.high": "max\n", "memory.max": "1000000\n", "memory.current": "999000\n",
            "memory.stat": "anon 99000\ninactive_file 900000\nactive_file 0\n",
        ]
        try await Self.withKeeper(files: files) { keeper, cache, directory in
            // The group is at its limit because of pages of files, which the kernel can free. So this is no sign.
            try directory.write("low 0\nhigh 0\nmax 5\noom 0\noom_kill 0\n", to: "group/memory.events")
            try await keeper.waitForRounds()
            #expect(keeper.signs == 0)
            let held = cache.memoryStatistics.bytes
            try directory.write("anon 990000\ninactive_file 9000\nactive_file 0\n", to: "group/memory.stat")
            try directory.write("low 0\nhigh 0\nmax 6\noom 0\noom_kill 0\n", to: "group/memory.events")
            try await poll("a quarter less") { cache.memoryStatistics.bytes <= held - held / 4 }
            #expect(cache.memoryStatistics.count > 40)
            #expect(keeper.signs == 1)
            try directory.write("low 0\nhigh 0\nmax 6\noom 1\noom_kill 0\n", to: "group/memory.events")
            try await poll("the floor") { cache.currentMemoryLimit == Self.limit / 16 }
            try await Self.expectAllHeld(cache)
        }
    }

    @Test("Without any of the kernel's files about memory, the memory tier keeps its limit")
    func nothingToWatch() async throws {
        try await Self.withKeeper(files: [:]) { keeper, cache, _ in
            try await keeper.waitForRounds()
            #expect(cache.memoryStatistics.count == 60)
            #expect(cache.currentMemoryLimit == Self.limit)
        }
    }

    @Test("A trim frees memory down to the given bytes, with the same limit; after the keeper's stop, it frees none")
    func trim() async throws {
        try await Self.withKeeper(files: [:]) { keeper, cache, _ in
            let held = cache.memoryStatistics.bytes
            let some = await keeper.trim(toBytes: held / 2)
            #expect(some.memoryBytes <= held / 2 && some.memoryBytes > held / 3)
            #expect(some.freedBytes == held - some.memoryBytes)
            let all = await keeper.trim()
            #expect(all == MemoryKeeper.Trimmed(freedBytes: some.memoryBytes, memoryBytes: 0))
            #expect(cache.currentMemoryLimit == Self.limit)
            try await Self.expectAllHeld(cache)
            #expect(cache.memoryStatistics.count == 60)
            keeper.stop()
            let late = await keeper.trim()
            #expect(late == MemoryKeeper.Trimmed(freedBytes: 0, memoryBytes: cache.memoryStatistics.bytes))
            #expect(cache.memoryStatistics.count == 60)
        }
    }

    @Test("The kernel's file about the memory pressure of the machine can be watched, or is reported as missing")
    func machine() throws {
        var files = MemoryPressureFiles()
        files.stalls = ["/proc/pressure/memory"]
        let sensor = MemoryPressureSensor(files)
        // The sensor waits for notices about the file, reads it now and then, or reports it as missing.
        #expect(sensor.polled.count == 1 || sensor.mustRead || sensor.missing == files.stalls)
        files.stalls = ["/nonexistent/memory.pressure"]
        files.controlGroup = "/nonexistent"
        let none = MemoryPressureSensor(files)
        #expect(none.polled.isEmpty && !none.mustRead)
        #expect(none.missing == ["/nonexistent/memory.pressure", "/nonexistent/memory.events"])
    }
}

extension MemoryKeeper {
    fileprivate func trim(toBytes target: Int = 0) async -> Trimmed {
        await withCheckedContinuation { continuation in
            trim(toBytes: target) { continuation.resume(returning: $0) }
        }
    }

    /// Waits until the thread has looked at the files at least once since the call. The thread does so after each trim.
    fileprivate func waitForRounds() async throws {
        for _ in 0..<2 { _ = await trim(toBytes: .max) }
    }
}
