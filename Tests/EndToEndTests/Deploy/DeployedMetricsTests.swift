import HTTPTypes
import Larder
import TestSupport
import Testing

@Suite("The metrics that alerts and dashboards query")
struct DeployedMetricsTests {
    /// The metrics of a server after a download, a failed download and a read.
    private static func samples() async throws -> MetricSamples {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(request.target == "/a" ? 200 : 404, body: "x")
        }
        defer { origin.stop() }
        return try await TestServer.with(configure: { $0.adminPort = 0 }) { (server) async throws in
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
            #expect(try await server.download(["url": .string(origin.url("/b"))]).status == 502)
            #expect(try await server.get("/entries/\(md5(origin.url("/a")))/content").status == 200)
            let client = HTTPClient(port: try #require(server.api.adminPort))
            return MetricSamples(try await client.request("GET", "/metrics").text)
        }
    }

    /// All PromQL expressions of the alerts and of the dashboard, each with its place.
    private static func expressions() throws -> [(place: String, text: String)] {
        let alerts = try DeployedFile("deploy/prometheus/alerts.yaml").yaml
        let dashboard = try DeployedFile("deploy/grafana/larder.json").json
        var expressions: [(place: String, text: String)] = []
        for (place, file) in [("an alert", alerts), ("the dashboard", dashboard)] {
            for case .string(let text) in file.members(named: "expr") { expressions.append((place, text)) }
        }
        return expressions
    }

    @Test("The alerts and the Grafana dashboard query only metrics, labels, routes and outcomes that exist")
    func names() async throws {
        let samples = try await Self.samples()
        let routes = Set(try OpenAPIDocument.repository().operations.map(\.id))
        let expressions = try Self.expressions()
        #expect(expressions.count > 30)
        for (place, text) in expressions {
            let query = MetricQuery(text)
            // Prometheus itself provides "up".
            #expect(!query.selectors.isEmpty || text.hasPrefix("up{"), "\(place): \(text)")
            var labels: Set<String> = ["instance", "job"]
            for selector in query.selectors {
                #expect(samples.has(selector.metric), "\(place): \(selector.metric)")
                let known = samples.labels(of: selector.metric)
                labels.formUnion(known)
                for matcher in selector.matchers {
                    #expect(known.contains(matcher.label), "\(place): \(selector.metric){\(matcher.label)}")
                    let values = Set(matcher.values)
                    switch matcher.label {
                    case "route": #expect(values.isSubset(of: routes), "\(place): \(values)")
                    case "outcome", "state":
                        let existing = samples.values(of: matcher.label, in: selector.metric)
                        #expect(values.isSubset(of: existing), "\(values)")
                    case "status": #expect(values.allSatisfy { (500..<600).contains(Int($0) ?? 0) }, "\(values)")
                    default: #expect(values == ["$instance"], "\(place): \(matcher.label)")
                    }
                }
            }
            #expect(labels.isSuperset(of: query.groups), "\(place): \(text)")
        }
    }

    @Test("The dashboard's panel Own errors and the alert LarderErrors compute the ratio of the same metrics")
    func errors() throws {
        let rules = try DeployedFile("deploy/prometheus/alerts.yaml").yaml.members(named: "rules")
        let alert = rules.flatMap { $0.arrayValue ?? [] }.first { $0["alert"]?.stringValue == "LarderErrors" }
        let panels = try DeployedFile("deploy/grafana/larder.json").json["panels"]?.arrayValue ?? []
        let panel = panels.first { $0["title"]?.stringValue == "Own errors" }
        let asked = try [alert, panel].map { place in
            let text = try #require(place?.members(named: "expr").first?.stringValue)
            return MetricQuery(text).selectors.map { selector in
                let matchers = selector.matchers.filter { $0.label != "instance" }
                return "\(selector.metric) \(matchers.map { "\($0.label) \($0.values.sorted())" }.sorted())"
            }
        }
        #expect(asked[0].count == 2 && asked[0] == asked[1])
    }

    @Test("Every alert has a unit test for promtool in which the alert fires")
    func tried() throws {
        let alerts = try DeployedFile("deploy/prometheus/alerts.yaml").yaml.members(named: "alert")
        let tests = try DeployedFile("deploy/prometheus/alerts_test.yaml").yaml.members(named: "alert_rule_test")
        let fired = tests.flatMap { $0.arrayValue ?? [] }.filter { $0["exp_alerts"]?.arrayValue?.isEmpty == false }
        #expect(!alerts.isEmpty)
        #expect(Set(alerts.compactMap(\.stringValue)) == Set(fired.compactMap { $0["alertname"]?.stringValue }))
    }

    @Test("The parser of a query finds the metrics, the matchers of each metric, and the labels of the aggregation")
    func queries() throws {
        let query = MetricQuery(#"sum by (route, le) (rate(larder_a{route!~"x|y",le="1"}[5m])) / larder_b > 2"#)
        #expect(query.selectors.map(\.metric) == ["larder_a", "larder_b"])
        #expect(query.selectors[0].matchers.map(\.label) == ["route", "le"])
        #expect(query.selectors[0].matchers.map(\.values) == [["x", "y"], ["1"]])
        #expect(query.selectors[1].matchers.isEmpty)
        #expect(query.groups == ["route", "le"])
    }
}
