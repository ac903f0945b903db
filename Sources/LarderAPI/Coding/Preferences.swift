import HTTPCaching
import HTTPTypes
import MicroHTTPD

/// A preference that the server has applied.
enum Preference: Hashable, Sendable {
    /// The answer does not wait for the work (RFC 7240 §4.1).
    case respondAsync
    /// The answer has waited, at most this number of seconds (RFC 7240 §4.3).
    case wait(seconds: Int)

    /// `Preference-Applied` (RFC 7240 §3).
    var field: HTTPField {
        switch self {
        case .respondAsync: HTTPField(name: .preferenceApplied, value: "respond-async")
        case .wait(let seconds): HTTPField(name: .preferenceApplied, value: "wait=\(seconds)")
        }
    }
}

/// The members of all lines of `Prefer` (RFC 7240 §2). Names are case-insensitive, and the first of several members
/// with one name counts. Parameters behind a semicolon are ignored, because no known preference has any.
struct Preferences: Sendable {
    /// The values by name in lower case; empty for a member without a value.
    private var values: [String: String] = [:]

    init(_ request: Request) {
        self.init(request.values(.prefer))
    }

    init(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line)
            for (name, value) in scanner.readableMembers(Self.member) {
                values[name] = values[name] ?? value
            }
        }
    }

    /// `nil` if the client is ready to wait.
    var respondAsync: Preference? { values["respond-async"] == nil ? nil : .respondAsync }

    /// `wait=SECONDS`; a number above the limit counts as the limit. `nil` without a number from 1 on.
    func wait(limit: Int) -> Int? {
        guard let digits = values["wait"], !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
        let seconds = min(Int(digits) ?? limit, limit)
        return seconds > 0 ? seconds : nil
    }

    private static func member(_ scanner: inout FieldScanner) -> (name: String, value: String)? {
        guard let name = scanner.token()?.lowercased() else { return nil }
        scanner.skipSpace()
        guard scanner.take("=") else { return (name, "") }
        scanner.skipSpace()
        return (name, scanner.quotedString() ?? scanner.token() ?? "")
    }
}

extension HTTPField.Name {
    fileprivate static let prefer = Self("Prefer")!
    fileprivate static let preferenceApplied = Self("Preference-Applied")!
}
