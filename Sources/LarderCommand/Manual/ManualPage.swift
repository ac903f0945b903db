import ArgumentParser
import Larder
import Primitives

/// The manual page of a command and its subcommands, in man(7), from the JSON of `--experimental-dump-help`.
struct ManualPage {
    private let root: JSON
    private let version: String

    init(dump: String, version: String) throws(JSON.SyntaxError) {
        root = try JSON(parsing: dump)["command"] ?? .null
        self.version = version
    }

    var text: String {
        let name = root["commandName"]?.stringValue ?? ""
        var lines = [
            ".TH \(name.uppercased()) 1 \"\" \"\(name) \(version)\" \"User Commands\"", ".SH NAME",
            "\(Self.escaped(name)) \\- \(Self.escaped(root["abstract"]?.stringValue ?? ""))", ".SH SYNOPSIS",
            "\\fB\(Self.escaped(name))\\fR \\fIcommand\\fR [\\fIoptions\\fR]",
        ]
        if let discussion = root["discussion"]?.stringValue {
            lines.append(".SH DESCRIPTION")
            lines += Self.paragraphs(discussion)
        }
        lines.append(".SH OPTIONS")
        lines += arguments(of: root, isRoot: true)
        lines.append(".SH COMMANDS")
        for command in Self.subcommands(of: root) { lines += section(command, path: name) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func section(_ command: JSON, path: String) -> [String] {
        let name = "\(path) \(command["commandName"]?.stringValue ?? "")"
        let subcommands = Self.subcommands(of: command)
        // A command with subcommands has no action of its own, so only its subcommands get sections.
        guard subcommands.isEmpty else { return subcommands.flatMap { section($0, path: name) } }
        let positionals = Self.shown(of: command).filter { $0["kind"] == "positional" }.map { argument -> String in
            let value = "\\fI\(Self.escaped(argument["valueName"]?.stringValue ?? ""))\\fR"
            let several = argument["isRepeating"] == true ? value + " ..." : value
            return argument["isOptional"] == true ? "[\(several)]" : several
        }
        var lines = [".SS \(Self.escaped(name))", Self.escaped(command["abstract"]?.stringValue ?? ""), ".PP"]
        lines.append((["\\fB\(Self.escaped(name))\\fR", "[\\fIoptions\\fR]"] + positionals).joined(separator: " "))
        if let discussion = command["discussion"]?.stringValue {
            lines.append(".PP")
            lines += Self.paragraphs(discussion)
        }
        return lines + arguments(of: command, isRoot: false)
    }

    /// `--help` and `--version` appear only in the root, because every command has them.
    private func arguments(of command: JSON, isRoot: Bool) -> [String] {
        Self.shown(of: command).flatMap { argument -> [String] in
            let value = "\\fI\(Self.escaped(argument["valueName"]?.stringValue ?? ""))\\fR"
            let names = (argument["names"]?.arrayValue ?? []).map {
                (isLong: $0["kind"] == "long", text: $0["name"]?.stringValue ?? "")
            }
            if !isRoot, names.contains(where: { $0.text == "help" || $0.text == "version" }) { return [] }
            let flags = names.sorted { !$0.isLong && $1.isLong }
                .map { "\\fB\(Self.escaped(($0.isLong ? "--" : "-") + $0.text))\\fR" }.joined(separator: ", ")
            let title = flags.isEmpty ? value : argument["kind"] == "option" ? "\(flags) \(value)" : flags
            var words = argument["abstract"]?.stringValue ?? ""
            if let standard = argument["defaultValue"]?.stringValue { words += " (default: \(standard))" }
            return [".TP", title, Self.escaped(words)]
        }
    }

    private static func shown(of command: JSON) -> [JSON] {
        (command["arguments"]?.arrayValue ?? []).filter { $0["shouldDisplay"] == true }
    }

    /// The shown subcommands, without the `help` command that ArgumentParser adds to the root.
    private static func subcommands(of command: JSON) -> [JSON] {
        (command["subcommands"]?.arrayValue ?? []).filter {
            $0["shouldDisplay"] == true && $0["commandName"] != "help"
        }
    }

    /// A single line break within a paragraph is kept.
    private static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n\n").enumerated().flatMap { (index, paragraph) -> [String] in
            let lines = paragraph.split(separator: "\n").map { escaped(String($0)) }
            return (index > 0 ? [".PP"] : []) + Array(lines.map { [$0] }.joined(separator: [".br"]))
        }
    }

    /// Escapes a text, so that man(7) reads no line as a formatting request, and readers can copy hyphens.
    private static func escaped(_ text: String) -> String {
        let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\n", with: " ")
        return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : plain
    }
}

/// `larder manual`: prints the manual page of a command, for the package that installs it.
struct ManualCommand<Command: ParsableCommand>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "manual", abstract: "Print the manual page: larder manual | man -l -", shouldDisplay: false)
    }

    func run() throws {
        let page = try ManualPage(dump: Command._dumpHelp(), version: Version.current)
        try Console.output.write(Array(page.text.utf8))
    }
}
