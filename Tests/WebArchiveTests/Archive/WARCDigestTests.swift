import Testing

@testable import WebArchive

@Suite("Digests of WARC records")
struct WARCDigestTests {
    /// SHA-1 of "abc" (FIPS 180-4).
    private static let sha1: [UInt8] = [
        0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0,
        0xd8, 0x9d,
    ]

    @Test(
        "A digest is read in hexadecimal and in base32, in any case",
        arguments: [
            "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", "SHA-1:vgmt4nsha2awvor6evyxqugcnsonbwe5",
            "sha1:a9993e364706816aba3e25717850c26c9cd0d89d", "sha1:A9993E364706816ABA3E25717850C26C9CD0D89D",
        ])
    func forms(text: String) {
        #expect(WARCDigest(text) == WARCDigest(.sha1, Self.sha1))
    }

    @Test("A SHA-256 digest in base32 is read with and without padding")
    func padding() {
        let bytes = [UInt8](repeating: 0, count: 31) + [8]
        let text = "sha256:" + String(repeating: "A", count: 50) + "EA"
        #expect(
            WARCDigest(text) == WARCDigest(.sha256, bytes) && WARCDigest(text + "====") == WARCDigest(.sha256, bytes))
    }

    @Test("A digest of another algorithm is ignored", arguments: ["md5:00", "sha512:AA", "blake3:", "sha1", ""])
    func others(text: String) {
        #expect(WARCDigest(text) == nil)
    }

    @Test(
        "A text that is no digest of its algorithm fits no body",
        arguments: ["sha1:", "sha1:ABC", "sha1:!", "sha256:a9993e364706816aba3e25717850c26c9cd0d89d"])
    func malformed(text: String) {
        #expect(WARCDigest(text)?.bytes == [])
    }
}
