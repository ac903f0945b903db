import LarderClient
import Primitives

/// Requests `/readyz` from a server, once and without a token.
struct ReadinessProbe: Sendable {
    let server: ServerAddress
    /// For the whole response.
    let patience: Duration

    /// The reason why the server is not ready, partly in the server's own words; `nil` when it is ready.
    func run() async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask { await ask() }
            group.addTask {
                try? await Task.sleep(for: patience)
                return "\(server) does not answer"
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func ask() async -> String? {
        do {
            let client = APIClient(APIClient.Configuration(server: server))
            return try await client.withResponse(to: APICall(["readyz"])) { (response) -> String? in
                guard response.status != 200 else { return nil }
                let json = try? JSON(parsing: try await response.collect())
                return "\(server) answers: \(json?["status"]?.stringValue ?? "status \(response.status)")"
            }
        } catch {
            return "\(error)"
        }
    }
}
