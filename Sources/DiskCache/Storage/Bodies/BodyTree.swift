import Primitives

/// Iterates over the tree of published bodies, one directory at a time.
struct BodyTree {
    private var directories: [String]
    private let bodies: BodyStore

    init(_ bodies: BodyStore) throws(DiskCacheError) {
        self.bodies = bodies
        directories = try FileSystem.names(in: bodies.directory).filter(Self.isRoot)
            .filter { FileSystem.status(of: bodies.absolute($0))?.isDirectory == true }
    }

    /// Whether the top directory `name` may hold bodies: two hexadecimal digits, or a directory of the readable layout.
    static func isRoot(_ name: String) -> Bool {
        name == "QUrlCaches" || name == "QDataCaches"
            || name.utf8.count == 2 && name.utf8.allSatisfy { $0.hexDigitValue != nil }
    }

    /// Returns the relative paths in the next directory that are no directories; `nil` after the last directory.
    mutating func next() throws(DiskCacheError) -> [String]? {
        guard let directory = directories.popLast() else { return nil }
        var files: [String] = []
        for name in try FileSystem.names(in: bodies.absolute(directory)) {
            let path = directory + "/" + name
            if FileSystem.status(of: bodies.absolute(path))?.isDirectory == true {
                directories.append(path)
            } else {
                files.append(path)
            }
        }
        return files
    }
}
