import HTTPTypes

/// How a message got here (RFC 9110 §7.6.3). A gateway adds itself to every request that it forwards, and may to
/// answers.
public enum Via {
    /// Adds Larder behind those that the message came through before.
    ///
    /// - Parameter version: the version of HTTP in which Larder received the message: `1.0`, `1.1`, `2`.
    public static func append(to fields: inout HTTPFields, version: String = "1.1") {
        fields.append(HTTPField(name: .via, value: "\(version) larder"))
    }
}
