import DiskCache
import Foundation
import Logging
import TestSupport
import Testing

@testable import Larder

@Suite("The configuration")
struct ConfigurationTests {
    private let home = ["HOME": "/home/ada"]

    @Test(
        "Unless configured, a client's limit is a quarter of the connections; a server on loopback has no such limit",
        arguments: [
            ("0.0.0.0", nil, 1000, 250), ("0.0.0.0", nil, 20, 16), ("::", "auto", 1000, 250),
            ("127.0.0.1", nil, 1000, 0),
            ("0.0.0.0", "0", 1000, 0), ("127.0.0.1", "7", 1000, 7),
        ] as [(String, String?, Int, Int)])
    func connectionsPerClient(host: String, option: String?, limit: Int, expected: Int) throws {
        var flags = ["host": [host], "open": ["true"]]
        flags["max-connections-per-client"] = option.map { [$0] }
        let configuration = try Configuration(flags: flags, environment: home, file: nil)
        #expect(configuration.connectionsPerClient(of: limit) == expected)
    }

    @Test(
        "By default, half of the connections may be listeners; one client may have a quarter of these, on loopback all",
        arguments: [
            ("127.0.0.1", [], 1000, 500, 0), ("0.0.0.0", [], 1000, 500, 125), ("0.0.0.0", [], 1, 1, 16),
            ("127.0.0.1", ["7", "3"], 1000, 7, 3), ("0.0.0.0", ["auto", "0"], 1000, 500, 0),
            ("0.0.0.0", ["5000", "auto"], 1000, 1000, 250),
        ] as [(String, [String], Int, Int, Int)])
    func listeners(host: String, options: [String], connections: Int, all: Int, ofOneClient: Int) throws {
        var flags = ["host": [host], "open": ["true"]]
        flags["max-listeners"] = options.first.map { [$0] }
        flags["max-listeners-per-client"] = options.last.map { [$0] }
        let configuration = try Configuration(flags: flags, environment: home, file: nil)
        #expect(configuration.listeners(of: connections) == all)
        #expect(configuration.listenersPerClient(of: all) == ofOneClient)
    }

    @Test("The default texts of all settings give the same configuration as no settings")
    func defaults() throws {
        // All default texts, given as flags, result in the same configuration as no option.
        let none = try Configuration(flags: [:], environment: home, file: nil)
        var flags: [String: [String]] = [:]
        for setting in Setting.all
        where !["directory", "state-directory", "log-format"].contains(setting.name) && setting.defaultText != "none" {
            flags[setting.name] = [setting.defaultText]
        }
        let written = try Configuration(flags: flags, environment: home, file: nil)
        #expect(none == written)
        #expect(none.directory == "/home/ada/.cache/larder")
    }

    @Test("A flag overrides the environment, which overrides the file, which overrides the default")
    func precedence() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "port: 1\nentry-limit: 1KiB\nmax-downloads: 7\nallow-origin:\n- 10.0.0.0/8\n- a.test\n", to: "f.yaml")
        let environment = home.merging(["LARDER_PORT": "2", "LARDER_ENTRY_LIMIT": "2KiB"]) { $1 }
        let configuration = try Configuration(flags: ["port": ["3"]], environment: environment, file: file)
        #expect(configuration.port == 3)
        #expect(configuration.entryLimit == 2048)
        #expect(configuration.maxDownloads == 7)
        #expect(configuration.allowedOrigins.map(\.description) == ["10.0.0.0/8", "a.test"])
    }

    @Test("A setting that is a list accepts commas and repeated flags")
    func lists() throws {
        let configuration = try Configuration(
            flags: ["allow-origin": ["10.0.0.1, 10.0.0.2", "localhost:80"]],
            environment: home.merging(["LARDER_SCHEMES": "http, ftp"]) { $1 }, file: nil)
        #expect(configuration.allowedOrigins.map(\.description) == ["10.0.0.1", "10.0.0.2", "localhost:80"])
        #expect(configuration.schemes == ["http", "ftp"])
    }

    @Test(
        "The disk reserve is a share of the disk or a number of bytes",
        arguments: [
            ("5%", DiskReserve.percent(5)), ("0.5%", .percent(0.5)), ("0", .bytes(0)), ("2GiB", .bytes(2 << 30)),
        ])
    func diskReserve(text: String, reserve: DiskReserve) throws {
        let configuration = try Configuration(flags: ["disk-reserve": [text]], environment: home, file: nil)
        #expect(configuration.diskReserve == reserve)
    }

    @Test("The default directory is in XDG_CACHE_HOME if it is absolute, else in HOME; without both there is none")
    func directory() throws {
        func path(_ environment: [String: String]) throws -> String {
            try Configuration(flags: [:], environment: environment, file: nil).directory
        }
        #expect(try path(["XDG_CACHE_HOME": "/var/cache", "HOME": "/h"]) == "/var/cache/larder")
        #expect(try path(["XDG_CACHE_HOME": "cache", "HOME": "/h"]) == "/h/.cache/larder")
        #expect(throws: ConfigurationError.self) { try path([:]) }
        #expect(try path(["LARDER_DIRECTORY": "/x/../y"]) == "/y")
    }

    @Test("The default state directory is in XDG_STATE_HOME, else in HOME; a server without both needs none")
    func stateDirectory() throws {
        func path(_ environment: [String: String]) throws -> String? {
            let environment = environment.merging(["LARDER_DIRECTORY": "/cache"]) { $1 }
            return try Configuration(flags: [:], environment: environment, file: nil).stateDirectory
        }
        #expect(try path(["XDG_STATE_HOME": "/var/lib", "HOME": "/h"]) == "/var/lib/larder")
        #expect(try path(["XDG_STATE_HOME": "state", "HOME": "/h"]) == "/h/.local/state/larder")
        #expect(try path([:]) == nil)
        #expect(try path(["LARDER_STATE_DIRECTORY": "/x/../y"]) == "/y")
    }

    @Test(
        "An invalid setting is refused, and the error names the flag or variable and the expected form",
        arguments: [
            ("port", "-1"), ("port", "65536"), ("memory-limit", "1.5GiB"), ("memory-limit", "-1"),
            ("disk-limit", "10"), ("inline-limit", "1GiB"), ("default-ttl", "-1"), ("default-ttl", "nan"),
            ("default-ttl", "+1h"),
            ("default-ttl", "1e12"), ("max-downloads", "0"), ("max-listeners", "0"), ("max-listeners", "half"),
            ("max-listeners-per-client", "-1"), ("max-connections-per-client", "100001"), ("layout", "Hashed"),
            ("durability", "disk"),
            ("durability", ""), ("schemes", "file"),
            ("log-level", "loud"), ("log-format", "xml"), ("allow-origin", "10.0.0.0/33"), ("drain-delay", "x"),
            ("allow-origin", ""), ("allow-origin", "10.0.0.1,,a.test"), ("schemes", "http,"), ("host", ""),
            ("directory", ""), ("memory-limit", "10XB"), ("memory-limit", ""), ("disk-limit", "9223372036854775807"),
            ("disk-reserve", "91%"), ("disk-reserve", "-1%"), ("disk-reserve", "%"), ("disk-reserve", "nan%"),
            ("disk-reserve", "5 %"), ("disk-reserve", "1.2.3%"), ("disk-reserve", ""), ("disk-reserve", "half"),
            ("drain-timeout", "nan"), ("drain-timeout", "inf"), ("drain-timeout", "0x10"), ("drain-timeout", "-1"),
        ])
    func invalid(name: String, value: String) throws {
        let setting = try #require(Setting.all.first { $0.name == name })
        let byFlag = #expect(throws: ConfigurationError.self) {
            try Configuration(flags: [name: [value]], environment: home, file: nil)
        }
        #expect(byFlag?.description.contains("--\(name)") == true)
        #expect(byFlag?.description.contains("expected") == true)
        let byVariable = #expect(throws: ConfigurationError.self) {
            try Configuration(flags: [:], environment: home.merging([setting.variable: value]) { $1 }, file: nil)
        }
        #expect(byVariable?.description.contains(setting.variable) == true)
    }

    @Test("An unknown key in the configuration file is refused, and the error names the key")
    func unknownKey() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("prot: 1\n", to: "f.yaml")
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration(flags: [:], environment: home, file: file)
        }
        #expect(error?.description.contains("\"prot\"") == true)
    }

    @Test("Unknown LARDER_ variables are ignored and listed, except variables of Kubernetes and the client commands")
    func unknownVariables() throws {
        let links = [
            "LARDER_PORT": "tcp://10.96.0.7:8080", "LARDER_PORT_8080_TCP_ADDR": "10.96.0.7",
            "LARDER_SERVICE_HOST": "10.96.0.7", "LARDER_ADMIN_PORT": "udp://[fd00::7]:8081",
            "LARDER_ADMIN_PORT_8081_UDP": "udp://[fd00::7]:8081", "LARDER_ADMIN_SERVICE_PORT_HTTP": "8081",
            "LARDER_SERVER": "http://h", "LARDER_TOKEN": "t", "LARDER_CA_FILE": "ca.pem", "LARDER_CONFIG": "f.yaml",
        ]
        let none = try Configuration(flags: [:], environment: home, file: nil)
        #expect(try Configuration(flags: [:], environment: home.merging(links) { $1 }, file: nil) == none)
        #expect(Configuration.unknownVariables(in: home.merging(links) { $1 }) == [])
        let others = [
            "LARDER_PROT": "1", "LARDER_": "", "LARDER_VERSION": "7", "LARDER_PODS_SERVICE_HOST": "10.96.0.8",
            "larder_port": "1", "LARDERX": "1",
        ]
        #expect(try Configuration(flags: [:], environment: home.merging(others) { $1 }, file: nil) == none)
        #expect(
            Configuration.unknownVariables(in: home.merging(links) { $1 }.merging(others) { $1 })
                == ["LARDER_", "LARDER_PODS_SERVICE_HOST", "LARDER_PROT", "LARDER_VERSION"])
        // An option with an invalid value is still refused.
        #expect(throws: ConfigurationError.self) {
            try Configuration(flags: [:], environment: home.merging(["LARDER_PORT": "http://h"]) { $1 }, file: nil)
        }
    }

    @Test(
        "An unusable configuration file is refused with a single line that has the file's name and the reason",
        arguments: [
            (nil, "No such file or directory"), ("port: [1\n", "line 2"), ("port:\t1\n\tx: 1\n", "tab character"),
            ("port: 1\nport: 2\n", "port is given more than once"), ("port: 1\n---\nport: 2\n", "another document"),
            ("- port\n", "option names"), ("port: [1]\n", "\"port\" takes one value"),
            ("allow-origin: {a: b}\n", "list of values"), ("allow-origin: [10.0.0.1, '']\n", "empty element"),
            ("allow-origin: 'a.test,'\n", "empty element"), ("allow-origin:\n", "leave it out"),
            ("host:\n", "leave it out"), ("directory: ~\n", "leave it out"), ("port: 'x'\n", "port in"),
        ])
    func badFile(text: String?, words: String) throws {
        let directory = try TemporaryDirectory()
        let file = try text.map { try directory.write($0, to: "f.yaml") } ?? directory.path("none.yaml")
        let error = try #require(
            #expect(throws: ConfigurationError.self) {
                try Configuration(flags: [:], environment: home, file: file)
            })
        #expect(error.description.contains(file))
        #expect(error.description.contains(words), "\(error)")
        #expect(!error.description.contains("\n") && !error.description.contains("NSCocoaError"), "\(error)")
    }

    @Test("An empty configuration file and an empty list in the file set no options")
    func emptyFile() throws {
        let directory = try TemporaryDirectory()
        for text in ["", "# nothing\n", "allow-origin: []\n"] {
            let file = try directory.write(text, to: "f.yaml")
            let none = try Configuration(flags: [:], environment: home, file: nil)
            #expect(try Configuration(flags: [:], environment: home, file: file) == none)
        }
    }

    @Test(
        "Sizes are parsed with decimal and binary units",
        arguments: [("0", 0), ("1048576", 1 << 20), ("512KiB", 512 << 10), ("5MB", 5_000_000), ("10GiB", 10 << 30)])
    func sizes(text: String, bytes: Int) {
        #expect(ByteSize(text)?.bytes == bytes)
    }

    @Test("Malformed sizes and ttls are refused, and ttls are parsed with their units")
    func noSizes() {
        for text in ["", "x", "1.5MiB", "-1", "1 MiB", "99999999999999999999", "9223372036854775807KiB", "MiB"] {
            #expect(ByteSize(text) == nil, "\(text)")
        }
        for text in [
            "", "x", "-1", "nan", "inf", "0x10", "1e10", " 1", "h", "1w", "1H", "1h30m", "1 h", "1h ", "-1h", "hh",
            "infs", "36526d", "1e300d", "1ms", "1\u{301}h", "1h\u{301}",
        ] {
            #expect(TTL(text) == nil, "\(text)")
        }
        for (text, seconds) in [
            ("20s", 20), ("15m", 900), ("1h", 3600), ("1.5h", 5400), ("7d", 604_800), ("36525d", 3_155_760_000),
            ("0d", 0), ("1e1m", 600),
        ] {
            #expect(TTL(text)?.duration == .seconds(seconds), "\(text)")
        }
        #expect(TTL("0")?.duration == .zero)
        #expect(TTL("0.0001")?.duration == .milliseconds(1))
        #expect(TTL("1.5")?.duration == .milliseconds(1500))
    }
}

@Suite("deploy/larder.yaml")
struct ConfigurationExampleTests {
    private static let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "deploy/larder.yaml").path

    @Test("The file deploy/larder.yaml sets no option until an operator changes the file")
    func unchanged() throws {
        let environment = ["HOME": "/home/ada"]
        let none = try Configuration(flags: [:], environment: environment, file: nil)
        #expect(try Configuration(flags: [:], environment: environment, file: Self.path) == none)
    }

    @Test("The file deploy/larder.yaml names every option, and shows the default of each option that has a default")
    func complete() throws {
        let text = try String(contentsOfFile: Self.path, encoding: .utf8)
        // A commented option has no space behind its #, unlike a sentence.
        let options = text.split(separator: "\n").filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }
        let directory = try TemporaryDirectory()
        let chosen = try directory.write(options.map { $0.dropFirst() }.joined(separator: "\n"), to: "all.yaml")
        let values = try ConfigurationFile.values(at: chosen)
        #expect(Set(values.keys) == Set(Setting.all.map(\.name)))
        // A debug build has another default layout. The defaults of the other options cannot be written in a file.
        let others = ["layout", "directory", "state-directory", "log-format"]
        for setting in Setting.all where setting.defaultText != "none" && !others.contains(setting.name) {
            #expect(values[setting.name]?.joined(separator: ",") == setting.defaultText, "\(setting.name)")
        }
        #expect(values["layout"] == ["hashed"])
    }
}

@Suite("The limits of requests to origins")
struct TransferLimitsTests {
    @Test("With few descriptors, requests to hanging origins leave at least half of the descriptors to clients")
    func few() {
        let limits = TransferLimits(descriptors: 600, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(2 * limits.gateway <= 600 / 4)
        #expect(2 * limits.downloads <= 600 / 8)
        #expect(limits.clients >= 600 / 2)
        #expect(limits.namespaces == 4)
        // If all downloads from a host hang, half of the downloads remain for other hosts.
        #expect(2 * limits.downloadsPerHost <= limits.downloads)
    }

    @Test("With enough descriptors, downloads have their configured limits, and /fetch may run 4,096 transfers")
    func enough() {
        let limits = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 4096)
        #expect(limits.namespaces == 100)
        #expect(limits.gatewayPerHost == 2048)
        #expect(limits.downloads == 512)
        #expect(limits.downloadsPerHost == 128)
    }

    @Test("Of 20,000 descriptors, clients get over 11,000, and an eighth stays free for other uses")
    func clients() {
        let limits = TransferLimits(descriptors: 20_000, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.clients > 11_000)
        #expect(limits.clients + 2 * limits.gateway + 2 * limits.downloads <= 20_000 - 20_000 / 8)
        let plenty = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(plenty.clients == 16_384)
    }

    @Test("With three descriptors, the limits of /fetch, downloads and clients are still 1 each")
    func none() {
        let limits = TransferLimits(descriptors: 3, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 1)
        #expect(limits.downloads == 1)
        #expect(limits.clients == 1)
    }
}
