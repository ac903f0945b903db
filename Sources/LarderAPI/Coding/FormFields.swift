import Primitives

/// In the order of arrival. Adding takes constant time, because a form may have as many names as fit into a body.
struct FormFields {
    private var positions: [ExactText: Int] = [:]
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
