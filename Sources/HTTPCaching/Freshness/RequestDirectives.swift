import HTTPTypes

/// The directives of a request about the stored responses that it accepts (RFC 9111 §5.2.1, §5.4).
struct RequestDirectives {
    let noCache: Bool
    /// A response that is already stored may be used (§5.2.1.5).
    let noStore: Bool
    let onlyIfCached: Bool
    /// The highest age. An unreadable value accepts no stored response.
    let maxAge: Duration?
    /// The time for which the response must stay fresh. An unreadable value has no effect.
    let minFresh: Duration?
    /// Unlimited without an argument. An unreadable value permits no stale response.
    let maxStale: Duration?
    /// RFC 5861 §4.
    let staleIfError: Duration?

    /// Most requests have no directives.
    init(_ fields: HTTPFields) {
        self = fields.contains(.cacheControl) || fields.contains(.pragma) ? Self(stated: fields) : Self.none
    }

    private static let none = Self(stated: [:])

    private init(stated fields: HTTPFields) {
        let control = CacheControl(fields)
        func seconds(_ name: String, invalid: Duration?) -> Duration? {
            switch control.seconds(name) {
            case .valid(let duration): duration
            case .invalid: invalid
            case nil: nil
            }
        }
        // §5.4: Pragma is for clients of HTTP/1.0, which do not know Cache-Control.
        let pragma = fields.contains(.cacheControl) ? nil : CacheControl(fields, name: .pragma)
        noCache = control.noCache || pragma?.noCache == true
        noStore = control.noStore
        onlyIfCached = control.contains("only-if-cached")
        maxAge = seconds("max-age", invalid: .zero)
        minFresh = seconds("min-fresh", invalid: nil)
        let isUnlimited = control.directives.first { $0.name == "max-stale" }?.argument == CacheControl.Argument.none
        maxStale = isUnlimited ? .seconds(Int64.max) : seconds("max-stale", invalid: nil)
        staleIfError = seconds("stale-if-error", invalid: nil)
    }

    /// `max-age=0` always requires validation, even within the first millisecond.
    func accepts(age: Duration) -> Bool {
        maxAge.map { age <= $0 && $0 > .zero } ?? true
    }
}

extension HTTPField.Name {
    static let pragma = HTTPField.Name("Pragma")!
}
