import Crypto
import Foundation
import Primitives

/// Names an event, and with it all that came before. Whoever gives its ``text`` back is told what came after.
///
/// Events are numbered over all namespaces. A listener of one must not count those of others, so a text is the number
/// sealed with a key of this process: no two texts are alike, also of one event, and nobody but ``EventIDSeal`` can
/// tell what is in one, or make one.
public struct EventID: Hashable, Sendable {
    /// Counts up, from 1; 0 is before the first event.
    public let number: UInt64
    private let seal: EventIDSeal

    fileprivate init(_ number: UInt64, _ seal: EventIDSeal) {
        self.number = number
        self.seal = seal
    }

    /// A text that stands for it, and another one each time.
    public var text: String { seal.text(of: number) }

    /// Whether they name the same event of one process.
    public static func == (left: EventID, right: EventID) -> Bool {
        left.number == right.number && left.seal === right.seal
    }

    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Makes the texts of event ids, and reads them: numbers, encrypted and authenticated with a random key (AES-GCM), so
/// that a text of an earlier process, or of nobody, is none.
public final class EventIDSeal: Sendable {
    private let key = SymmetricKey(size: .bits128)

    /// With a key of its own.
    public init() {}

    /// The id with that number.
    public func id(of number: UInt64) -> EventID { EventID(number, self) }

    /// The number in a text; `nil` when the text is not from this seal.
    public func number(of text: String) -> UInt64? {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        guard let sealed = Data(base64Encoded: base64), let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: key), bytes.count == 8
        else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate func text(of number: UInt64) -> String {
        let bytes = withUnsafeBytes(of: number.bigEndian) { Data($0) }
        // It fails for a nonce or a key of a wrong size only, and for more bytes than 64 GiB.
        guard let sealed = try? AES.GCM.seal(bytes, using: key).combined else { return "" }
        // 36 bytes: without padding.
        return sealed.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    }
}
