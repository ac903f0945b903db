import Foundation

/// The processors that a thread may run on, as the kernel's bit mask.
struct Affinity {
    /// glibc's functions for it; Swift's module has them not, as they are for GNU C only.
    private typealias Function = @convention(c) (Int32, Int, UnsafeMutablePointer<UInt64>) -> Int32

    private var mask: [UInt64]

    /// Those of the calling thread.
    static var ofCaller: Affinity {
        var affinity = Affinity(mask: [UInt64](repeating: 0, count: 128))
        affinity.call("sched_getaffinity")
        return affinity
    }

    /// The first of them alone.
    var first: Affinity {
        var first = Affinity(mask: [UInt64](repeating: 0, count: mask.count))
        if let word = mask.firstIndex(where: { $0 != 0 }) {
            first.mask[word] = 1 << UInt64(mask[word].trailingZeroBitCount)
        }
        return first
    }

    /// Keeps the calling thread on them.
    func apply() {
        var copy = self
        copy.call("sched_setaffinity")
    }

    private mutating func call(_ name: String) {
        guard let address = dlsym(nil, name) else { fatalError("no \(name)") }
        let function = unsafeBitCast(address, to: Function.self)
        let result = function(0, mask.count * MemoryLayout<UInt64>.size, &mask)
        precondition(result == 0, "\(name): \(String(cString: strerror(errno)))")
    }
}
