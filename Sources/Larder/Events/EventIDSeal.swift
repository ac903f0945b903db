import Crypto
import Foundation
import Primitives

/// An event, and the position behind it: a listener that sends the ``text`` back gets the events that came after.
///
/// Events of all namespaces share a sequence of numbers, and a listener of one namespace must not be able to count the
/// events of other namespaces. So only ``EventIDSeal`` can make or read a text, and each text is different, also for
/// the same event.
package struct EventID: Hashable, Sendable {
    /// Counts up from 1; 0 is the position before the first event.
    package let number: UInt64
    private let seal: EventIDSeal

    fileprivate init(_ number: UInt64, _ seal: EventIDSeal) {
        self.number = number
        self.seal = seal
    }

    package var text: String { seal.text(of: number) }

    package static func == (left: EventID, right: EventID) -> Bool {
        left.number == right.number && left.seal === right.seal
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Makes and reads the texts of event ids. A text is the number, encrypted and authenticated with a random key
/// (AES-GCM), so that texts of an earlier process and forged texts are rejected.
package final class EventIDSeal: Sendable {
    private let key = SymmetricKey(size: .bits128)

    package init() {}

    package func id(of number: UInt64) -> EventID { EventID(number, self) }

    /// `nil` when the text was not made by this seal.
    package func number(of text: String) -> UInt64? {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        guard let sealed = Data(base64Encoded: base64), let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: key), bytes.count == 8
        else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate func text(of number: UInt64) -> String {
        let bytes = withUnsafeBytes(of: number.bigEndian) { Data($0) }
        // Sealing fails only for a nonce or a key of a wrong size, and for more than 64 GiB.
        guard let sealed = try? AES.GCM.seal(bytes, using: key).combined else { return "" }
        // 36 bytes encode to base64 without padding.
        return sealed.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    }
}
