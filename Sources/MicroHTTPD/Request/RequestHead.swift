import CMicroHTTPD
import Foundation

/// What is known of a request's head; the ranges are places in the bytes behind it.
///
/// The bytes are the target, the method, the version, and then the field lines, each as the lengths of its name and
/// value (two 32-bit numbers) and the two of them.
struct RequestHead {
    var target = 0..<0
    var path = 0..<0
    var method = 0..<0
    var version = 0..<0
    var lines = 0..<0
    var fieldCount = 0
    var declaredLength: Int64 = -1
    var hasTransferEncoding = false
    var hasContentLength = false
    /// The first one that was found.
    var defect: Request.Defect?
    var isHead = false
    var wireLength = 0
    /// How much of libmicrohttpd's memory for the connection the head takes, at least.
    var memory = 0
    var remoteAddress: RemoteAddress

    init(remoteAddress: RemoteAddress) {
        self.remoteAddress = remoteAddress
    }
}

extension RequestHead {
    /// What libmicrohttpd takes of the connection's memory for each field and each cookie, rounded up to its alignment.
    fileprivate static let recordSize = 64

    fileprivate mutating func note(_ defect: Request.Defect) {
        if self.defect == nil { self.defect = defect }
    }
}

extension Request {
    /// Copies the head of the request that is on the connection, when it is complete.
    init(
        connection: Connection, target: UnsafeRawBufferPointer, line: RequestLine
    ) {
        let recordCount = Int(cmhd_record_count(connection.handle))
        let wireLength = cmhd_head_size(connection.handle)
        let methodLength = strlen(line.method)
        let versionLength = strlen(line.version)
        // On the wire a line has a colon and a line end, of at least two bytes together; here it has eight more.
        let capacity = target.count + methodLength + versionLength + wireLength + 8 * recordCount
        head = ManagedBuffer.create(minimumCapacity: capacity) { _ in
            RequestHead(remoteAddress: connection.remoteAddress)
        }
        head.withUnsafeMutablePointers { header, bytes in
            var writer = HeadWriter(
                header: header, bytes: UnsafeMutableRawBufferPointer(start: bytes, count: capacity),
                layout: HeadLayout(
                    line: line, methodCount: methodLength, targetCount: target.count, versionCount: versionLength))
            let shown = target.withoutAuthority ?? target
            // With an authority and without a path it is the root that is meant.
            let isRoot = target.count > shown.count && shown.first != UInt8(ascii: "/")
            let slash = UnsafeRawBufferPointer(start: ("/" as StaticString).utf8Start, count: isRoot ? 1 : 0)
            let root = writer.append(slash)
            header.pointee.target = root.lowerBound..<writer.append(shown).upperBound
            header.pointee.method = writer.append(UnsafeRawBufferPointer(start: line.method, count: methodLength))
            header.pointee.version = writer.append(UnsafeRawBufferPointer(start: line.version, count: versionLength))
            header.pointee.wireLength = wireLength
            header.pointee.memory = wireLength + RequestHead.recordSize * recordCount
            header.pointee.isHead = methodLength == 4 && memcmp(line.method, "HEAD", 4) == 0
            let question = shown.firstIndex(of: UInt8(ascii: "?"))
            header.pointee.path = 0..<(question.map { root.count + $0 } ?? header.pointee.target.upperBound)
            let start = writer.count
            cmhd_each_field(connection.handle, appendFieldLine, &writer)
            header.pointee.lines = start..<writer.count
            writer.layout.finish(headCount: wireLength)
            if !writer.layout.isGapless, connection.core.configuration.isLayoutKnown {
                header.pointee.note(.malformedHead)
            }
            if !target.isVisible || !UnsafeRawBufferPointer(start: line.method, count: methodLength).isToken {
                header.pointee.note(.malformedHead)
            }
            // Before HTTP/1.1, and what comes after it.
            let isOld = memcmp(line.version, "HTTP/1.0", min(8, versionLength)) == 0
            if writer.hostCount > 1 || (!isOld && writer.hostCount == 0) { header.pointee.note(.host) }
            if header.pointee.hasTransferEncoding {
                header.pointee.declaredLength = -1
                // HTTP/1.0 knows no transfer codings, and whoever passed the request on may not have, either (RFC 9112
                // §6.1).
                if header.pointee.hasContentLength || isOld { header.pointee.note(.ambiguousLength) }
            }
            if header.pointee.memory > connection.core.configuration.connectionMemory / 2 {
                header.pointee.defect = .headTooLarge
            }
        }
    }
}

/// Called by libmicrohttpd for each field line; `context` is a ``HeadWriter``.
private func appendFieldLine(
    _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameLength: Int,
    _ value: UnsafePointer<CChar>?, _ valueLength: Int
) -> MHD_Result {
    context?.assumingMemoryBound(to: HeadWriter.self).pointee.append(
        name: UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameLength),
        value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueLength))
    return cmhd_result(true)
}

/// Fills the bytes of a head from the front. It never writes beyond them: a line that does not fit is left out.
private struct HeadWriter {
    let header: UnsafeMutablePointer<RequestHead>
    let bytes: UnsafeMutableRawBufferPointer
    var layout: HeadLayout
    var count = 0
    var hostCount = 0

    mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
        let range = count..<count + source.count
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).copyMemory(from: source)
        count = range.endIndex
        return range
    }

    /// `sentValue` may have white space behind it.
    mutating func append(name: UnsafeRawBufferPointer, value sentValue: UnsafeRawBufferPointer) {
        layout.append(name: name, value: sentValue)
        let value = sentValue.trimmed
        guard count + 8 + name.count + value.count <= bytes.count else { return }
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: name.count), toByteOffset: count, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: value.count), toByteOffset: count + 4, as: UInt32.self)
        count += 8
        _ = append(name)
        _ = append(value)
        header.pointee.fieldCount += 1
        if !name.isToken || !value.isFieldContent { header.pointee.note(.malformedHead) }
        // The lengths tell nearly every other field apart before a byte is compared.
        if name.count == 14, name.equalsIgnoringCase("content-length") {
            if header.pointee.hasContentLength { header.pointee.note(.ambiguousLength) }
            header.pointee.hasContentLength = true
            header.pointee.declaredLength = value.decimal ?? -1
            if header.pointee.declaredLength < 0 { header.pointee.note(.invalidLength) }
        } else if name.count == 17, name.equalsIgnoringCase("transfer-encoding") {
            // With white space behind it libmicrohttpd takes it for another coding, and the body for endless.
            if header.pointee.hasTransferEncoding || !sentValue.equalsIgnoringCase("chunked") {
                header.pointee.note(.ambiguousLength)
            }
            header.pointee.hasTransferEncoding = true
        } else if name.count == 4, name.equalsIgnoringCase("host") {
            hostCount += 1
            if !value.isHostAndPort { header.pointee.note(.host) }
        } else if name.count == 6, name.equalsIgnoringCase("cookie") {
            // libmicrohttpd takes a copy apart.
            header.pointee.memory += value.count
        }
    }
}

/// Reads back what ``HeadWriter`` wrote.
struct FieldLines {
    var rest: UnsafeRawBufferPointer

    mutating func next() -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        guard rest.count >= 8 else { return nil }
        let nameLength = Int(rest.loadUnaligned(as: UInt32.self))
        let valueLength = Int(rest.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let end = 8 + nameLength + valueLength
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[end...]) }
        return (
            UnsafeRawBufferPointer(rebasing: rest[8..<8 + nameLength]),
            UnsafeRawBufferPointer(rebasing: rest[8 + nameLength..<end])
        )
    }
}
