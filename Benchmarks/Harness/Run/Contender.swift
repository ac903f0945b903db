/// The values that a turn measured.
typealias Sample = [Metric: Double]

/// A row of a table, which is measured in each round.
struct Contender {
    /// Rows are only compared within their group, such as a size of bodies.
    var group: String
    var name: String
    /// The name of the baseline: the row of the same group to which this row is compared in each round.
    var baseline: String?
    var note: String?
    /// Whether a round may be divided into several short turns, which is possible if a turn does not change the state
    /// of the server.
    var isDivisible = false
    /// Measures a turn.
    var measure: (Turn) throws -> Sample
}

/// The position and the length of a turn of a contender.
struct Turn {
    /// The number of the round, from 0.
    var round: Int
    /// The position among the turns of the contender in this round, from 0.
    var number: Int
    /// The number of turns of the contender in each round.
    var count: Int
    /// The length of the turn, in seconds.
    var seconds: Int

    /// The position among all turns of the contender, from 0.
    var index: Int { round * count + number }

    /// The order in which the contenders have this turn. If rounds are divided into turns, every second turn has the
    /// reverse order.
    func order(of contenders: Int) -> [Int] {
        let there = Array(0..<contenders)
        return count > 1 && index % 2 == 1 ? there.reversed() : there
    }
}

extension Bench {
    /// Gives each contender a turn in each round, A B C A B C, and combines the samples into rows.
    ///
    /// If the rounds of all contenders can be divided, each round consists of turns of one second, A B C C B A. Then
    /// other load on the machine affects all contenders alike, and no contender always follows the same contender.
    ///
    /// - Parameters:
    ///   - times: the factor by which a divided round has more turns, for differences as small as the scatter of a
    ///     round with factor 1.
    ///   - ratios: the metrics of which the ratio to the baseline is computed in each round.
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

    /// Prints the result of the round for each contender.
    func note(_ round: Int, _ heads: [Row], _ samples: [[Sample]], _ metrics: [Metric]) {
        for (head, samples) in zip(heads, samples) {
            let figures = metrics.compactMap { metric in
                samples.last?[metric].map { " \(metric.text($0)) \(metric.unit)" }
            }
            note("round \(round + 1)/\(settings.rounds) \(head.group), \(head.name):\(figures.joined(separator: ","))")
        }
    }

    /// Runs a turn of wrk against a server, and measures the rate, the times and the cost for the server.
    ///
    /// - Parameter seconds: the length of the turn, or `nil` for a whole round.
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
