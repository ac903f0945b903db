/// A number of bytes in an operator's notation: `1048576`, `512KiB`, `10GiB`, `5MB`.
package struct ByteSize: CustomStringConvertible {
    package var bytes: Int

    package init(bytes: Int) { self.bytes = bytes }

    /// `nil` when the text is no whole number, optionally with a unit, or when the number does not fit into an `Int`.
    package init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = Int(digits), let factor = Self.units.first(where: { $0.name == unit })?.factor else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else { return nil }
        bytes = product
    }

    /// The size in the largest binary unit that divides it: `256MiB`.
    package var description: String {
        let unit = Self.units.last { $0.name.hasSuffix("iB") && bytes >= $0.factor && bytes % $0.factor == 0 }
        return unit.map { "\(bytes / $0.factor)\($0.name)" } ?? String(bytes)
    }

    private static let units: [(name: String, factor: Int)] = [
        ("", 1), ("B", 1), ("kB", 1000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20),
        ("GB", 1_000_000_000), ("GiB", 1 << 30), ("TB", 1_000_000_000_000), ("TiB", 1 << 40),
    ]
}
