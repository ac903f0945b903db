/// Decides which transfers may run: a limited number in total, and a limited number per host. The transfers of a host
/// wait in the order of arrival. The hosts take turns, so that a long line for a host never delays another host.
///
/// The type is a plain value. It knows transfers by number and hosts by name, starts no transfer and has no lock. Every
/// operation takes constant amortised time.
struct TransferQueue {
    // A line is removed from the table while it changes, so that its array is not copied.
    private struct Line {
        var running = 0
        var waiting = FIFO()
        /// Whether the host is in `turns`: it has a waiting transfer and is below its limit.
        var hasTurn = false
    }

    private let limit: Int
    private let limitPerHost: Int
    private var lines: [String: Line] = [:]
    private var hosts: [UInt64: String] = [:]
    private var runningTransfers: Set<UInt64> = []
    private var turns: [String] = []
    private var nextTurn = 0

    /// A queue with these limits; a limit below 1 counts as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(limit, 1)
        self.limitPerHost = max(limitPerHost, 1)
    }

    var runningCount: Int { runningTransfers.count }
    var waitingCount: Int { hosts.count - runningTransfers.count }

    /// Adds a transfer at the end of its host's line.
    ///
    /// - Parameter first: whether the transfer goes to the front, because it had its turn before.
    mutating func enqueue(_ transfer: UInt64, host: String, first: Bool = false) {
        precondition(hosts[transfer] == nil, "a transfer is in the queue twice")
        hosts[transfer] = host
        var line = lines.removeValue(forKey: host) ?? Line()
        if first { line.waiting.prepend(transfer) } else { line.waiting.append(transfer) }
        giveTurn(to: host, &line)
        lines[host] = line
    }

    /// Returns the next transfer that may run, and counts it as running; `nil` when none may run.
    mutating func next() -> UInt64? {
        guard runningTransfers.count < limit else { return nil }
        while nextTurn < turns.count {
            let host = turns[nextTurn]
            nextTurn += 1
            if nextTurn > 64 && nextTurn * 2 > turns.count {
                turns.removeSubrange(..<nextTurn)
                nextTurn = 0
            }
            guard var line = lines.removeValue(forKey: host) else { continue }
            line.hasTurn = false
            let transfer = line.waiting.popFirst { hosts[$0] == host && !runningTransfers.contains($0) }
            if let transfer {
                line.running += 1
                runningTransfers.insert(transfer)
            }
            giveTurn(to: host, &line)
            store(line, for: host)
            if let transfer { return transfer }
        }
        return nil
    }

    /// Removes a running or waiting transfer; has no effect for an unknown transfer.
    mutating func remove(_ transfer: UInt64) {
        guard let host = hosts.removeValue(forKey: transfer), var line = lines.removeValue(forKey: host) else { return }
        if runningTransfers.remove(transfer) != nil {
            line.running -= 1
        } else {
            line.waiting.forgetOne { hosts[$0] == host && !runningTransfers.contains($0) }
        }
        giveTurn(to: host, &line)
        store(line, for: host)
    }

    private mutating func giveTurn(to host: String, _ line: inout Line) {
        guard !line.hasTurn, !line.waiting.isEmpty, line.running < limitPerHost else { return }
        line.hasTurn = true
        turns.append(host)
    }

    private mutating func store(_ line: Line, for host: String) {
        lines[host] = line.running == 0 && line.waiting.isEmpty ? nil : line
    }
}

/// A first-in, first-out line of numbers. A number that left out of turn stays in the array until such numbers are half
/// of it; `popFirst` skips it.
private struct FIFO {
    private var numbers: [UInt64] = []
    private var head = 0
    private var goneCount = 0

    /// Whether the line has no waiting number.
    var isEmpty: Bool { numbers.count - head == goneCount }

    mutating func append(_ number: UInt64) {
        numbers.append(number)
    }

    mutating func prepend(_ number: UInt64) {
        if head > 0 {
            head -= 1
            numbers[head] = number
        } else {
            numbers.insert(number, at: 0)
        }
    }

    /// Removes and returns the first number that still waits.
    mutating func popFirst(isHere: (UInt64) -> Bool) -> UInt64? {
        while head < numbers.count {
            let number = numbers[head]
            head += 1
            if head > 64 && head * 2 > numbers.count {
                numbers.removeSubrange(..<head)
                head = 0
            }
            if isHere(number) { return number }
            goneCount -= 1
        }
        return nil
    }

    /// Counts a number that left out of turn.
    mutating func forgetOne(isHere: (UInt64) -> Bool) {
        goneCount += 1
        guard goneCount > 64, goneCount * 2 > numbers.count - head else { return }
        numbers = numbers[head...].filter(isHere)
        head = 0
        goneCount = 0
    }
}
