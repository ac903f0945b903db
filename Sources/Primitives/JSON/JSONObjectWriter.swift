/// Writes a JSON object member by member, as compact text. Code that writes objects often uses it to avoid building a
/// ``JSON`` value first. The caller must not add the same name twice.
package struct JSONObjectWriter {
    private var output: [UInt8] = []

    package init() {
        output.reserveCapacity(1024)
        output.append(UInt8(ascii: "{"))
    }

    package mutating func add(_ name: String, _ text: String) {
        begin(name)
        JSON.write(text, into: &output)
    }

    package mutating func add(_ name: String, _ number: some FixedWidthInteger) {
        begin(name)
        output.append(contentsOf: String(number).utf8)
    }

    package mutating func add(_ name: String, _ value: JSON) {
        begin(name)
        value.write(into: &output)
    }

    /// Adds an array. The writer writes each element before it requests the next, so only one element exists at a time.
    package mutating func add(_ name: String, elements: some Sequence<JSON>) {
        begin(name)
        output.append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            element.write(into: &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    /// Adds an array of pairs; each pair is written as an array of two strings.
    @inlinable
    package mutating func add(_ name: String, pairs: some Sequence<(String, String)>) {
        beginPairs(name)
        for (first, second) in pairs { addPair(first, second) }
        endPairs()
    }

    /// Closes the object and returns it as UTF-8 text, without a copy.
    package consuming func finish() -> [UInt8] {
        output.append(UInt8(ascii: "}"))
        return output
    }

    /// The object with the members added so far.
    package var text: String {
        String(unsafeUninitializedCapacity: output.count + 1) { buffer in
            let end = buffer.initialize(fromContentsOf: output)
            buffer.initializeElement(at: end, to: UInt8(ascii: "}"))
            return end + 1
        }
    }

    @usableFromInline
    mutating func beginPairs(_ name: String) {
        begin(name)
        output.append(UInt8(ascii: "["))
    }

    @usableFromInline
    mutating func addPair(_ first: String, _ second: String) {
        if output.last == UInt8(ascii: "]") { output.append(UInt8(ascii: ",")) }
        output.append(UInt8(ascii: "["))
        JSON.write(first, into: &output)
        output.append(UInt8(ascii: ","))
        JSON.write(second, into: &output)
        output.append(UInt8(ascii: "]"))
    }

    @usableFromInline
    mutating func endPairs() {
        output.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: String) {
        if output.count > 1 { output.append(UInt8(ascii: ",")) }
        JSON.write(name, into: &output)
        output.append(UInt8(ascii: ":"))
    }
}
