/// The version of this software.
public enum Version {
    /// The version in `larder --version`, `/stats` and openapi.yaml.
    public static let current = "0.1.0"
}
