extension Bench {
    /// Times hits of servers, in turns so short that what goes on on the machine meanwhile hits all of them alike: of
    /// two servers that are the same the p99s of a round differed by 2 % with turns of 10 ms, and by 5 % with a fifth
    /// as many of 50 ms. A round takes four times the seconds of other rounds, and its percentiles are of all its hits.
    /// The order, and the target that all begin with, are drawn anew for each turn, so nobody always comes after the
    /// same one. What a server does about its hits some time later mostly falls into turns of others.
    ///
    /// - Parameters:
    ///   - heads: rows without values, one a timer.
    ///   - ratios: the metrics whose ratio to the baseline is taken, round by round.
    func time(_ timers: [HitTimer], _ heads: [Row], ratios: [Metric]) throws -> [Row] {
        let (clients, warmUp, turn) = (2, 2, 10)
        var samples = [[Sample]](repeating: [], count: timers.count)
        for round in 0..<settings.rounds {
            var times = [[UInt32]](repeating: [], count: timers.count)
            for _ in 0..<(4 * settings.seconds * 1000 / (warmUp + turn)) {
                let start = Int.random(in: 0..<Int(UInt16.max))
                for index in timers.indices.shuffled() {
                    times[index] += try timers[index].run(
                        clients: clients, from: start, warmUp: warmUp, milliseconds: turn)
                }
            }
            for index in timers.indices {
                let sorted = times[index].sorted()
                guard !sorted.isEmpty else { throw BenchmarkError("\(heads[index].name): no hit") }
                func percentile(perMille share: Int) -> Double {
                    // The nearest rank.
                    Double(sorted[(sorted.count * share + 999) / 1000 - 1]) / 1e9
                }
                samples[index].append([
                    .p50: percentile(perMille: 500), .p99: percentile(perMille: 990), .p999: percentile(perMille: 999),
                ])
            }
            note(round, heads, samples, ratios)
        }
        return Row.held(heads, samples, ratios: ratios)
    }
}
