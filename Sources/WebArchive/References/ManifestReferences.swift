import Primitives

/// Finds the images of a web app manifest: icons, screenshots and the icons of shortcuts.
package enum ManifestReferences {
    /// The URLs as written, in the order of the manifest. Empty for a text that is no JSON object.
    package static func urls(in bytes: [UInt8]) -> [String] {
        guard let manifest = try? JSON(parsing: bytes, valueLimit: 10_000) else { return [] }
        let shortcuts = manifest["shortcuts"]?.arrayValue ?? []
        return sources(manifest["icons"]) + sources(manifest["screenshots"])
            + shortcuts.flatMap { sources($0["icons"]) }
    }

    private static func sources(_ images: JSON?) -> [String] {
        (images?.arrayValue ?? []).compactMap { $0["src"]?.stringValue }
    }
}
