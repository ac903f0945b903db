import Testing

/// Tests of a test tool, because the end-to-end tests miss every error that the validator misses.
@Suite("The JSON Schema validator")
struct JSONSchemaTests {
    /// A schema in JSON, with values that it must accept and values that it must refuse.
    struct Case: Sendable, CustomTestStringConvertible {
        let schema: String
        let valid: [String]
        let invalid: [String]
        var testDescription: String { schema }

        init(_ schema: String, valid: [String], invalid: [String]) {
            self.schema = schema
            self.valid = valid
            self.invalid = invalid
        }
    }

    static let cases = [
        Case("true", valid: ["null", "1"], invalid: []),
        Case("false", valid: [], invalid: ["null", "{}"]),
        Case(#"{"type": "integer"}"#, valid: ["1", "1.0", "-3"], invalid: ["1.5", "true", "\"1\"", "null"]),
        Case(#"{"type": "number"}"#, valid: ["1", "1.5", "1e3"], invalid: ["true", "false", "\"1\""]),
        Case(#"{"type": "boolean"}"#, valid: ["true", "false"], invalid: ["0", "1", "\"true\""]),
        Case(#"{"type": ["string", "null"]}"#, valid: ["null", "\"\""], invalid: ["0", "[]", "{}"]),
        Case(#"{"enum": ["a", 1, null]}"#, valid: ["\"a\"", "1", "1.0", "null"], invalid: ["\"b\"", "true", "\"1\""]),
        Case(#"{"const": 1}"#, valid: ["1"], invalid: ["true", "2", "\"1\""]),
        Case(#"{"minimum": 0, "maximum": 10}"#, valid: ["0", "10", "\"11\""], invalid: ["-0.001", "10.001"]),
        Case(#"{"exclusiveMinimum": 0}"#, valid: ["0.001"], invalid: ["0", "-1"]),
        Case(#"{"minLength": 1, "maxLength": 2}"#, valid: ["\"a\"", "\"ää\"", "5"], invalid: ["\"\"", "\"abc\""]),
        Case(#"{"pattern": "^a+$"}"#, valid: ["\"aa\"", "7"], invalid: ["\"ab\"", "\"\""]),
        Case(#"{"x-pattern": "^a+$"}"#, valid: ["\"aa\"", "7"], invalid: ["\"ab\""]),
        Case(#"{"pattern": "a"}"#, valid: ["\"bab\""], invalid: ["\"bbb\""]),
        Case(
            #"{"format": "date-time"}"#,
            valid: ["\"2026-01-31T08:05:09.250Z\"", "\"2024-02-29T23:59:60+01:00\"", "5"],
            invalid: [
                "\"2026-02-29T00:00:00Z\"", "\"2026-01-31\"", "\"2026-01-31 08:05:09Z\"", "\"2026-01-31T08:05:09\"",
                "\"2026-13-01T00:00:00Z\"", "\"2026-01-31T24:00:00Z\"", "\"2026-01-31T08:05:09.Z\"",
                "\"x2026-01-31T08:05:09Z\"",
            ]),
        Case(
            #"{"properties": {"a": {"type": "string"}}, "required": ["a"]}"#,
            valid: [#"{"a": "x"}"#, #"{"a": "x", "b": 1}"#, "[]"], invalid: ["{}", #"{"a": 1}"#]),
        Case(
            #"{"properties": {"a": true}, "additionalProperties": false}"#,
            valid: ["{}", #"{"a": 1}"#], invalid: [#"{"b": 1}"#, #"{"a": 1, "b": 1}"#]),
        Case(#"{"additionalProperties": {"type": "string"}}"#, valid: [#"{"a": "x"}"#], invalid: [#"{"a": 1}"#]),
        Case(
            #"{"propertyNames": {"pattern": "^a+$"}}"#, valid: ["{}", #"{"aa": 1}"#, "[]"],
            invalid: [#"{"a": 1, "b": 1}"#, #"{"": 1}"#]),
        Case(#"{"required": ["a"]}"#, valid: [#"{"a": null}"#], invalid: ["{}"]),
        Case(
            #"{"minProperties": 1, "maxProperties": 1}"#, valid: [#"{"a": 1}"#, "[]"],
            invalid: ["{}", #"{"a": 1, "b": 2}"#]),
        Case(#"{"items": {"type": "integer"}}"#, valid: ["[]", "[1, 2]"], invalid: ["[1, \"2\"]", "[true]"]),
        Case(#"{"minItems": 1, "maxItems": 2}"#, valid: ["[1]", "[1, 2]"], invalid: ["[]", "[1, 2, 3]"]),
        Case(#"{"uniqueItems": true}"#, valid: ["[1, true]", "[]"], invalid: ["[1, 1.0]"]),
        Case(#"{"allOf": [{"type": "integer"}, {"minimum": 3}]}"#, valid: ["3"], invalid: ["2", "3.5"]),
        Case(#"{"anyOf": [{"type": "integer"}, {"minimum": 3}]}"#, valid: ["1", "3.5"], invalid: ["2.5"]),
        Case(#"{"oneOf": [{"type": "integer"}, {"minimum": 3}]}"#, valid: ["1", "3.5"], invalid: ["2.5", "3"]),
        Case(#"{"not": {"type": "integer"}}"#, valid: ["1.5", "null"], invalid: ["1"]),
        Case(#"{"contains": {"type": "integer"}}"#, valid: ["[\"a\", 1]", "5"], invalid: ["[]", "[1.5]"]),
        Case(
            #"{"dependentRequired": {"a": ["b"]}}"#, valid: ["{}", #"{"b": 1}"#, #"{"a": 1, "b": 1}"#, "5"],
            invalid: [#"{"a": 1}"#]),
        Case(
            #"{"contentMediaType": "application/json", "contentSchema": {"type": "integer"}}"#,
            valid: ["\"1\"", "5"], invalid: ["\"true\"", "\"{\""]),
        Case(
            #"{"type": "integer", "maximum": 3, "x-also": {"type": "string", "maxLength": 1}}"#,
            valid: ["3", "\"4\""], invalid: ["4", "\"44\"", "null"]),
        Case(
            ##"{"$ref": "#/definitions/name", "maxLength": 3}"##, valid: ["\"abc\""],
            invalid: ["\"\"", "\"abcd\"", "1"]),
        Case(
            ##"{"$ref": "#/definitions/tree"}"##,
            valid: [#"{"children": [{"children": []}]}"#], invalid: [#"{"children": [{"children": [{}, 1]}]}"#]),
        Case(#"{"title": "t", "description": "d", "examples": [1], "default": 2}"#, valid: ["null"], invalid: []),
    ]

    static let document = ##"""
        {"definitions": {
            "name": {"type": "string", "minLength": 1},
            "tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}}
        }}
        """##

    private func schema(_ text: String) throws -> JSONSchema {
        try JSONSchema(JSONValue(parsing: text.utf8), in: JSONValue(parsing: Self.document.utf8))
    }

    @Test("Each keyword of JSON Schema accepts valid values and refuses invalid values", arguments: cases)
    func keyword(_ example: Case) throws {
        let schema = try schema(example.schema)
        for text in example.valid {
            let violations = schema.violations(in: try JSONValue(parsing: text.utf8))
            #expect(violations.isEmpty, "\(text) is valid")
        }
        for text in example.invalid {
            let violations = schema.violations(in: try JSONValue(parsing: text.utf8))
            #expect(!violations.isEmpty, "\(text) is not valid")
        }
    }

    @Test(
        "A schema with an unknown or malformed keyword is refused, at any depth",
        arguments: [
            #"{"typ": "string"}"#,
            #"{"discriminator": {"propertyName": "a"}}"#,
            #"{"properties": {"a": {"items": {"minimun": 1}}}}"#,
            #"{"additionalProperties": {"nullable": true}}"#,
            #"{"oneOf": [{"type": "string"}, {"if": true}]}"#,
            ##"{"$ref": "#/definitions/none"}"##,
            #"{"$ref": "other.yaml#/a"}"#,
            #"{"type": "strin"}"#,
            #"{"type": []}"#,
            #"{"required": "a"}"#,
            #"{"properties": []}"#,
            #"{"minimum": "1"}"#,
            #"{"maxLength": -1}"#,
            #"{"minItems": 1.5}"#,
            #"{"pattern": "("}"#,
            #"{"format": "date"}"#,
            #"{"anyOf": []}"#,
            #"{"type": "string", "x-also": {"typ": "integer"}}"#,
            #"{"contentSchema": {"type": "integer"}}"#,
            #"{"contentMediaType": "text/csv", "contentSchema": true}"#,
            #"{"items": 5}"#,
            #""string""#,
        ])
    func refusesUnknown(_ text: String) {
        #expect(throws: JSONSchema.Fault.self) { try schema(text) }
    }

    @Test("The validator reports the place and the reason of a violation")
    func violationText() throws {
        let schema = try schema(
            #"{"properties": {"a/b": {"items": {"type": "string"}}}, "required": ["c"], "additionalProperties": false}"#
        )
        let violations = schema.violations(in: try JSONValue(parsing: #"{"a/b": ["x", 1], "d": null}"#.utf8))
        #expect(
            violations.map(\.description) == [
                "the value: c is missing",
                "/a~1b/1: 1 is not of type string",
                "/d: nothing is allowed here",
            ])
    }

    @Test("When a value fits no alternative, the validator reports the violations of the nearest alternative")
    func nearestAlternative() throws {
        let schema = try schema(#"{"oneOf": [{"required": ["a", "b"], "type": "array"}, {"required": ["c"]}]}"#)
        let violations = schema.violations(in: try JSONValue(parsing: "{}".utf8))
        #expect(violations.map(\.reason) == ["none of 2 schemas fits", "c is missing"])
    }
}

@Suite("JSONValue, which the schema validator reads from JSON and YAML")
struct JSONValueTests {
    @Test("YAML gives the same value as its JSON equivalent")
    func yaml() throws {
        let value = try JSONValue(
            yaml: """
                a: [1, 1.5, true, null, 'true', "1", plain text]
                '200': {date: 2026-01-31T08:05:09Z, time: '10:30'}
                """)
        let expected = #"""
            {"a": [1, 1.5, true, null, "true", "1", "plain text"],
             "200": {"date": "2026-01-31T08:05:09Z", "time": "10:30"}}
            """#
        #expect(try value == JSONValue(parsing: expected.utf8))
    }

    @Test(
        "YAML that means different values in YAML 1.1 and 1.2 is refused",
        arguments: [
            "a: yes", "a: off", "200: x", "a: 10:30", "a: 0o17", "a: 017", "a: ~", "a: 1\na: 2", "",
        ])
    func ambiguousYAML(_ text: String) {
        #expect(throws: (any Error).self) { try JSONValue(yaml: text) }
    }

    @Test("The validator treats numbers and truth values as distinct")
    func numbersAndTruth() throws {
        #expect(
            try JSONValue(parsing: "[1, true, 0, false]".utf8)
                == .array([.number(1), .bool(true), .number(0), .bool(false)]))
    }

    @Test("The validator resolves a reference that contains escaped names or array positions")
    func references() throws {
        let value = try JSONValue(parsing: #"{"a/b": {"c~d": [10, 20]}}"#.utf8)
        #expect(value.resolve(reference: "#/a~1b/c~0d/1") == .number(20))
        #expect(value.resolve(reference: "#/a~1b/c~0d/2") == nil)
        #expect(value.resolve(reference: "#") == value)
        #expect(value.resolve(reference: "a") == nil)
    }
}
