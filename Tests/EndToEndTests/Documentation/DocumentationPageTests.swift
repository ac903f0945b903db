import Primitives
import TestSupport
import Testing

@testable import DocumentationPage

@Suite("openapi.yaml as a page")
struct DocumentationPageTests {
    private static func page(_ document: JSON) throws -> PageText {
        PageText(try DocumentationPage(description: APIDescription(document)).html.text)
    }

    private static func repository() throws -> PageText {
        try page(JSON(yaml: OpenAPIDocument.repositoryText()))
    }

    @Test("The page /docs has every call of openapi.yaml with its parameters, its request types and all its answers")
    func calls() throws {
        let page = try Self.repository()
        for operation in try OpenAPIDocument.repository().operations {
            let article = try #require(page.article(operation.id), "\(operation.id)")
            let call = "<span class=\"method\">\(operation.method)</span> <code>\(operation.path)</code>"
            #expect(article.contains(call) && page.text.contains("<a href=\"#\(operation.id)\">\(call)</a>"))
            for parameter in operation.parameters {
                #expect(article.contains("<dt><code>\(parameter.name)</code>"), "\(operation.id) \(parameter.name)")
            }
            let statuses = operation.responses.keys.map { "\($0)" } + (operation.passedOn == nil ? [] : ["any other"])
            for status in statuses { #expect(article.contains("<code>\(status)</code>"), "\(operation.id) \(status)") }
            for type in operation.requestContent.keys { #expect(article.contains("<code>\(type)</code>")) }
        }
    }

    @Test("The page /docs has every schema and every shared answer of openapi.yaml with all fields")
    func components() throws {
        let page = try Self.repository()
        let components = try #require(try OpenAPIDocument.repository().root["components"])
        for (name, schema) in components["schemas"]?.objectValue ?? [:] {
            let article = try #require(page.article("schema-\(name)"), "\(name)")
            for property in (schema["properties"]?.objectValue ?? [:]).keys {
                #expect(article.contains("<dt><code>\(property)</code>"), "\(name) \(property)")
            }
        }
        for (name, answer) in components["responses"]?.objectValue ?? [:] {
            let article = try #require(page.article("answer-\(name)"), "\(name)")
            for field in (answer["headers"]?.objectValue ?? [:]).keys {
                #expect(article.contains("<dt><code>\(field)</code>"), "\(name) \(field)")
            }
        }
    }

    @Test("The page /docs is well formed, and each link within the page has a target")
    func wellFormed() throws {
        let page = try Self.repository()
        #expect(page.imbalances.isEmpty && page.strayCount == 1)
        let places = page.values(of: "id")
        #expect(Set(places).count == places.count)
        let links = page.values(of: "href")
        #expect(links.count > 200)
        for link in links where link.hasPrefix("#") { #expect(places.contains(String(link.dropFirst())), "\(link)") }
        let others = Set(links.filter { !$0.hasPrefix("#") && !$0.hasPrefix("https://") })
        #expect(others == ["docs/style.css", "openapi.yaml", "./"])
    }

    @Test(
        "The page /docs states the constraints of a schema in words",
        arguments: [
            ("{type: integer, minimum: 1, maximum: 9, default: 5}", "integer, 1 to 9, default <code>5</code>"),
            ("{type: [string, 'null'], maxLength: 8}", "string or null, at most 8 characters"),
            ("{type: array, items: {type: string}, maxItems: 3}", "array of string, at most 3 elements"),
            ("{enum: [a, b]}", "<code>a</code> or <code>b</code>"), ("{const: true}", "<code>true</code>"),
            ("{oneOf: [{type: 'null'}, {$ref: '#/a/B'}]}", "null or <a href=\"#schema-B\">B</a>"),
            ("{type: integer, minimum: 0, x-also: {type: string}}", "integer, at least 0, or string"),
            (
                "{type: string, contentSchema: {$ref: '#/a/B'}}",
                "string with the JSON text of <a href=\"#schema-B\">B</a>"
            ),
            ("{type: string, pattern: '^<a>$'}", "string, as <code>^&lt;a&gt;$</code>"), ("{description: x}", "any"),
        ])
    func schemas(schema: String, words: String) throws {
        #expect(SchemaHTML.line(try JSON(yaml: schema)).text == words)
    }

    private static let hostile = #"</code></p>"'><script src="//evil.test">alert(1)</script><img src=x onerror=y>&lt;"#

    @Test("The page /docs escapes text that looks like markup, everywhere")
    func hostileText() throws {
        let text = JSON.string(Self.hostile)
        let schema: JSON = [
            "type": text, "description": text, "enum": [text], "default": text, "pattern": text, "required": [text],
            "example": text,
        ]
        func named(_ value: JSON) -> JSON { .object([.init(Self.hostile, value)]) }
        let object: JSON = [
            "description": text, "properties": named(schema), "items": ["properties": named(["const": text])],
            "examples": [text, [text]],
        ]
        let example: JSON = ["summary": text, "value": [text]]
        let content = named(["schema": object, "examples": named(example)])
        let parameter: JSON = ["name": text, "in": text, "description": text, "schema": schema]
        let answer: JSON = ["description": text, "headers": named(parameter), "content": content]
        let operation: JSON = [
            "operationId": text, "tags": [text], "summary": text, "description": text, "parameters": [parameter],
            "requestBody": ["description": text, "content": content], "responses": named(answer),
            "security": [["own": []]],
        ]
        let components: JSON = [
            "securitySchemes": ["own": ["in": "header", "name": text]], "responses": named(answer),
            "schemas": named(object),
        ]
        let page = try Self.page([
            "info": ["title": text, "version": text, "summary": text, "description": text],
            "tags": [["name": text, "description": text]], "paths": named(["get": operation]), "components": components,
        ])
        #expect(page.imbalances.isEmpty && page.strayCount == 1)
        let known = try Self.repository()
        #expect(Set(page.tags.map(\.name)).isSubset(of: known.tags.map(\.name)))
        let attributes = Set(known.tags.flatMap(\.attributes).map(\.name))
        #expect(Set(page.tags.flatMap(\.attributes).map(\.name)).isSubset(of: attributes))
        for link in page.values(of: "href") where !link.hasPrefix("#") {
            #expect(["docs/style.css", "openapi.yaml", "./"].contains(link))
        }
        #expect(page.text.matches(of: /&lt;script src=&quot;\/\/evil\.test&quot;&gt;alert\(1\)&lt;/).count > 30)
        #expect(page.text.contains("&amp;lt;"))
    }

    @Test("An API description with a dangling reference is refused, and so is YAML that has no equivalent in JSON")
    func faults() throws {
        let broken: JSON = ["paths": ["/a": ["get": ["parameters": [["$ref": "#/components/parameters/None"]]]]]]
        #expect(throws: APIDescription.Fault.self) { try APIDescription(broken) }
        for yaml in ["", "[1]: 2", "a: *b", "a: ["] {
            #expect(throws: (any Error).self, "\(yaml)") { try JSON(yaml: yaml) }
        }
        let expected: JSON = ["a": 1, "b": "1", "c": "3.1.0", "d": .null, "e": [true, "x"]]
        #expect(try JSON(yaml: "a: 1\nb: '1'\nc: 3.1.0\nd: null\ne: [true, x]") == expected)
    }
}
