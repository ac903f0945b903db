import Primitives

extension APIDescription {
    /// The reason why a document cannot be read.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads an OpenAPI document. Members that the document leaves out become empty. Members that the documentation
    /// page does not show are ignored.
    init(_ document: JSON) throws(Fault) {
        let reader = Reader(document: document)
        let info = document["info"] ?? .null
        title = info.text(of: "title")
        version = info.text(of: "version")
        summary = info.text(of: "summary")
        text = info.text(of: "description")
        sections = try reader.sections()
        answers = try reader.components("responses").map { (member) throws(Fault) in
            SharedAnswer(name: member.name, answer: try reader.answer(member.value))
        }
        schemas = reader.components("schemas").map { NamedSchema(name: $0.name, schema: $0.value) }
    }
}

/// Reads the parts of an OpenAPI document.
private struct Reader {
    typealias Fault = APIDescription.Fault

    private static let methods = ["get", "head", "put", "post", "patch", "delete", "options", "trace"]

    let document: JSON

    func components(_ kind: String) -> [JSON.Member] {
        (document["components"]?[kind] ?? .null).members
    }

    func sections() throws(Fault) -> [APIDescription.Section] {
        var tags: [(name: String, text: String)] = (document["tags"]?.arrayValue ?? []).map {
            ($0.text(of: "name"), $0.text(of: "description"))
        }
        var operations: [String: [APIDescription.Operation]] = [:]
        for path in (document["paths"] ?? .null).members {
            for member in path.value.members where Self.methods.contains(member.name) {
                let tag = member.value["tags"]?.arrayValue?.first?.stringValue ?? "other"
                if !tags.contains(where: { $0.name == tag }) { tags.append((tag, "")) }
                let operation = try operation(member.name, path.name, member.value, in: path.value)
                operations[tag, default: []].append(operation)
            }
        }
        return tags.compactMap { tag in
            operations[tag.name].map { APIDescription.Section(name: tag.name, text: tag.text, operations: $0) }
        }
    }

    private func operation(
        _ method: String, _ path: String, _ operation: JSON, in item: JSON
    ) throws(Fault) -> APIDescription.Operation {
        let parameters = (item["parameters"]?.arrayValue ?? []) + (operation["parameters"]?.arrayValue ?? [])
        return APIDescription.Operation(
            id: operation.text(of: "operationId"), method: method.uppercased(), path: path,
            summary: operation.text(of: "summary"), text: operation.text(of: "description"),
            tokenField: tokenField(operation["security"] ?? document["security"]),
            parameters: try parameters.map { (unresolved) throws(Fault) in
                let parameter = try resolve(unresolved).value
                return field(parameter.text(of: "name"), parameter, in: parameter.text(of: "in"))
            },
            body: try operation["requestBody"].map { (unresolved) throws(Fault) in
                let body = try resolve(unresolved).value
                return APIDescription.Body(
                    isRequired: body["required"] == true, text: body.text(of: "description"),
                    content: content(of: body))
            },
            responses: try (operation["responses"] ?? .null).members.map { (member) throws(Fault) in
                let (value, name) = try resolve(member.value)
                return APIDescription.Response(status: member.name, sharedName: name, answer: try answer(value))
            })
    }

    func answer(_ answer: JSON) throws(Fault) -> APIDescription.Answer {
        let fields = try (answer["headers"] ?? .null).members.map { (member) throws(Fault) in
            field(member.name, try resolve(member.value).value, in: "header")
        }
        return APIDescription.Answer(text: answer.text(of: "description"), fields: fields, content: content(of: answer))
    }

    private func field(_ name: String, _ field: JSON, in place: String) -> APIDescription.Field {
        APIDescription.Field(
            name: name, alias: field["x-alias"]?.stringValue, place: place, isRequired: field["required"] == true,
            text: field.text(of: "description"), schema: field["schema"] ?? .null)
    }

    private func content(of value: JSON) -> [APIDescription.Content] {
        (value["content"] ?? .null).members.map { member in
            APIDescription.Content(
                mediaType: member.name, schema: member.value["schema"] ?? .null,
                itemSchema: member.value["x-itemSchema"], examples: examples(of: member.value))
        }
    }

    private func examples(of value: JSON) -> [APIDescription.Example] {
        if let example = value["example"] { return [APIDescription.Example(title: "", value: example)] }
        return (value["examples"] ?? .null).members.map { member in
            let summary = member.value.text(of: "summary")
            return APIDescription.Example(
                title: summary.isEmpty ? member.name : summary, value: member.value["value"] ?? .null)
        }
    }

    private func tokenField(_ security: JSON?) -> String? {
        guard let name = security?.arrayValue?.first?.members.first?.name,
            let scheme = document["components"]?["securitySchemes"]?[name]
        else { return nil }
        return scheme["in"] == "header" ? scheme.text(of: "name") : "Authorization"
    }

    /// Returns the target of a reference and its name. A value that is not a reference is returned as it is, without a
    /// name.
    private func resolve(_ value: JSON) throws(Fault) -> (value: JSON, name: String?) {
        guard let reference = value["$ref"]?.stringValue else { return (value, nil) }
        let steps = reference.split(separator: "/")
        let target = steps.dropFirst().reduce(Optional(document)) { place, step in place?[String(step)] }
        guard steps.first == "#", let name = steps.last, let target else {
            throw Fault(description: "the reference \(reference) has no target")
        }
        return (target, String(name))
    }
}

extension JSON {
    /// Returns the text of a member; empty if there is none.
    fileprivate func text(of name: String) -> String { self[name]?.stringValue ?? "" }
}
