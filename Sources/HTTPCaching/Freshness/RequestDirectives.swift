import HTTPTypes

/// The directives of a request about the stored responses that it accepts (RFC 9111 §5.2.1, §5.4).
struct RequestDirectives {
    /// `no-cache`: the request accepts no stored response without validation.
    let noCache: Bool
    /// `no-store`: this exchange must not be stored. A response that is already stored may be used (§5.2.1.5).
    let noStore: Bool
    /// `only-if-cached`: the request must not go to the origin.
    let onlyIfCached: Bool
    /// `max-age`: the highest age of an accepted response. An unreadable value accepts no stored response.
    let maxAge: Duration?
    /// `min-fresh`: the time for which an accepted response must stay fresh. An unreadable value has no effect.
    let minFresh: Duration?
    /// `max-stale`: the longest time for which an accepted response may have been stale; unlimited without an argument.
    /// An unreadable value permits no stale response.
    let maxStale: Duration?
    /// `stale-if-error` (RFC 5861 §4): the longest time for which a response may have been stale that replaces an
    /// error.
    let staleIfError: Duration?

    /// Reads the fields of a request. Most requests have no directives.
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

    /// Whether a response of this age is young enough. `max-age=0` always requires validation, even within the first
    /// millisecond.
    func accepts(age: Duration) -> Bool {
        maxAge.map { age <= $0 && $0 > .zero } ?? true
    }
}

extension HTTPField.Name {
    static let pragma = HTTPField.Name("Pragma")!
}
