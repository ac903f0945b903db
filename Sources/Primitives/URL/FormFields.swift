/// Named values in the order of arrival. Adding a value takes constant time, because a form may have many names.
package struct FormFields {
    private var positions: [ExactText: Int] = [:]
    package private(set) var all: [(name: String, values: [String])] = []

    package init() {}

    package mutating func append(_ value: String, to name: String) {
        let position = positions[ExactText(name), default: all.count]
        if position == all.count {
            positions[ExactText(name)] = position
            all.append((name, []))
        }
        all[position].values.append(value)
    }

    /// An object, as ``URLParameters`` reads it: a name with several values becomes an array.
    package var json: JSON {
        .object(all.map { .init($0, $1.count == 1 ? .string($1[0]) : .array($1.map(JSON.string))) })
    }
}
