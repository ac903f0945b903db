import Primitives

/// The tree of published bodies below a namespace's directory, looked at a few directories at a time.
struct BodyTree {
    private var directories: [String]
    private let bodies: BodyStore

    /// Begins at the top.
    init(_ bodies: BodyStore) throws(DiskCacheError) {
        self.bodies = bodies
        directories = try FileSystem.names(in: bodies.directory).filter(Self.isRoot)
            .filter { FileSystem.status(of: bodies.absolute($0))?.isDirectory == true }
    }

    /// Whether a name at the top may hold bodies: two hexadecimal digits, or one of the readable layout's.
    static func isRoot(_ name: String) -> Bool {
        name == "QUrlCaches" || name == "QDataCaches"
            || name.utf8.count == 2 && name.utf8.allSatisfy { $0.hexDigitValue != nil }
    }

    /// The relative paths of what is in the next directory that is no directory; `nil` when all were looked at.
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
