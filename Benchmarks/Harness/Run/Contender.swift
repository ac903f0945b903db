/// What one turn measured.
typealias Sample = [Metric: Double]

/// One row of a table: somebody who has a turn in each round.
struct Contender {
    /// Rows are only compared within their group, such as a size of bodies.
    var group: String
    var name: String
    /// The name of the row of the same group that this one is held against, in each round.
    var baseline: String?
    var note: String?
    /// Whether a round may be several short turns: for load on a server that the turns leave as it is.
    var isDivisible = false
    /// Has a turn.
    var measure: (Turn) throws -> Sample
}

/// When a contender has its turn, and for how long.
struct Turn {
    /// From 0.
    var round: Int
    /// Its place among the turns of the contender in this round, from 0.
    var number: Int
    /// How many it has in each round.
    var count: Int
    /// How long it is.
    var seconds: Int

    /// Its place among all turns of the contender.
    var index: Int { round * count + number }

    /// In which order so many contenders have it: there, and back the next time, where rounds are divided.
    func order(of contenders: Int) -> [Int] {
        let there = Array(0..<contenders)
        return count > 1 && index % 2 == 1 ? there.reversed() : there
    }
}

extension Bench {
    /// Gives everyone a turn in each round, A B C A B C, and puts together what came out.
    ///
    /// Where everyone's rounds can be divided, each is made of turns of one second, A B C C B A, so that what else goes
    /// on on the machine hits all of them alike, and nobody always comes after the same one.
    ///
    /// - Parameters:
    ///   - times: how many times as many turns a round has that can be divided, for differences as small as what one
    ///     such round scatters by.
    ///   - ratios: the metrics whose ratio to the baseline is taken, round by round.
    func run(
        _ contenders: [Contender], times: Int = 1, ratios: [Metric] = [.requestsPerSecond]
    ) throws -> [Row] {
        let heads = contenders.map { Row(group: $0.group, name: $0.name, baseline: $0.baseline, note: $0.note) }
        var samples = [[Sample]](repeating: [], count: contenders.count)
        let isDivisible = contenders.allSatisfy(\.isDivisible)
        let count = isDivisible ? times * settings.seconds : 1
        for round in 0..<settings.rounds {
            var turns = [[Sample]](repeating: [], count: contenders.count)
            for number in 0..<count {
                let turn = Turn(round: round, number: number, count: count, seconds: isDivisible ? 1 : settings.seconds)
                for index in turn.order(of: contenders.count) {
                    turns[index].append(try contenders[index].measure(turn))
                }
            }
            for index in contenders.indices { samples[index].append(Metric.together(turns[index])) }
            note(round, heads, samples, ratios)
        }
        return Row.held(heads, samples, ratios: ratios)
    }

    /// Says what the round has brought everyone.
    func note(_ round: Int, _ heads: [Row], _ samples: [[Sample]], _ metrics: [Metric]) {
        for (head, samples) in zip(heads, samples) {
            let figures = metrics.compactMap { metric in
                samples.last?[metric].map { " \(metric.text($0)) \(metric.unit)" }
            }
            note("round \(round + 1)/\(settings.rounds) \(head.group), \(head.name):\(figures.joined(separator: ","))")
        }
    }

    /// One turn of wrk against a server, and what that cost the server.
    ///
    /// - Parameter seconds: how long; `nil`: a whole round.
    func measure(
        _ server: Server, _ script: String, _ arguments: [String], seconds: Int? = nil
    ) throws -> Sample {
        let before = ProcessUsage(of: server.process.id)
        let asked = try origin.requests()
        let result = try Wrk(bench: self).run(
            script, arguments, on: server.port, seconds: seconds ?? settings.seconds,
            connections: settings.connections)
        let after = ProcessUsage(of: server.process.id)
        guard server.process.isRunning else { throw BenchmarkError("\(server.name) ended under load") }
        guard result.requests > 0 else { throw BenchmarkError("\(server.name) answered nothing") }
        if result.failures.count > 0 { note("\(server.name): \(result.failures)") }
        let requests = Double(result.requests)
        return [
            .requestsPerSecond: result.requestsPerSecond,
            .p50: Double(result.p50) / 1e6, .p99: Double(result.p99) / 1e6, .p999: Double(result.p999) / 1e6,
            .cpuPerRequest: (after.cpuSeconds - before.cpuSeconds) / requests,
            .peakMemory: Double(after.peakBytes), .anonymousMemory: Double(after.anonymousBytes),
            .failures: Double(result.failures.count), .originRequests: Double(try origin.requests() - asked),
        ]
    }
}
