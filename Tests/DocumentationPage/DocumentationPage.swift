import Primitives

/// An API's description as an HTML page: a single document without scripts. It loads only its style sheet.
struct DocumentationPage {
    let description: APIDescription

    /// The whole HTML document.
    var html: HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(description.title): the API</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="stylesheet" href="docs/style.css">
        </head>
        <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
        <h1>\(description.title) <small>\(description.version)</small></h1>
        <p>\(description.summary)</p>
        <p><a href="openapi.yaml">openapi.yaml</a> is this document for programs; <a href="./">the dashboard</a> shows this \
        server.</p>
        </header>
        <nav aria-label="Calls">
        \(description.sections.map(contents).joined())\
        <h2><a href="#answers">answers</a></h2>
        <h2><a href="#schemas">schemas</a></h2>
        </nav>
        <main id="content">
        <section>
        \(Markdown.html(description.text))\
        </section>
        \(description.sections.map(section).joined())\
        <section id="answers">
        <h2>Answers that calls share</h2>
        \(description.answers.map(shared).joined())\
        </section>
        <section id="schemas">
        <h2>Schemas</h2>
        \(description.schemas.map(schema).joined())\
        </section>
        </main>
        </body>
        </html>

        """
    }

    private func contents(_ section: APIDescription.Section) -> HTML {
        let calls = section.operations.map { operation in
            """
            <li><a href="#\(operation.id)"><span class="method">\(operation.method)</span> \
            <code>\(operation.path)</code></a></li>

            """ as HTML
        }
        return "<h2><a href=\"#section-\(section.name)\">\(section.name)</a></h2>\n<ul>\n\(calls.joined())</ul>\n"
    }

    private func section(_ section: APIDescription.Section) -> HTML {
        """
        <section id="section-\(section.name)">
        <h2>\(section.name)</h2>
        \(Markdown.html(section.text))\(section.operations.map(operation).joined())\
        </section>

        """
    }

    private func operation(_ operation: APIDescription.Operation) -> HTML {
        """
        <article id="\(operation.id)">
        <h3>\(operation.summary)</h3>
        <p class="call"><span class="method">\(operation.method)</span> <code>\(operation.path)</code></p>
        \(Markdown.html(operation.text))\(token(operation))\(parameters(operation.parameters))\(body(operation.body))\
        \(responses(operation.responses))\
        </article>

        """
    }

    private func token(_ operation: APIDescription.Operation) -> HTML {
        guard let field = operation.tokenField else { return "<p class=\"notes\">This call needs no token.</p>\n" }
        return "<p class=\"notes\">If the server requires tokens: <code>\(field): Bearer …</code></p>\n"
    }

    private func parameters(_ parameters: [APIDescription.Field]) -> HTML {
        parameters.isEmpty ? "" : "<h4>Parameters</h4>\n" + SchemaHTML.list(parameters.map(field))
    }

    private func field(_ field: APIDescription.Field) -> HTML {
        var notes: [HTML] = ["in the \(field.place)", SchemaHTML.line(field.schema)]
        if let alias = field.alias { notes.append("or <code>\(alias)</code>") }
        return SchemaHTML.row(
            field.name, notes: field.isRequired ? notes + ["required"] : notes, text: field.text, details: "")
    }

    private func body(_ body: APIDescription.Body?) -> HTML {
        guard let body else { return "" }
        return """
            <h4>Body\(body.isRequired ? "" : ", optional")</h4>
            \(Markdown.html(body.text))\(content(body.content))
            """
    }

    /// Shows the operation's own answers in full, and links to the shared answers by name.
    private func responses(_ responses: [APIDescription.Response]) -> HTML {
        let own = responses.filter { $0.sharedName == nil }.map { response in
            let answer = response.answer
            return SchemaHTML.row(
                status(response), notes: [], text: answer.text,
                details: SchemaHTML.list(answer.fields.map(field)) + content(answer.content))
        }
        let others = responses.compactMap { response -> HTML? in
            guard let name = response.sharedName else { return nil }
            return "<li><a href=\"#answer-\(name)\"><code>\(status(response))</code> \(words(name))</a></li>\n"
        }
        let list: HTML = others.isEmpty ? "" : "<ul class=\"shared\">\n\(others.joined())</ul>\n"
        return "<h4>Answers</h4>\n" + SchemaHTML.list(own) + list
    }

    private func status(_ response: APIDescription.Response) -> String {
        response.status == "default" ? "any other" : response.status
    }

    private func content(_ content: [APIDescription.Content]) -> HTML {
        content.map { form -> HTML in
            let examples = form.examples.map { example in
                "<figure><figcaption>Example\(example.title.isEmpty ? "" : ": " + example.title)</figcaption>\n"
                    + "<pre><code>\(example.value.readableText)</code></pre></figure>\n" as HTML
            }
            let items: HTML = form.itemSchema.map { ", of \(SchemaHTML.line($0)) each" } ?? ""
            return """
                <p><code>\(form.mediaType)</code>: \(SchemaHTML.line(form.schema))\(items)</p>
                \(Markdown.html(form.schema["description"]?.stringValue ?? ""))\(SchemaHTML.details(form.schema))\
                \(examples.joined())
                """
        }.joined()
    }

    private func shared(_ shared: APIDescription.SharedAnswer) -> HTML {
        """
        <article id="answer-\(shared.name)">
        <h3>\(words(shared.name))</h3>
        \(Markdown.html(shared.answer.text))\(SchemaHTML.list(shared.answer.fields.map(field)))\
        \(content(shared.answer.content))\
        </article>

        """
    }

    private func schema(_ schema: APIDescription.NamedSchema) -> HTML {
        let examples = schema.schema["examples"]?.arrayValue ?? schema.schema["example"].map { [$0] } ?? []
        return """
            <article id="\(SchemaHTML.anchor(schema.name))">
            <h3>\(schema.name)</h3>
            <p class="notes">\(SchemaHTML.line(schema.schema))</p>
            \(Markdown.html(schema.schema["description"]?.stringValue ?? ""))\(SchemaHTML.details(schema.schema))\
            \(examples.map { "<pre><code>\($0.readableText)</code></pre>\n" as HTML }.joined())\
            </article>

            """
    }

    /// Splits a name into words: `NamespaceUnknown` becomes `namespace unknown`.
    private func words(_ name: String) -> String {
        name.reduce(into: "") { words, letter in
            if letter.isUppercase, !words.isEmpty { words += " " }
            words += letter.lowercased()
        }
    }
}
