import TestSupport
import Testing

@testable import DiskCache

@Suite("The ghost table")
struct GhostTableTests {
    private func hashes(_ count: Int) -> [Int] {
        var generator = SplitMix64(seed: 7)
        return (0..<count).map { _ in Int(truncatingIfNeeded: generator.next()) }
    }

    @Test("The table remembers the newest hashes, and forgets a hash that is removed", arguments: [1, 7, 100, 10_000])
    func lastOnes(limit: Int) {
        var table = GhostTable()
        let all = hashes(limit * 5)
        for hash in all { table.insert(hash, limit: limit) }
        let (old, last) = (all.dropLast(limit), all.suffix(limit))
        #expect(table.count <= limit)
        let foundOld = old.count { table.remove($0) }
        // The table forgets some new hashes early because their bucket is full. A few older hashes remain instead.
        #expect(Double(foundOld) <= Double(limit) * 0.03)
        let found = last.count { table.remove($0) }
        #expect(found <= limit)
        // A full bucket forgets some hashes early.
        #expect(Double(found) >= Double(limit) * 0.97)
        #expect(table.count == 0)
        let foundAgain = last.count { table.remove($0) }
        #expect(foundAgain == 0)
    }

    @Test("A new hash takes the place of a removed hash and pushes no older hash out")
    func holes() {
        var table = GhostTable()
        let all = hashes(3000)
        table.insert(all[0], limit: 1000)
        for hash in all.dropFirst() {
            table.insert(hash, limit: 1000)
            let isFound = table.remove(hash)
            #expect(isFound)
        }
        let isFound = table.remove(all[0])
        #expect(isFound)
    }

    @Test("The table takes at most 16 bytes of memory for each hash of its limit, and shrinks when the limit shrinks")
    func memory() {
        var table = GhostTable()
        #expect(table.memoryBytes == 0)
        let all = hashes(60_000)
        for (number, hash) in all.enumerated() {
            let limit = number < 30_000 ? 10_000 : 500
            table.insert(hash, limit: limit)
            #expect(table.memoryBytes <= limit * 16 + 72)
        }
        #expect(table.count >= 480)
        table.insert(1, limit: 0)
    }

    @Test("The table finds the same hashes as a plain list, except for hashes that a full bucket dropped early")
    func model() {
        var generator = SplitMix64(seed: 3)
        var table = GhostTable()
        var model: [Int] = []
        let all = hashes(800)
        var differences = 0
        for round in 0..<40_000 {
            let hash = all[Int.random(in: 0..<800, using: &generator)]
            let limit = round < 20_000 ? 300 : 200
            if Bool.random(using: &generator) {
                model.removeAll { $0 == hash }
                model.append(hash)
                model.removeFirst(max(0, model.count - limit))
                table.insert(hash, limit: limit)
            } else {
                let wasInModel = model.contains(hash)
                model.removeAll { $0 == hash }
                if table.remove(hash) != wasInModel { differences += 1 }
            }
            #expect(table.count <= limit)
        }
        #expect(differences < 800)
    }
}
