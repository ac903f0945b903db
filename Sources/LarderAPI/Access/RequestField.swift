import MicroHTTPD

/// Classifies the fields of a GET by their effect on an answer that is valid without them.
enum RequestField {
    /// Whether the field may require a different answer, or a check that a ready answer skips. Callers check
    /// ``isCredentials(_:isFetch:)`` first, because this method takes `authorization` for an origin's credentials.
    static func changesAnswer(_ field: RawField) -> Bool {
        // The length excludes nearly all other fields before a byte is compared.
        let isStandard =
            switch field.name.count {
            case 5: field.isNamed("range")
            case 6: field.isNamed("pragma") || field.isNamed("expect") || field.isNamed("origin")
            case 8: field.isNamed("if-match") || field.isNamed("if-range")
            // `Connection` may name other fields, which must not be forwarded then (RFC 9110 §7.6.1).
            case 10: field.isNamed("connection") && !field.says("keep-alive") && !field.says("close")
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

    /// Whether the request has no body and no field that changes the answer, apart from its credentials and namespace.
    static func isPlain(_ request: Request) -> Bool {
        var isPlain = request.declaredLength == nil
        request.forEachFieldLine { field in
            if !isCredentials(field, isFetch: false), !isNamespace(field), changesAnswer(field) { isPlain = false }
        }
        return isPlain
    }

    /// `Larder-TTL` selects among the answers of a namespace.
    static func isTTL(_ field: RawField) -> Bool {
        field.name.count == 10 && field.isNamed("larder-ttl")
    }

    /// Whether a browser would run the answer as a worker of this server's own origin (``ContentFence``).
    static func isForWorker(_ field: RawField) -> Bool {
        guard field.name.count == 14 else { return false }
        return field.isNamed("sec-fetch-dest")
            ? field.says("worker") || field.says("sharedworker") || field.says("serviceworker")
            : field.isNamed("service-worker")
    }

    static func isNamespace(_ field: RawField) -> Bool {
        field.name.count == 16 && field.isNamed("larder-namespace")
    }

    /// Under `/fetch` the token is in `Larder-Authorization`, because `Authorization` is for the origin.
    static func isCredentials(_ field: RawField, isFetch: Bool) -> Bool {
        isFetch
            ? field.name.count == 20 && field.isNamed("larder-authorization")
            : field.name.count == 13 && field.isNamed("authorization")
    }

    static func isHost(_ field: RawField) -> Bool {
        field.name.count == 4 && field.isNamed("host")
    }
}
