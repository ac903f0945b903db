import Primitives
import Testing

@Suite("A limit of bytes for several owners together")
struct SharedAllowanceTests {
    @Test("The first owner may take half of the allowance, and each later owner half of the rest")
    func halves() {
        let allowance = SharedAllowance(limit: 1000)
        let parts = (0..<5).map { _ in SharedAllowance.Part(of: allowance) }
        let taken = parts.map { part in
            var count = 0
            while part.take(1) { count += 1 }
            return count
        }
        #expect(taken == [500, 250, 125, 62, 31])
    }

    @Test("Each owner can take the guaranteed minimum, however much the other owners have already taken")
    func floor() {
        let allowance = SharedAllowance(limit: 100, floor: 10)
        let parts = (0..<20).map { _ in SharedAllowance.Part(of: allowance) }
        for part in parts { while part.take(1) {} }
        let last = SharedAllowance.Part(of: allowance)
        for _ in 0..<10 { #expect(last.take(1)) }
        #expect(!last.take(1))
    }

    @Test("An owner can take the room that another owner has returned, or that an ended owner had taken")
    func givenBack() {
        let allowance = SharedAllowance(limit: 100)
        let first = SharedAllowance.Part(of: allowance)
        #expect(first.take(50))
        #expect(!first.take(1))
        first.giveBack(20)
        #expect(first.take(20))
        do {
            let second = SharedAllowance.Part(of: allowance)
            #expect(second.take(25))
            #expect(!second.take(1))
        }
        let third = SharedAllowance.Part(of: allowance)
        #expect(third.take(25))
    }
}
