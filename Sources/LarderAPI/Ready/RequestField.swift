import MicroHTTPD

/// What the fields of a GET mean for an answer that was right without them.
enum RequestField {
    /// Whether another answer may be right, or something must be done beside answering: the request states a condition,
    /// asks for a part, limits what a cache may do, comes with credentials for an origin or from a page of elsewhere,
    /// is for a worker, or has a field of Larder's own.
    ///
    /// What a token of Larder's comes in is another matter (``AccessGate``): whoever asks looks at that first.
    static func changesAnswer(_ field: RawField) -> Bool {
        // The lengths tell nearly every other field apart before a byte is compared.
        let isStandard =
            switch field.name.count {
            case 5: field.isNamed("range")
            case 6: field.isNamed("pragma") || field.isNamed("expect") || field.isNamed("origin")
            case 8: field.isNamed("if-match") || field.isNamed("if-range")
            // It may name other fields, which end here then (RFC 9110 §7.6.1).
            case 10: field.isNamed("connection") ? !isHopOption(field) : false
            case 13: field.isNamed("if-none-match") || field.isNamed("cache-control") || field.isNamed("authorization")
            case 14:
                isForWorker(field)
                    || (field.isNamed("sec-fetch-site") && !field.says("none") && !field.says("same-origin"))
            case 17: field.isNamed("if-modified-since")
            case 19: field.isNamed("if-unmodified-since")
            default: false
            }
        return isStandard || field.hasPrefix("larder-")
    }

    /// Whether no field of a request changes the answer, but those that say who asks, and in which namespace.
    static func isPlain(_ request: Request) -> Bool {
        var isPlain = request.declaredLength == nil
        request.forEachFieldLine { field in
            if !isCredentials(field, isFetch: false), !isNamespace(field), changesAnswer(field) { isPlain = false }
        }
        return isPlain
    }

    /// Whether it is the field of Larder's own that selects among the answers of a namespace.
    static func isTTL(_ field: RawField) -> Bool {
        field.name.count == 10 && field.isNamed("larder-ttl")
    }

    /// Whether a browser says in it that a worker of this server's own origin would run the answer (``ContentFence``).
    static func isForWorker(_ field: RawField) -> Bool {
        guard field.name.count == 14 else { return false }
        return field.isNamed("sec-fetch-dest")
            ? field.says("worker") || field.says("sharedworker") || field.says("serviceworker")
            : field.isNamed("service-worker")
    }

    /// Whether it names the namespace that is meant.
    static func isNamespace(_ field: RawField) -> Bool {
        field.name.count == 16 && field.isNamed("larder-namespace")
    }

    /// Whether it is what tokens come in: under `/fetch` a field of Larder's own, for `Authorization` is the origin's.
    static func isCredentials(_ field: RawField, isFetch: Bool) -> Bool {
        isFetch
            ? field.name.count == 20 && field.isNamed("larder-authorization")
            : field.name.count == 13 && field.isNamed("authorization")
    }

    /// Whether it is `Host`.
    static func isHost(_ field: RawField) -> Bool {
        field.name.count == 4 && field.isNamed("host")
    }

    private static func isHopOption(_ field: RawField) -> Bool {
        field.says("keep-alive") || field.says("close")
    }
}
