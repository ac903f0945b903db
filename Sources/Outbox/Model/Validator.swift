import Crypto
import Foundation
import Primitives

/// A strong entity tag (RFC 9110 §8.8.3) that is safe in `If-Match`.
///
/// A strong tag is not enough. Some servers derive the tag from a modification time in whole seconds, so two versions
/// within one second share a tag, and the tag of a read body can belong to a newer version. ``Soundness`` decides
/// whether a tag has outlived this second.
package struct Validator: Hashable, Sendable {
    /// The most bytes of a tag. A tag names a version, and a longer one would bypass the limits of changes.
    package static let byteLimit = 1024

    /// The field value, with its quotes.
    package let etag: String

    /// `nil` for a weak tag (`W/"…"`), for a text that is not an entity tag, and beyond ``byteLimit``.
    package init?(strong etag: String) {
        let bytes = Array(etag.utf8)
        guard (2...Self.byteLimit).contains(bytes.count), bytes.first == UInt8(ascii: "\""),
            bytes.last == UInt8(ascii: "\"")
        else { return nil }
        // etagc (RFC 9110 §8.8.3): every visible character except the quote, and bytes above ASCII.
        guard bytes[1..<bytes.count - 1].allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }) else {
            return nil
        }
        self.etag = etag
    }

    /// Whether the tag is a digest of a body: MD5, SHA-1, SHA-256 (as those of Radicale) or the name of a Git blob (as
    /// those of Xandikos), in hexadecimal or base64. Two versions never share such a tag, not even within one second.
    ///
    /// The form of a tag does not tell: SabreDAV writes the SHA-1 of a modification time in seconds, and Starlette the
    /// MD5 of one.
    ///
    /// - Parameters:
    ///   - body: `nil`: the body is too long, or not at hand. Then only a SHA-256 is recognized.
    ///   - digest: the digest of the body.
    package func isDigest(of body: [UInt8]?, _ digest: BodyDigest) -> Bool {
        guard let stated = digestBytes else { return false }
        switch stated.count {
        case Insecure.MD5.byteCount: return body.map { Insecure.MD5.hash(data: $0) == stated } ?? false
        case Insecure.SHA1.byteCount:
            guard let body else { return false }
            var blob = Insecure.SHA1()
            blob.update(data: Array("blob \(body.count)\0".utf8))
            blob.update(data: body)
            return Insecure.SHA1.hash(data: body) == stated || blob.finalize() == stated
        default: return digest.bytes == Array(stated)
        }
    }

    /// The bytes of a tag with the length of a digest; `nil` for another tag.
    private var digestBytes: Data? {
        let text = String(etag.dropFirst().dropLast())
        let counts = [Insecure.MD5.byteCount, Insecure.SHA1.byteCount, SHA256.byteCount]
        if counts.contains(text.utf8.count / 2), text.utf8.count.isMultiple(of: 2) {
            let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == text.utf8.count else { return nil }
            return Data(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
        }
        // RFC 4648 §4 or §5, with or without padding.
        guard text.utf8.count <= 44 else { return nil }
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: plain + padding), counts.contains(bytes.count) else { return nil }
        return bytes
    }
}

/// The fields of an answer to GET that decide whether its entity tag is safe in `If-Match`.
package struct ReadMark: Hashable, Sendable {
    /// The field value; `nil` without the field.
    package var etag: String?
    package var lastModified: Timestamp?
    package var date: Timestamp?
    package var digest: BodyDigest
    /// The instant of this process's clock at which the answer was complete.
    package var received: Timestamp

    package init(
        etag: String?, lastModified: Timestamp?, date: Timestamp?, digest: BodyDigest, received: Timestamp
    ) {
        self.etag = etag
        self.lastModified = lastModified
        self.date = date
        self.digest = digest
        self.received = received
    }
}

/// Whether a version that was read can be named in `If-Match`.
package enum Soundness: Hashable, Sendable {
    case sound(Validator)
    /// The version may be younger than the resolution of its tag. The resource must be read again after
    /// ``Soundness/settling``.
    case unsettled
    /// The origin has no usable tag for this version. Only digests tell versions apart, and a write is unguarded.
    case missing

    /// The least distance between `Last-Modified` and `Date` of a settled version.
    package static let resolution: Duration = .seconds(2)
    /// As ``resolution``, for a weak tag. Some servers decide that a tag is weak before they write `Date`, and both
    /// dates are cut to seconds. So a tag that is weak only within the first second can look two seconds old.
    package static let weakResolution: Duration = .seconds(4)
    /// The most reads in a row that take a body with another tag and another `Last-Modified` for a new version. Later
    /// ones take tag and date for those of the answer.
    package static let restorationLimit = 3
    /// The looks in a row that may find an unsettled version before the pauses grow.
    package static let promptLooks = 3
    /// The looks in a row of which the last takes an unsettled version as it is. With the pauses between them, which
    /// add up to some minutes, they tell an origin that calls each version new from a resource with many writers.
    package static let lookLimit = 12
    /// The pause before an unsettled version is read again. Apache's tags and wsgidav's tags are right after it.
    package static let settling: Duration = .milliseconds(2200)

    /// - Parameter earlier: an earlier read of the resource by this process. The same digest at least ``resolution``
    ///   earlier proves that the version is settled, also at an origin with a `Last-Modified` that is always the
    ///   present. A tag that is a digest of the body needs no proof.
    /// - Parameter body: as in ``Validator/isDigest(of:_:)``.
    /// - Parameter restorations: the number of reads in a row, up to `earlier`, that found the body of the read before
    ///   under another tag.
    package init(of mark: ReadMark, body: [UInt8]?, after earlier: ReadMark? = nil, restorations: Int = 0) {
        let validator = mark.etag.flatMap(Validator.init(strong:))
        if let validator, validator.isDigest(of: body, mark.digest) {
            self = .sound(validator)
            return
        }
        let distance = validator == nil && mark.etag != nil ? Self.weakResolution : Self.resolution
        if let modified = mark.lastModified, (mark.date ?? mark.received) - modified < distance {
            guard let earlier, earlier.digest == mark.digest, mark.received - earlier.received >= Self.resolution else {
                self = .unsettled
                return
            }
            if earlier.etag != mark.etag {
                // Either another writer has restored the body, or the tag names the answer instead of the version.
                let isNew = earlier.lastModified != mark.lastModified && restorations < Self.restorationLimit
                self = isNew ? .unsettled : .missing
                return
            }
            self = validator.map(Soundness.sound) ?? .missing
            return
        }
        self = validator.map(Soundness.sound) ?? .missing
    }
}
