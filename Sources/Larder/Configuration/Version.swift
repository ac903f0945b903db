package enum Version {
    /// The version in `larder --version`, `/stats` and openapi.yaml.
    package static let current = "0.1.0"
}
