import CEmbeddedFiles

/// The files that are part of the executable.
public enum EmbeddedFiles {
    /// The description of the API. The file in this folder is a link to the file at the top level.
    public static let openapi = file("openapi.yaml")

    /// The page of `/docs`, which `swift run DocumentationPage` writes.
    public static let documentation = file("documentation.html")

    /// The style of the page of `/docs`.
    public static let documentationStyle = file("documentation.css")

    /// The page of `/`, which loads the ``dashboardParts``.
    public static let dashboardPage = file("index.html")

    /// The scripts, styles and images of the dashboard's page, with their names in the folder.
    public static let dashboardParts: [(name: String, bytes: [UInt8])] = {
        let others: Set = ["openapi.yaml", "documentation.html", "documentation.css", "index.html"]
        return all.filter { !others.contains($0.name) }
    }()

    private static func file(_ name: String) -> [UInt8] { all.first { $0.name == name }!.bytes }

    private static let all: [(name: String, bytes: [UInt8])] = {
        var count = 0
        let files = UnsafeBufferPointer(start: larder_embedded_files(&count), count: count)
        return files.map { file in
            (String(cString: file.name), [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.length)))
        }
    }()
}
