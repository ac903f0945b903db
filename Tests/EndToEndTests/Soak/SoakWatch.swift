import Foundation
import Primitives
import TestSupport

/// Samples the server each second, and prints its state every ten seconds.
final class SoakWatch: Sendable {
    /// The resident memory of a process.
    struct Sample: Sendable {
        /// The time in seconds of the run.
        var time: Double
        var residentMiB: Double
    }

    private let run: SoakRun
    private let samples = Locked<[Int: [Sample]]>([:])

    init(_ run: SoakRun) {
        self.run = run
    }

    /// Samples until the run ends. Blocks.
    func work() {
        var printed = SoakTally.Figures()
        var seconds = 0
        while !run.ending.isOpen {
            try? run.ending.waitBlocking(limit: .seconds(1))
            seconds += 1
            sample()
            guard seconds.isMultiple(of: 10) else { continue }
            let figures = run.tally.figures
            say(figures, since: printed)
            printed = figures
            run.origin.forgetRequests()
        }
    }

    private func sample() {
        guard let life = run.server.life else { return }
        if let exit = life.process.process.hasExited, !life.isEnding {
            run.fail("the server ended by itself with \(exit): …\(life.process.process.output.suffix(2000))")
            run.ending.open()
            return
        }
        let resident = Double(life.process.residentBytes) / 1_048_576
        // A process that has just ended has no resident memory.
        guard resident > 0, !life.isEnding else { return }
        samples.withLock { $0[life.number, default: []].append(Sample(time: run.now, residentMiB: resident)) }
    }

    private func say(_ figures: SoakTally.Figures, since last: SoakTally.Figures) {
        let requests = figures.requests - last.requests
        let hits = figures.hits - last.hits
        let errors = figures.errors.map { ($0.key, $0.value - (last.errors[$0.key] ?? 0)) }.filter { $0.1 > 0 }
        var words = ["\(Int(run.now)) s: \(requests / 10) requests/s", "\(hits / 10) hits/s"]
        let kinds = errors.sorted { $0 < $1 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        words.append("errors: " + (kinds.isEmpty ? "none" : kinds))
        if let life = run.server.life {
            let descriptors = SoakDescriptors(of: life.process, originPort: run.origin.port)
            words.append("\(life.process.residentBytes >> 20) MiB")
            words.append("\(descriptors.count) descriptors (\(descriptors.clients) of clients)")
            words.append("\(entries(of: life)) entries")
            words.append("life \(life.number)")
        } else {
            words.append("between two lives")
        }
        Self.print(words.joined(separator: "; "))
    }

    private func entries(of life: SoakServer.Life) -> String {
        guard let connection = try? RawConnection(port: life.process.port, limit: .seconds(5)) else { return "?" }
        defer { connection.close() }
        try? connection.sendRequest("GET", "/stats", fields: [.connection: "close"])
        guard let count = try? connection.readReply().member("entries")?.doubleValue else { return "?" }
        return "\(Int(count))"
    }

    /// Prints a line about the run without buffering.
    static func print(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("soak: \(line)\n".utf8))
    }

    // MARK: - Memory

    /// The highest resident memory at any moment, in MiB.
    var peak: Double { samples.withLock { $0.values.joined().map(\.residentMiB).max() ?? 0 } }

    /// The growth of a process's memory from `start` on, in MiB a minute, and the number of samples for it.
    func slope(ofLife number: Int, from start: Double) -> (slope: Double, count: Int) {
        let samples = samples.withLock { $0[number] ?? [] }.filter { $0.time >= start }
        return (Self.slope(samples), samples.count)
    }

    /// The slope of the least-squares line, in MiB a minute; 0 for fewer than two samples.
    static func slope(_ samples: [Sample]) -> Double {
        let count = Double(samples.count)
        guard count > 1 else { return 0 }
        let meanTime = samples.reduce(0) { $0 + $1.time } / count
        let meanResident = samples.reduce(0) { $0 + $1.residentMiB } / count
        var (together, alone) = (0.0, 0.0)
        for sample in samples {
            together += (sample.time - meanTime) * (sample.residentMiB - meanResident)
            alone += (sample.time - meanTime) * (sample.time - meanTime)
        }
        return alone == 0 ? 0 : together / alone * 60
    }
}
