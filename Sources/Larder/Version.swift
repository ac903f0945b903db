/// The version of this software.
public enum Version {
    /// As in `larder --version`, `/stats` and openapi.yaml.
    public static let current = "0.1.0"
}
