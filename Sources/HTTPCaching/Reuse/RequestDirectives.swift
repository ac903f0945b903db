import HTTPTypes

/// What a request says about the stored responses that it accepts (RFC 9111 §5.2.1, §5.4).
struct RequestDirectives {
    /// `no-cache`: nothing without asking the origin.
    let noCache: Bool
    /// `no-store`: nothing of this exchange is kept. What is kept already may be used (§5.2.1.5).
    let noStore: Bool
    /// `only-if-cached`.
    let onlyIfCached: Bool
    /// `max-age`: how old a response may be. One that cannot be read accepts nothing.
    let maxAge: Duration?
    /// `min-fresh`: for how long a response must stay fresh. One that cannot be read asks for nothing.
    let minFresh: Duration?
    /// `max-stale`: how stale a response may be; without an argument, however stale. One that cannot be read allows
    /// nothing.
    let maxStale: Duration?
    /// `stale-if-error` (RFC 5861 §4): how stale a response may be in place of an error.
    let staleIfError: Duration?

    /// What `fields` say. Most requests say nothing.
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
        // §5.4: Pragma speaks for clients of HTTP/1.0, which know no Cache-Control.
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

    /// Whether a response of that age is young enough. `max-age=0` asks for validation, and means it within the first
    /// millisecond too.
    func accepts(age: Duration) -> Bool {
        maxAge.map { age <= $0 && $0 > .zero } ?? true
    }
}

extension HTTPField.Name {
    static let pragma = HTTPField.Name("Pragma")!
}
