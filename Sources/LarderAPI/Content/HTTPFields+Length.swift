import HTTPTypes

extension HTTPFields {
    /// The approximate number of bytes that the fields have on the wire.
    var headLength: Int {
        reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }
}
