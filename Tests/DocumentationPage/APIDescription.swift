import Primitives

/// The content of an OpenAPI document as far as the documentation page shows it, in the order of the document and with
/// its references resolved. Each `text` is Markdown.
struct APIDescription: Sendable {
    let title: String
    let version: String
    let summary: String
    let text: String
    /// The operations, grouped by their first tag.
    let sections: [Section]
    /// The answers that several operations share.
    let answers: [SharedAnswer]
    let schemas: [NamedSchema]

    /// The operations with the same first tag.
    struct Section: Sendable {
        let name: String
        let text: String
        /// At least one operation.
        let operations: [Operation]
    }

    /// A method on a path.
    struct Operation: Sendable {
        /// The `operationId` of the document.
        let id: String
        /// The method in upper case.
        let method: String
        /// The path pattern, as in `/entries/{key}/content`.
        let path: String
        let summary: String
        let text: String
        /// The request field for the token; `nil` if the operation takes no token.
        let tokenField: String?
        /// The parameters of the operation's path, and then the operation's own parameters.
        let parameters: [Field]
        /// The body of the request; `nil` if the operation takes none.
        let body: Body?
        let responses: [Response]
    }

    /// A parameter of a request, or a header field of an answer.
    struct Field: Sendable {
        let name: String
        /// The second name of the field (`x-alias`); `nil` if the field has only one name.
        let alias: String?
        /// `path`, `query` or `header`.
        let place: String
        let isRequired: Bool
        let text: String
        /// A JSON Schema.
        let schema: JSON
    }

    /// The body of a request.
    struct Body: Sendable {
        let isRequired: Bool
        let text: String
        let content: [Content]
    }

    /// A media type of a body, with its schema and examples.
    struct Content: Sendable {
        let mediaType: String
        /// A JSON Schema.
        let schema: JSON
        /// The schema of each element if the body is a sequence (lines, events); `nil` for any other body.
        let itemSchema: JSON?
        let examples: [Example]
    }

    struct Example: Sendable {
        /// The summary of the example, or its name; empty for the only example of a body.
        let title: String
        let value: JSON
    }

    /// The answer with a certain status.
    struct Response: Sendable {
        /// A status code, or `default` for all other codes.
        let status: String
        /// The name of the answer if operations share it; `nil` if the answer is the operation's own.
        let sharedName: String?
        let answer: Answer
    }

    struct Answer: Sendable {
        let text: String
        let fields: [Field]
        let content: [Content]
    }

    struct SharedAnswer: Sendable {
        let name: String
        let answer: Answer
    }

    struct NamedSchema: Sendable {
        let name: String
        let schema: JSON
    }
}
