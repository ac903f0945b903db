import Primitives

/// Shows a JSON Schema as HTML: the kind of value in one line, and the parts of the value below this line.
enum SchemaHTML {
    /// Returns the HTML anchor of a named schema.
    static func anchor(_ name: String) -> String { "schema-" + name }

    /// Describes a schema in one line, as in `integer, 1 to 1000, default 100`. A named schema becomes a link to its
    /// description.
    static func line(_ schema: JSON) -> HTML {
        let also: [HTML] = schema["x-also"].map { ["or \(line($0))"] } ?? []
        return ([kind(schema)] + limits(schema) + also).joined(separator: ", ")
    }

    /// Lists the properties, including those of unnamed alternatives and elements. Empty if the schema has no
    /// properties.
    static func details(_ schema: JSON) -> HTML {
        var html: HTML = ""
        let required = (schema["required"]?.arrayValue ?? []).compactMap(\.stringValue)
        let properties = (schema["properties"] ?? .null).members
        if !properties.isEmpty {
            let rows = properties.map { property -> HTML in
                var notes = [line(property.value)]
                if required.contains(property.name) { notes.append("required") }
                return row(
                    property.name, notes: notes, text: property.value["description"]?.stringValue ?? "",
                    details: details(property.value))
            }
            html += list(rows)
        }
        for part in alternatives(schema) + [schema["items"], schema["additionalProperties"]].compactMap({ $0 }) {
            let inner = details(part)
            guard inner != "" else { continue }
            html += Markdown.html(part["description"]?.stringValue ?? "") + inner
        }
        return html
    }

    /// Returns a list of names with their explanations; empty if there are no rows.
    static func list(_ rows: [HTML]) -> HTML {
        rows.isEmpty ? "" : "<dl>\n\(rows.joined())</dl>\n"
    }

    /// Returns a row of a ``list(_:)``.
    ///
    /// - Parameter notes: short remarks beside the name.
    static func row(_ name: String, notes: [HTML], text: String, details: HTML) -> HTML {
        """
        <dt><code>\(name)</code> <span class="notes">\(notes.joined(separator: ", "))</span></dt>
        <dd>
        \(Markdown.html(text))\(details)</dd>

        """
    }

    private static func alternatives(_ schema: JSON) -> [JSON] {
        schema["oneOf"]?.arrayValue ?? schema["anyOf"]?.arrayValue ?? []
    }

    private static func kind(_ schema: JSON) -> HTML {
        if let name = schema["$ref"]?.stringValue?.split(separator: "/").last.map({ String($0) }) {
            return "<a href=\"#\(anchor(name))\">\(name)</a>"
        }
        if let value = schema["const"] { return "<code>\(value.readableText)</code>" }
        if let values = schema["enum"]?.arrayValue {
            return values.map { "<code>\($0.readableText)</code>" as HTML }.joined(separator: " or ")
        }
        let alternatives = alternatives(schema)
        if !alternatives.isEmpty { return alternatives.map(kind).joined(separator: " or ") }
        let types: [String]
        switch schema["type"] {
        case .string(let type)?: types = [type]
        case .array(let all)?: types = all.compactMap(\.stringValue)
        default: types = ["any"]
        }
        return types.map { type -> HTML in
            if type == "array", let items = schema["items"] { return "array of \(kind(items))" }
            if type == "string", let inner = schema["contentSchema"] {
                return "string with the JSON text of \(kind(inner))"
            }
            return "\(type)"
        }.joined(separator: " or ")
    }

    private static func limits(_ schema: JSON) -> [HTML] {
        var limits: [HTML] = []
        for (low, high, unit) in [
            ("minimum", "maximum", ""), ("minLength", "maxLength", " characters"),
            ("minItems", "maxItems", " elements"), ("minProperties", "maxProperties", " members"),
        ] {
            switch (schema[low]?.text, schema[high]?.text) {
            case (let low?, let high?): limits.append("\(low) to \(high)\(unit)")
            case (let low?, nil): limits.append("at least \(low)\(unit)")
            case (nil, let high?): limits.append("at most \(high)\(unit)")
            case (nil, nil): break
            }
        }
        if let pattern = (schema["pattern"] ?? schema["x-pattern"])?.stringValue {
            limits.append("as <code>\(pattern)</code>")
        }
        if let value = schema["default"] { limits.append("default <code>\(value.readableText)</code>") }
        return limits
    }
}
