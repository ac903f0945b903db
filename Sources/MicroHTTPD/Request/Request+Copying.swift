import CMicroHTTPD
import Foundation

extension Request {
    init(
        _ line: RequestLine, target: UnsafeRawBufferPointer, fields: UnsafeBufferPointer<RawFieldLine>,
        check: HeadCheck, remoteAddress: RemoteAddress
    ) {
        let method = UnsafeRawBufferPointer(start: line.method, count: strlen(line.method))
        let version = UnsafeRawBufferPointer(start: line.version, count: strlen(line.version))
        // On the wire a line has a colon and a line end, of at least two bytes together; here it has eight more.
        let capacity = target.count + method.count + version.count + check.wireLength + 8 * fields.count
        head = ManagedBuffer.create(minimumCapacity: capacity) { _ in
            RequestHead(check: check, remoteAddress: remoteAddress)
        }
        head.withUnsafeMutablePointers { header, bytes in
            var writer = HeadWriter(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
            let absolute = target.absoluteForm
            let shown = absolute?.rest ?? target
            // A target with an authority and without a path means the root.
            let isRoot = target.count > shown.count && shown.first != UInt8(ascii: "/")
            let slash = UnsafeRawBufferPointer(start: ("/" as StaticString).utf8Start, count: isRoot ? 1 : 0)
            let root = writer.append(slash)
            header.pointee.target = root.lowerBound..<writer.append(shown).upperBound
            if let absolute { header.pointee.authority = writer.append(absolute.authority) }
            header.pointee.method = writer.append(method)
            header.pointee.version = writer.append(version)
            header.pointee.isHead = method.count == 4 && memcmp(line.method, "HEAD", 4) == 0
            let question = shown.firstIndex(of: UInt8(ascii: "?"))
            header.pointee.path = 0..<(question.map { root.count + $0 } ?? header.pointee.target.upperBound)
            let start = writer.count
            for field in fields where writer.append(name: field.name, value: field.value.trimmed) {
                header.pointee.fieldCount += 1
            }
            header.pointee.lines = start..<writer.count
        }
    }
}
