import CMicroHTTPD
import HTTPTypes

extension Response {
    /// Gives libmicrohttpd's response object its fields.
    static func add(_ fields: HTTPFields, to handle: OpaquePointer, closing: Bool) {
        // Connection comes first: added after some others, libmicrohttpd makes a double of it.
        if closing || fields[values: .connection].contains(where: hasClose) {
            _ = cmhd_add_field(handle, "Connection", "close")
        }
        forEachLine(of: fields) { name, value in
            // libmicrohttpd takes C strings.
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: value.count + 1) { text in
                for (index, byte) in value.enumerated() { text[index] = CChar(bitPattern: byte) }
                text[value.count] = 0
                _ = cmhd_add_field(handle, name, text.baseAddress)
            }
        }
    }

    /// Shows each field that may be sent as its caller gave it, in order; see ``init(status:fields:body:)``.
    static func forEachLine(
        of fields: HTTPFields, _ body: (_ name: String, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        for field in fields {
            switch field.name {
            case .connection, .contentLength, .transferEncoding: continue
            default: break
            }
            let name = field.name.rawName
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { continue }
            field.withUnsafeBytesOfValue { value in
                guard !value.isEmpty, value.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else { return }
                body(name, value)
            }
        }
    }

    private static func hasClose(_ value: String) -> Bool {
        value.split(separator: ",").contains { option in
            option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == "close"
        }
    }
}
