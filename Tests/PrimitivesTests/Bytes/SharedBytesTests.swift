import Primitives
import Testing

@Suite("Shared bytes")
struct SharedBytesTests {
    private struct Failure: Error {}

    @Test("A later change of the source does not change the shared bytes")
    func copying() {
        var source: [UInt8] = [1, 2, 3]
        let bytes = source.withUnsafeBytes { SharedBytes(copying: $0) }
        source[0] = 9
        #expect(bytes.withUnsafeBytes { Array($0) } == [1, 2, 3])
        #expect(bytes.count == 3)
        let others = SharedBytes(source.lazy.map { $0 + 1 })
        #expect(others.withUnsafeBytes { Array($0) } == [10, 3, 4])
    }

    @Test("Shared bytes can be empty")
    func empty() {
        #expect(SharedBytes([]).count == 0)
        #expect(SharedBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0)).count == 0)
    }

    @Test("Shared bytes can be filled in place, and keep their address")
    func filling() {
        let bytes = SharedBytes(count: 1 << 20) { target in
            for index in target.indices { target[index] = UInt8(truncatingIfNeeded: index) }
        }
        let address = bytes.bytes.baseAddress
        let other = bytes
        other.withUnsafeBytes { buffer in
            #expect(buffer.baseAddress == address)
            #expect(buffer.count == 1 << 20)
            #expect(buffer[257] == 1)
        }
    }

    @Test("An error of the closure that fills the bytes is rethrown")
    func throwing() {
        #expect(throws: Failure.self) { try SharedBytes(count: 8) { _ throws(Failure) in throw Failure() } }
    }

    @Test("Hexadecimal digits are read in either case, and written in lower case")
    func hex() {
        #expect([0x00, 0x0F, 0xA5, 0xFF].map { UInt8($0) }.hex == "000fa5ff")
        #expect([UInt8]().hex == "")
        for (text, value) in [("0", 0), ("9", 9), ("a", 10), ("f", 15), ("A", 10), ("F", 15)] as [(String, UInt8)] {
            #expect(text.utf8.first?.hexDigitValue == value)
        }
        for text in ["/", ":", "`", "g", "@", "G", " "] { #expect(text.utf8.first?.hexDigitValue == nil) }
    }
}
