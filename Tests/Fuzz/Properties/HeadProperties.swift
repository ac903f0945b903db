import HTTPTypes

@testable import Origin

/// The lines of heads of answers, as an origin sends them.
enum HeadProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        for allowsHTTP2 in [false, true] {
            for head in heads(in: bytes, allowsHTTP2: allowsHTTP2) {
                try check(head, allowsHTTP2: allowsHTTP2)
                let again = heads(in: written(head), allowsHTTP2: allowsHTTP2)
                try demand(again == [head], "a written head reads back unchanged", "\(head)")
            }
        }
    }

    /// The heads that the parser reads before the first malformed line.
    private static func heads(in bytes: [UInt8], allowsHTTP2: Bool) -> [ResponseHeadParser.Head] {
        var parser = ResponseHeadParser(allowsHTTP2: allowsHTTP2)
        var heads: [ResponseHeadParser.Head] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            let line = Array(rest[..<end])
            rest = rest[end...]
            let head = line.withUnsafeBytes { line in
                Result { () throws(ResponseHeadParser.Malformed) in try parser.consume(line) }
            }
            switch head {
            case .success(let head?): heads.append(head)
            case .success(nil): continue
            case .failure: return heads
            }
        }
        return heads
    }

    private static func check(_ head: ResponseHeadParser.Head, allowsHTTP2: Bool) throws(Violation) {
        try demand(
            (100...999).contains(head.status) && head.status != 101, "a status has three digits and is not 101",
            "\(head.status)")
        try demand(
            ["1.0", "1.1"].contains(head.version) || (allowsHTTP2 && head.version == "2"),
            "an HTTP version is known and allowed",
            head.version)
        try demand(head.contentLength ?? 0 >= 0, "a length is not negative", "\(head)")
        try demand(!head.isChunked || head.contentLength == nil, "a head has at most one framing", "\(head)")
        try demand(
            head.isChunked == head.fields.contains(.transferEncoding)
                && (head.contentLength != nil) == head.fields.contains(.contentLength),
            "the framing agrees with the fields", "\(head)")
        for field in head.fields {
            let isClean = field.withUnsafeBytesOfValue { value in
                !value.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D } && value.first != 0x20 && value.last != 0x20
            }
            try demand(isClean, "a value is one line, without space around it", "\(field)")
        }
    }

    private static func written(_ head: ResponseHeadParser.Head) -> [UInt8] {
        var bytes = Array("HTTP/\(head.version) \(head.status) \r\n".utf8)
        for field in head.fields {
            bytes += "\(field.name.rawName): ".utf8
            field.withUnsafeBytesOfValue { bytes += $0 }
            bytes += "\r\n".utf8
        }
        return bytes + "\r\n".utf8
    }
}
