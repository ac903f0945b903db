import CMicroHTTPD
import HTTPTypes

extension Response {
    /// Gives libmicrohttpd's response object its fields.
    static func add(_ fields: HTTPFields, to handle: OpaquePointer, closing: Bool) {
        // Connection comes first: added after some others, libmicrohttpd makes a double of it.
        if closing || fields[values: .connection].contains(where: hasClose) {
            _ = cmhd_add_field(handle, "Connection", "close")
        }
        for field in fields {
            switch field.name {
            case .connection, .contentLength, .transferEncoding:
                continue
            default:
                add(field, to: handle)
            }
        }
    }

    private static func hasClose(_ value: String) -> Bool {
        value.split(separator: ",").contains { option in
            option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == "close"
        }
    }

    private static func add(_ field: HTTPField, to handle: OpaquePointer) {
        let name = field.name.rawName
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { return }
        field.withUnsafeBytesOfValue { value in
            guard !value.isEmpty, value.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else { return }
            // libmicrohttpd takes C strings.
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: value.count + 1) { text in
                for (index, byte) in value.enumerated() { text[index] = CChar(bitPattern: byte) }
                text[value.count] = 0
                _ = cmhd_add_field(handle, name, text.baseAddress)
            }
        }
    }
}
