import DiskCache
import HTTPTypes
import Larder
import TestSupport
import Testing

@Suite("The settings of the deployments")
struct DeploymentTests {
    @Test("The variables of each deployment are valid settings, and put the cache on the volume")
    func variables() throws {
        for deployment in try Deployment.all() {
            let configuration = try deployment.configuration
            #expect(configuration.directory == "/var/cache/larder", "\(deployment.name)")
            #expect(configuration.stateDirectory == "/var/lib/larder", "\(deployment.name)")
            try configuration.checkTLS()
        }
    }

    @Test("Every deployment sets a tokens file, except the bare image, which does not start without further settings")
    func closed() throws {
        for deployment in try Deployment.all() {
            let configuration = try deployment.configuration
            #expect(!configuration.isOpen, "\(deployment.name)")
            if deployment.name == "the image" {
                #expect(throws: ConfigurationError.self) { try configuration.checkExposure() }
            } else {
                try configuration.checkExposure()
                #expect(configuration.tokensFile != nil, "\(deployment.name)")
            }
        }
    }

    @Test("The grace period of Kubernetes covers the preStop hook, the drain, and the closing of the index")
    func grace() throws {
        for deployment in try Deployment.all() {
            let configuration = try deployment.configuration
            let drain = deployment.hook + configuration.drainDelay + configuration.drainTimeout
            #expect(deployment.grace >= drain + .seconds(2), "\(deployment.name): \(drain)")
            #expect(configuration.drainTimeout >= .seconds(5), "\(deployment.name)")
        }
    }

    @Test("The cache's limits fit the memory and the volume that Kubernetes grants")
    func limits() throws {
        for deployment in try [Deployment.kubernetes(), .kubernetes(overlay: "production")] {
            let configuration = try deployment.configuration
            let (memory, volume) = (try #require(deployment.memory), try #require(deployment.volume))
            // Beside the memory tier, incoming bodies take 256 MiB, and the rest of the process takes another 256 MiB.
            #expect(configuration.memoryLimit + (512 << 20) <= memory, "\(deployment.name)")
            guard case .percent(let reserve) = configuration.diskReserve else {
                Issue.record("\(deployment.name): the reserve is not a percentage")
                continue
            }
            #expect(Double(configuration.diskLimit) < Double(volume) * (1 - reserve / 100), "\(deployment.name)")
        }
    }

    @Test("Dockerfile, Kubernetes and Prometheus name the same ports and the same user")
    func agreement() throws {
        let image = try Deployment.image().configuration
        let dockerfile = try DeployedFile("Dockerfile").stage("runtime")
        let set = try DeployedFile("deploy/kubernetes/base/statefulset.yaml").yaml
        let ports = try #require(set.members(named: "ports").first)
        #expect(ports.element(where: "name", is: "http")?["containerPort"]?.countValue == Int(image.port))
        #expect(
            ports.element(where: "name", is: "admin")?["containerPort"]?.countValue == image.adminPort.map { Int($0) })
        #expect(dockerfile.values(after: "EXPOSE ") == ["\(image.port)"])
        let annotation = set.members(named: "prometheus.io/port").first?.stringValue
        #expect(annotation == image.adminPort.map { "\($0)" })
        let targets = try DeployedFile("deploy/prometheus/prometheus.yaml").yaml.members(named: "targets")
        #expect(targets == [.array([.string("larder:\(annotation ?? "")")])])
        let user = try #require(set.members(named: "runAsUser").first?.countValue)
        #expect(dockerfile.values(after: "USER ") == ["\(user):\(user)"])
        #expect(user != 0)
    }

    @Test("The default target of the Dockerfile has no browser, and the target with one returns to the image's user")
    func browser() throws {
        let dockerfile = try DeployedFile("Dockerfile")
        #expect(dockerfile.text.hasSuffix("\nFROM runtime\n"))
        let (image, browser) = (try dockerfile.stage("runtime"), try dockerfile.stage("browser"))
        #expect(browser.values(after: "USER ").last == image.values(after: "USER ").last)
        let variable = try #require(browser.values(after: "ENV ").first)
        #expect(variable.hasPrefix("LARDER_BROWSER=/"))
        #expect(try DeployedFile("deploy/systemd/browser.conf").values(after: "Environment=") == [variable])
    }

    @Test("In Compose, Prometheus may request the metrics under the server's host name; an unlisted host name gets 421")
    func scraped() async throws {
        let prometheus = try DeployedFile("deploy/prometheus/prometheus.yaml").yaml
        let target = try #require(prometheus.members(named: "targets").first?.arrayValue?.first?.stringValue)
        let names = try Deployment.compose().configuration.allowedHosts
        try await TestServer.with(configure: {
            $0.adminPort = 0
            $0.allowedHosts = names
        }) { (server) async throws in
            let client = HTTPClient(port: try #require(server.api.adminPort))
            let host = HTTPField.Name("Host")!
            #expect(try await client.request("GET", "/metrics", fields: [host: target]).status == 200)
            #expect(try await client.request("GET", "/metrics", fields: [host: "cache.internal"]).status == 421)
        }
    }

    @Test("Dockerfile and Kubernetes name the current version")
    func version() throws {
        #expect(try DeployedFile("Dockerfile").values(after: "ARG VERSION=") == [Version.current])
        for folder in ["base", "overlays/production"] {
            let kustomization = try DeployedFile("deploy/kubernetes/\(folder)/kustomization.yaml").yaml
            #expect(kustomization.members(named: "newTag") == [.string(Version.current)], "\(folder)")
        }
    }
}
