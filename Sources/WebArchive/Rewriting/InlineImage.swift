/// An SVG file as a part of an HTML document. Browsers show the symbols of another file only in a document of the same
/// origin, and a replay has an origin of its own.
///
/// ```swift
/// InlineImage.text(of: Array(#"<svg><symbol id="a"/><use href="#a"/></svg>"#.utf8), prefix: "x-")
/// // <svg width="0" … ><symbol id="x-a"/><use href="#x-a"/></svg>
/// ```
package enum InlineImage {
    /// Takes the root element out of the file, hides it, and puts the prefix in front of each id and of each reference
    /// to an id of the file. `image` is in UTF-8, and its URLs are rewritten. Style sheets go, because they would apply
    /// to the whole document. `nil` for a file without a whole `svg` element.
    package static func text(of image: [UInt8], prefix: String) -> [UInt8]? {
        var writer = Writer(image: image, prefix: Array(prefix.utf8))
        return writer.write()
    }

    private struct Writer {
        let image: [UInt8]
        let prefix: [UInt8]
        private var output: [UInt8] = []
        private var position = 0
        /// The open elements of the root; 0 in front of the root and behind it.
        private var depth = 0

        init(image: [UInt8], prefix: [UInt8]) {
            self.image = image
            self.prefix = prefix
        }

        mutating func write() -> [UInt8]? {
            while let open = find("<", from: position) {
                if depth > 0 { output += image[position..<open] }
                position = open
                if starts("<!--") {
                    guard skip(to: "-->") else { return nil }
                } else if starts("<![CDATA[") {
                    let start = position
                    guard skip(to: "]]>") else { return nil }
                    if depth > 0 { output += image[start..<position] }
                } else if starts("<!") || starts("<?") {
                    guard skip(to: ">") else { return nil }
                } else if starts("</") {
                    let start = position
                    guard skip(to: ">") else { return nil }
                    guard depth > 0 else { continue }
                    output += image[start..<position]
                    depth -= 1
                    if depth == 0 { return output }
                } else {
                    guard startTag() else { return nil }
                }
            }
            return nil
        }

        /// Copies a start tag. Returns `false` at the end of the file, and for a root other than `svg`.
        private mutating func startTag() -> Bool {
            let start = position
            position += 1
            let name = word { !Self.endsName($0) }
            if name.last(of: ":") == "style" { return skipElement() }
            if depth == 0 {
                guard name.last(of: ":") == "svg" else { return false }
                output += Array("<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"".utf8)
            } else {
                output += image[start..<position]
            }
            while position < image.count {
                switch image[position] {
                case UInt8(ascii: ">"):
                    position += 1
                    depth += 1
                    output.append(UInt8(ascii: ">"))
                    return true
                case UInt8(ascii: "/"):
                    position += 1
                    if position < image.count, image[position] == UInt8(ascii: ">") {
                        position += 1
                        output += Array("/>".utf8)
                        return depth > 0
                    }
                case let byte where byte.isSpace: position += 1
                default: guard attribute() else { return false }
                }
            }
            return false
        }

        /// Copies an attribute with its value in double quotes; of the root only those without an effect on its place.
        private mutating func attribute() -> Bool {
            let start = position
            let name = word { !Self.endsName($0) && $0 != UInt8(ascii: "=") }
            if position == start { position += 1 }
            _ = word(\.isSpace)
            guard position < image.count, image[position] == UInt8(ascii: "=") else { return true }
            position += 1
            _ = word(\.isSpace)
            guard position < image.count else { return false }
            let quote = image[position]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = image[(position + 1)...].firstIndex(of: quote)
            else { return false }
            let value = image[(position + 1)..<end]
            position = end + 1
            let isOfRoot = depth == 0
            if isOfRoot, ["width", "height", "style", "aria-hidden", "class", "x", "y"].contains(name) { return true }
            output += Array(" \(name)=\"".utf8)
            for byte in named(value, by: name) {
                if byte == UInt8(ascii: "\"") { output += Array("&quot;".utf8) } else { output.append(byte) }
            }
            output.append(UInt8(ascii: "\""))
            return true
        }

        /// The value of an attribute, with the prefix in front of each id of the file.
        private func named(_ value: ArraySlice<UInt8>, by name: String) -> [UInt8] {
            let hash = UInt8(ascii: "#")
            switch name {
            case "id": return prefix + value
            case "href", "xlink:href":
                return value.first == hash ? [hash] + prefix + value.dropFirst() : Array(value)
            default:
                var output: [UInt8] = []
                var rest = value
                while let start = rest.firstRange(of: Array("url(".utf8)) {
                    output += rest[..<start.upperBound]
                    rest = rest[start.upperBound...]
                    let gap = rest.prefix { $0.isSpace || $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "\"") }
                    output += gap
                    rest = rest.dropFirst(gap.count)
                    if rest.first == hash {
                        output.append(hash)
                        output += prefix
                        rest = rest.dropFirst()
                    }
                }
                return output + rest
            }
        }

        /// Leaves out an element with its content. The position is in its start tag.
        private mutating func skipElement() -> Bool {
            guard let end = find(">", from: position) else { return false }
            position = end + 1
            guard image[end - 1] != UInt8(ascii: "/") else { return true }
            return skip(to: "</") && skip(to: ">")
        }

        private mutating func skip(to text: StaticString) -> Bool {
            guard let end = image.span.end(of: text, from: position) else { return false }
            position = end
            return true
        }

        private mutating func word(_ isPart: (UInt8) -> Bool) -> String {
            let start = position
            while position < image.count, isPart(image[position]) { position += 1 }
            return String(decoding: image[start..<position], as: UTF8.self)
        }

        private func find(_ byte: Unicode.Scalar, from start: Int) -> Int? {
            image.span.firstIndex(of: UInt8(ascii: byte), from: start)
        }

        private func starts(_ text: StaticString) -> Bool { image.span.hasPrefix(text, at: position) }

        private static func endsName(_ byte: UInt8) -> Bool {
            byte.isSpace || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ">")
        }
    }
}

extension String {
    /// The part behind the last `separator`, or the whole text.
    fileprivate func last(of separator: Character) -> Substring {
        self[(lastIndex(of: separator).map(index(after:)) ?? startIndex)...]
    }
}
