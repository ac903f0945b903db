import HTTPTypes

/// RFC 9110 §7.6.3. A gateway must add itself to every request that it forwards, and may add itself to answers.
package enum Via {
    /// Behind the earlier recipients. Larder received the message in `version` of HTTP: `1.0`, `1.1`, `2`.
    package static func append(to fields: inout HTTPFields, version: String = "1.1") {
        fields.append(HTTPField(name: .via, value: "\(version) larder"))
    }
}
