/// The values of a route's parameters in a target, in the order of the pattern.
package struct PathParameters: Sendable {
    /// Without their colons.
    package let names: [Substring]
    /// As they were sent.
    package let values: [Substring]

    init(names: [Substring], values: [Substring]) {
        precondition(names.count == values.count, "each parameter has a name")
        self.names = names
        self.values = values
    }
}
