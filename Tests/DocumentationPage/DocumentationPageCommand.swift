import Foundation
import Primitives

/// Writes the page of `/docs`: `swift run DocumentationPage`, in the root of the repository.
///
/// The server sends the file as it is. A test fails while the file differs from the page of the present openapi.yaml.
@main
enum DocumentationPageCommand {
    static let description = "openapi.yaml"
    static let page = "Sources/EmbeddedFiles/Documentation/documentation.html"

    static func main() throws {
        let text = try String(contentsOfFile: description, encoding: .utf8)
        let html = try DocumentationPage(description: APIDescription(JSON(yaml: text))).html.text
        try html.write(toFile: page, atomically: true, encoding: .utf8)
    }
}
