import CMicroHTTPD
import HTTPTypes

extension Response {
    static func add(_ head: Head, to handle: OpaquePointer, closing: Bool) {
        switch head {
        case .fields(let fields): add(fields, to: handle, closing: closing)
        case .prepared(let prepared):
            if closing { _ = cmhd_add_field(handle, "Connection", "close") }
            prepared.add(to: handle)
        }
    }

    private static func add(_ fields: HTTPFields, to handle: OpaquePointer, closing: Bool) {
        // Connection comes first, because libmicrohttpd duplicates it if it is added after some other fields.
        if closing || (fields.contains(.connection) && fields[values: .connection].contains(where: hasClose)) {
            _ = cmhd_add_field(handle, "Connection", "close")
        }
        var lines = PreparedFields()
        fields.forEachSendable { name, value in
            // `Date` stays a field of its own, because libmicrohttpd looks for it and adds its own if it is missing.
            if UnsafeRawBufferPointer(name).equalsIgnoringCase("date") {
                var date = PreparedFields()
                date.append(name, value)
                date.add(to: handle)
            } else {
                lines.append(name, value)
            }
        }
        lines.add(to: handle)
    }

    private static func hasClose(_ value: String) -> Bool {
        value.split(separator: ",").contains { option in
            option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == "close"
        }
    }
}
