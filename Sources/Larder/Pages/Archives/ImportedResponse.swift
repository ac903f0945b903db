import Crypto
import DiskCache
import HTTPTypes
import Origin
import Primitives
import WebArchive

/// Reads one response of an archive: stores its decoded body, and compares the body with the digest of the record.
struct ImportedResponse {
    /// The reason for which the capture lacks the response.
    struct Lack: Error {
        var reason: String
        var isLimit = false
    }

    /// SHA-1 and SHA-256 of one form of a body: programs digest the bytes of the record, also with chunks, or the
    /// decoded body.
    private struct Hash {
        private var sha1 = Insecure.SHA1()
        private var sha256 = SHA256()

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sha1.update(bufferPointer: bytes)
            sha256.update(bufferPointer: bytes)
        }

        var digests: [WARCDigest] {
            [WARCDigest(.sha1, Array(sha1.finalize())), WARCDigest(.sha256, Array(sha256.finalize()))]
        }
    }

    let record: WARCRecord
    let url: WebURL
    private(set) var lack: Lack?
    /// `nil` without a body.
    private(set) var reservation: Reservation?
    private let limit: Int64
    private var response = ArchivedResponse()
    private var decoding: ContentDecoding?
    private var blockLength: Int64 = 0
    private var length: Int64 = 0
    private var rawHash = Hash()
    /// Only if the body differs from the bytes of the record.
    private var bodyHash: Hash?
    private var decodedHash: Hash?

    /// `limit`: the most bytes of the body.
    init(_ record: WARCRecord, url: WebURL, limit: Int64) {
        self.record = record
        self.url = url
        self.limit = limit
    }

    var head: ArchivedResponse.Head? { response.head }
    var digest: WARCDigest? { record["WARC-Payload-Digest"].flatMap { WARCDigest($0) } }
    /// Of the body in all its forms.
    var digests: [WARCDigest] { [rawHash, bodyHash, decodedHash].flatMap { $0?.digests ?? [] } }

    /// Of the head; empty before it was read.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for (name, value) in head?.fields ?? [] {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return fields
    }

    /// Reads the next bytes of the block. `reserve` is called at the first byte of a body. `room`: the bytes that all
    /// bodies of the capture may still take.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, room: Int64, reserve: () -> Reservation) {
        guard lack == nil else { return }
        do {
            try read(bytes, room, reserve)
        } catch let error as Lack {
            lack = error
        } catch let error as ArchivedResponse.Malformed {
            lack = Lack(reason: error.reason)
        } catch let error as DiskCacheError {
            lack = Lack(error)
        } catch let error as ContentCodingError {
            lack = Lack(reason: "its body is damaged: \(error.reason)", isLimit: error.isBomb)
        } catch is ContentDecoding.TooLong {
            lack = .tooLong
        } catch {
            lack = Lack(reason: "its body is damaged: \(error)")
        }
        if lack != nil { reservation.take()?.abandon() }
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer, _ room: Int64, _ reserve: () -> Reservation) throws {
        // The body of a piece is collected first, because the response and its body belong to one value.
        var body: [UInt8] = []
        try response.read(bytes, { $0 as any Error }) { piece throws(any Error) in body += piece }
        let start = blockLength
        blockLength += Int64(bytes.count)
        guard head != nil, record.kind == .response else { return }
        rawHash.update(UnsafeRawBufferPointer(rebasing: bytes[Int(max(0, response.headLength - start))...]))
        if bodyHash == nil, !response.isRest(ofBlock: record.length) { bodyHash = Hash() }
        if !body.isEmpty { try body.withUnsafeBytes { try read(body: $0, room, reserve) } }
    }

    private mutating func read(body: UnsafeRawBufferPointer, _ room: Int64, _ reserve: () -> Reservation) throws {
        bodyHash?.update(body)
        if reservation == nil {
            reservation = reserve()
            decoding = try ContentDecoding(of: fields, sizeLimit: limit)
            if decoding != nil { decodedHash = Hash() }
        }
        let reservation = reservation!
        var (length, hash) = (length, decodedHash)
        defer { (self.length, decodedHash) = (length, hash) }
        func store(_ bytes: UnsafeRawBufferPointer) throws {
            length += Int64(bytes.count)
            guard length <= limit else { throw Lack.tooLong }
            guard length <= room else { throw Lack.noRoom }
            hash?.update(bytes)
            try reservation.receive(bytes)
        }
        if let decoding { try decoding.decode(body, into: store) } else { try store(body) }
    }

    /// Call at the end of the block. Throws if the capture lacks the response.
    mutating func finish() throws(Lack) {
        if lack == nil, record.kind == .response { lack = flaw }
        guard let lack else { return }
        reservation.take()?.abandon()
        throw lack
    }

    private var flaw: Lack? {
        do throws(ArchivedResponse.Malformed) { try response.finish() } catch { return Lack(reason: error.reason) }
        do throws(ContentCodingError) {
            try decoding?.finish()
        } catch {
            return Lack(reason: "its body is damaged: \(error.reason)")
        }
        if let digest, !digests.contains(digest) {
            return Lack(reason: "the digest of the record does not fit its body")
        }
        return nil
    }
}

extension ImportedResponse.Lack {
    init(_ error: DiskCacheError) {
        switch error {
        case .noSpace, .entryTooLarge: self.init(reason: error.description, isLimit: true)
        default: self.init(reason: error.description)
        }
    }

    fileprivate static let tooLong = Self(reason: "its body is longer than the limit", isLimit: true)
    fileprivate static let noRoom = Self(reason: "the bodies together are longer than the limit", isLimit: true)
}
