import Primitives

/// The values of a form by their names, both in the order in which they came. A name costs the same however many there
/// are: a form may have as many as fit into a body.
struct FormFields {
    private var positions: [ExactText: Int] = [:]
    /// Each name once, with what it was given.
    private(set) var all: [(name: String, values: [String])] = []

    mutating func append(_ value: String, to name: String) {
        let position = positions[ExactText(name), default: all.count]
        if position == all.count {
            positions[ExactText(name)] = position
            all.append((name, []))
        }
        all[position].values.append(value)
    }
}
