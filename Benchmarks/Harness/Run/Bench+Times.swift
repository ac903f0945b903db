extension Bench {
    /// Times hits of servers in very short turns, so that other load on the machine affects all servers alike. The p99s
    /// of a round of two equal servers differed by 2 % with turns of 10 ms, and by 5 % with a fifth as many turns of 50
    /// ms. A round takes four times the seconds of other rounds, and its percentiles are computed over all its hits.
    /// Each turn draws a new order of the servers and a new first target for all servers, so that no server always
    /// follows the same server. Delayed work of a server for its hits mostly falls into the turns of other servers.
    ///
    /// - Parameters:
    ///   - heads: rows without values, one for each timer.
    ///   - ratios: the metrics of which the ratio to the baseline is computed in each round.
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
