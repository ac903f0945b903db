import Crypto
import Primitives

/// MD5 as a source of names (`printf %s "$URL" | md5sum`), never as a proof. Texts with equal MD5 are easy to make, so
/// code that finds an entry by its MD5 also compares the full text, such as the URL.
enum MD5Name {
    /// Returns 32 lower-case hexadecimal digits.
    static func of(_ text: String) -> String {
        var text = text
        var hash = Insecure.MD5()
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes(\.lowercaseHex)
    }

    static let length = 32

    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == length && bytes.allSatisfy(isDigit)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
