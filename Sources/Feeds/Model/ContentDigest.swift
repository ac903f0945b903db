/// The FNV-1a hash of 128 bits over an item's content. It tells the items of one feed apart. It is not cryptographic: a
/// publisher can only make its own items look alike.
struct ContentDigest: Sendable {
    private var state: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private(set) var isEmpty = true

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            state = (state ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b
            isEmpty = false
        }
    }

    /// Separates two parts, so that "ab" and "c" differ from "a" and "bc". No UTF-8 text has this byte.
    mutating func separate() {
        state = (state ^ 0xff) &* 0x0000_0000_0100_0000_0000_0000_0000_013b
    }

    /// In hexadecimal, 32 digits.
    var text: String {
        let digits = String(state, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
