import Primitives

/// What an OpenAPI document says, as far as people read it, in the document's own order and with its references
/// resolved. Each `text` is Markdown.
struct APIDescription: Sendable {
    let title: String
    let version: String
    let summary: String
    let text: String
    /// The operations, by their first tag.
    let sections: [Section]
    /// The answers that operations share.
    let answers: [SharedAnswer]
    let schemas: [NamedSchema]

    /// What belongs together.
    struct Section: Sendable {
        let name: String
        let text: String
        /// At least one.
        let operations: [Operation]
    }

    /// One method on one path.
    struct Operation: Sendable {
        /// Its `operationId`.
        let id: String
        /// In capitals.
        let method: String
        /// `/entries/{key}/content`
        let path: String
        let summary: String
        let text: String
        /// The field of a request that a token goes into; `nil` when the call takes none.
        let tokenField: String?
        /// Those of the path, too.
        let parameters: [Field]
        /// `nil` when it takes no body.
        let body: Body?
        let responses: [Response]
    }

    /// A parameter, or a field of an answer.
    struct Field: Sendable {
        let name: String
        /// The other name that it has; `nil` when it has one only.
        let alias: String?
        /// `path`, `query` or `header`.
        let place: String
        let isRequired: Bool
        let text: String
        /// A JSON Schema.
        let schema: JSON
    }

    /// What is sent with a request.
    struct Body: Sendable {
        let isRequired: Bool
        let text: String
        let content: [Content]
    }

    /// One form of a body.
    struct Content: Sendable {
        let mediaType: String
        /// A JSON Schema.
        let schema: JSON
        /// The schema of each element, where the body is a sequence (lines, events); `nil` where it is none.
        let itemSchema: JSON?
        let examples: [Example]
    }

    struct Example: Sendable {
        /// Empty when it is the only one.
        let title: String
        let value: JSON
    }

    /// What comes with one status.
    struct Response: Sendable {
        /// A status code, or `default` for any other.
        let status: String
        /// The name of the answer when it is one of the shared ones.
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
