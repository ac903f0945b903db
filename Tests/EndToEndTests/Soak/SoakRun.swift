import Foundation
import HTTPTypes
import Primitives
import TestSupport

/// A run: an origin, a server that is killed, drained and deprived of disk space, and the clients of the server.
final class SoakRun: Sendable {
    let plan: SoakPlan
    let origin: SoakOrigin
    let server: SoakServer
    let model = Locked(SoakModel())
    let tally = SoakTally()
    /// The problems so far.
    let problems = Recorder<String>()
    /// Opens when the load must end.
    let ending = Gate("end of the load")
    private let begin = ContinuousClock.now
    private let floors = Locked<[String: Int]>([:])
    private let served = Locked<[String: Set<Int>]>([:])
    private let workersAtWork = Counter("workers that have ended")
    private let disk: SmallDisk?
    private let directory: TemporaryDirectory
    private let path: String

    init(_ plan: SoakPlan) throws {
        self.plan = plan
        directory = try TemporaryDirectory("larder-soak")
        disk = try SmallDisk(size: SoakPlan.diskSize)
        path = (disk?.mount ?? directory).path("cache")
        origin = try SoakOrigin()
        server = SoakServer(plan, directory: path, originPort: origin.port)
    }

    /// The seconds since the beginning of the run.
    var now: Double { (ContinuousClock.now - begin).inSeconds }

    /// Pauses a worker. The end of the load cuts the pause short.
    func pause(milliseconds: Int) {
        try? ending.waitBlocking(limit: .milliseconds(milliseconds))
    }

    /// Records a problem. The run ends after 20 problems.
    func fail(_ problem: String) {
        SoakWatch.print("PROBLEM at \(now) s: \(problem)")
        problems.append(problem)
        if problems.elements.count >= 20 { ending.open() }
    }

    // MARK: - Fetched versions

    /// The latest purged version of a path; 0 if none was purged.
    func floor(of path: String) -> Int { floors.withLock { $0[path] ?? 0 } }

    /// Records that these versions, and all versions before them, were purged.
    func raiseFloors(_ versions: [(String, Int)]) {
        floors.withLock { floors in
            for (path, version) in versions { floors[path] = max(floors[path] ?? 0, version) }
        }
    }

    /// Records that a version of a path was served. Returns whether it was served for the first time.
    func isFirst(_ version: Int, of path: String) -> Bool {
        served.withLock { $0[path, default: []].insert(version).inserted }
    }

    // MARK: - The run

    /// Performs the whole run. The problems are in ``problems``.
    func work() async throws {
        SoakWatch.print(
            """
            \(Int(plan.duration)) s, seed \(plan.seed), layout \(plan.layout), \
            \(plan.sanitizer.map { "with the \($0) sanitizer" } ?? "without a sanitizer"), \
            \(disk == nil ? "without a disk that fills up" : "on a disk of \(SoakPlan.diskSize)")
            """)
        try await server.start()
        let watch = SoakWatch(self)
        var workers: [@Sendable () -> Void] = [{ [self] in SoakVisitor(self).work() }]
        for role in SoakRole.all { workers.append { [self] in SoakOwner(self, role).work() } }
        for number in 0..<3 { workers.append { [self] in SoakFetcher(self, number: number).work() } }
        workers.append { watch.work() }
        for worker in workers {
            startThread { [workersAtWork] in
                worker()
                workersAtWork.add()
            }
        }
        do {
            try await disturb()
        } catch {
            fail("\(error)")
        }
        ending.open()
        try await workersAtWork.wait(for: workers.count, limit: .seconds(90))
        if server.life == nil { try await server.start() }
        try await audit()
        try await settle()
        try await close(watch)
    }

    // MARK: - Disturbances of the server

    /// Kills and drains the server in the first quarter. In all of the run, fills the disk, and sends SIGUSR1.
    private func disturb() async throws {
        var random = SplitMix64(seed: plan.seed)
        while now < plan.stormEnd, !ending.isOpen {
            let life = 1.5 + Double(random.next() % 1000) / 1000 * max(2, min(15, plan.stormEnd / 5))
            await wait(life / 2)
            try await random.next() % 3 == 0 ? fillDisk(for: 0.5) : ask(SIGUSR1)
            await wait(life / 2)
            if random.next() % 3 == 0 {
                if let exit = try await server.drain(), exit != .status(0) { fail("a drain ended with \(exit)") }
            } else {
                try await server.kill()
            }
            model.withLock { [now] in $0.restart(at: now) }
            try await server.start()
        }
        while now < plan.duration, !ending.isOpen {
            await wait(min(plan.duration - now, 4 + Double(random.next() % 4)))
            guard now < plan.duration else { return }
            try await random.next() % 2 == 0 ? fillDisk(for: 1) : ask(SIGUSR1)
        }
    }

    private func wait(_ seconds: Double) async {
        try? await ending.wait(limit: .milliseconds(Int64(max(0, seconds) * 1000)))
    }

    private func ask(_ signal: Int32) {
        server.life?.process.process.kill(signal)
    }

    /// Fills the disk for a while, as another program could. Leaves 200 KiB of room.
    private func fillDisk(for seconds: Double) async throws {
        guard let disk else { return }
        try await blocking { try disk.fill(leaving: 200 << 10) }
        await wait(seconds)
        try FileManager.default.removeItem(atPath: disk.mount.path("filler"))
    }

    // MARK: - The end

    /// Compares the model of all names with the contents of the server at the end.
    private func audit() async throws {
        guard let life = server.life else { return }
        let names = SoakRole.all.flatMap { role in SoakName.all(of: role).map { (name: $0, role: role) } }
        let held = try await HTTPClient(port: life.process.port, limit: .seconds(60)).withConnection {
            [self] connection in
            var held = 0
            for (name, role) in names {
                let key = name.isURL ? md5(origin.url(of: name.text)) : name.ownKey
                let time = now
                let fields = SoakClient.fields(of: role.namespace)
                try connection.sendRequest("GET", "/entries/\(key)/content", fields: fields)
                let reply = try connection.readReply()
                var version: Int?
                if reply.status == 200 {
                    version = SoakBody.version(of: reply.body, name.text)
                    if version == nil { fail("\(name.text) is damaged at the end") }
                    held += 1
                } else if reply.status != 404 {
                    fail("\(name.text) at the end: \(reply.status) \(reply.text)")
                }
                let verdict = model.withLock { [version] in $0.verdict(name.text, found: version, at: time) }
                if let verdict { fail("at the end: \(verdict)") }
            }
            return held
        }
        SoakWatch.print("at the end \(held) of \(names.count) names hold a body")
        if held == 0 { fail("no name holds a body at the end") }
    }

    /// Waits until no client is connected, and compares the server's open descriptors with the number at its start.
    private func settle() async throws {
        origin.stop()
        guard let life = server.life else { return }
        ask(SIGUSR1)
        var now = SoakDescriptors(of: life.process, originPort: origin.port)
        try? await poll("an idle server", limit: .seconds(20), every: .milliseconds(100)) {
            now = SoakDescriptors(of: life.process, originPort: origin.port)
            return now.clients == 0 && now.others <= life.idle.others + Self.spareDescriptors
        }
        SoakWatch.print(
            """
            descriptors: \(life.idle.count) at first, \(now.count) at the end: \(now.clients) of clients, \
            \(now.upstream) to the origin, \(now.others) others
            """)
        if now.clients != 0 { fail("\(now.clients) connections of clients are open at the end") }
        if now.others > life.idle.others + Self.spareDescriptors {
            fail("\(now.others) descriptors are open at the end, \(life.idle.others) at the start")
        }
    }

    /// The number of files that the server may open during the run and keep open: files of the index, and files of the
    /// threads that wait for the disk.
    private static let spareDescriptors = 16

    private func close(_ watch: SoakWatch) async throws {
        let last = server.lives
        let exit = try await server.drain()
        if exit != .status(0) { fail("the last drain ended with \(String(describing: exit))") }
        let verified = try await LarderProcess.verify(path, executable: plan.executable)
        if verified.exit != .status(0) { fail("verify: \(verified.text)") }
        for alarm in try server.alarms() { fail("log: \(alarm)") }
        let figures = tally.figures
        let errors = figures.errors.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let (slope, count) = watch.slope(ofLife: last, from: plan.measuredFrom)
        let judged = plan.judgesSlope ? "at most \(SoakPlan.slopeLimit)" : "not judged"
        if plan.judgesSlope, slope > SoakPlan.slopeLimit {
            fail("memory grew by \(Self.text(slope)) MiB a minute over \(count) s")
        }
        if plan.sanitizer == nil, watch.peak > Double(SoakPlan.residentLimit) {
            fail("\(Int(watch.peak)) MiB were resident")
        }
        for (words, count) in try server.errors().sorted(by: { $0.value > $1.value }).prefix(10) {
            SoakWatch.print("log: \(count) times: \(words)")
        }
        SoakWatch.print(
            """
            \(figures.requests) requests, \(figures.hits) hits, \(last) lives; errors: \
            \(errors.joined(separator: ", ")); memory: \(Self.text(slope)) MiB a minute over the last \(count) s \
            (\(judged)), \(Int(watch.peak)) MiB at most; verify: \(verified.text.split(separator: "\n").last ?? "")
            """)
        SoakWatch.print("\(problems.elements.count) problems")
    }

    private static func text(_ number: Double) -> String { String(format: "%.2f", number) }
}
