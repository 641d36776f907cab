// The extension of VS Code in a stand-in for VS Code: node vscode.cjs EXTENSION COMMAND..., that of the server. What it registers is asked about one text;
// what comes of it goes as JSON to standard output.
'use strict'
const Module = require('node:module')
const [extension, ...command] = process.argv.slice(2)

const plain = (name, ...fields) => ({ [name]: class {
  constructor (...given) { fields.forEach((field, i) => { if (given[i] !== undefined) this[field] = given[i] }) }
} })[name]
const providers = {}
const messages = []
const faults = new Map()
const listeners = { open: [], change: [], close: [] }
const disposable = (undo = () => {}) => ({ dispose: undo })
const listen = list => f => { list.push(f); return disposable(() => list.splice(list.indexOf(f), 1)) }
const registered = name => (language, provider, ...more) => {
  providers[name] = { provider, more }
  return disposable(() => delete providers[name])
}
class Kind { constructor (value = '') { this.value = value } append (more) { return new Kind(more) } }
Kind.Empty = new Kind()
class Edits { constructor () { this.all = [] } set (uri, edits) { this.all.push([uri.toString(), edits]) } }
const uri = text => ({ toString: () => text, toJSON: () => text })
const settings = { server: command }

const vscode = {
  Position: plain('Position', 'line', 'character'), Range: plain('Range', 'start', 'end'), Uri: { parse: uri },
  TextEdit: plain('TextEdit', 'range', 'newText'), WorkspaceEdit: Edits, Hover: plain('Hover', 'contents', 'range'),
  MarkdownString: plain('MarkdownString', 'value'), Location: plain('Location', 'uri', 'range'),
  Diagnostic: plain('Diagnostic', 'range', 'message', 'severity'), CodeActionKind: Kind,
  CodeAction: plain('CodeAction', 'title', 'kind'),
  CompletionItem: plain('CompletionItem', 'label', 'kind'), CompletionList: plain('CompletionList', 'items', 'isIncomplete'),
  SnippetString: plain('SnippetString', 'value'),
  languages: {
    createDiagnosticCollection: () => ({
      set: (u, found) => faults.set(u.toString(), found), clear: () => faults.clear(), dispose () {}
    }),
    registerHoverProvider: registered('hover'), registerDefinitionProvider: registered('definition'),
    registerDocumentFormattingEditProvider: registered('formatting'), registerCompletionItemProvider: registered('completion'),
    registerCodeActionsProvider: registered('actions')
  },
  workspace: {
    textDocuments: [], getConfiguration: () => ({ get: name => settings[name] }), onDidChangeConfiguration: () => disposable(),
    onDidOpenTextDocument: listen(listeners.open), onDidChangeTextDocument: listen(listeners.change),
    onDidCloseTextDocument: listen(listeners.close)
  },
  window: { showErrorMessage: async text => { messages.push(text) } },
  commands: { registerCommand: () => disposable() }
}
const load = Module._load
Module._load = (name, ...rest) => name === 'vscode' ? vscode : load(name, ...rest)

const document = {
  languageId: 'adcli', version: 1, uri: uri('file:///a%20b/f.ad'),
  text: 'input x, y\n# 𝑥\nv = x*tahn(y)\n', getText () { return this.text }
}
const until = async (holds, what) => {
  const end = Date.now() + 60000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`no ${what}: ${messages}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function main () {
  const { activate, deactivate } = require(extension)
  await activate({ subscriptions: [] })
  const seen = { providers: Object.keys(providers).sort() }
  if (seen.providers.length) {
    const key = document.uri.toString()
    const other = { ...document, languageId: 'python', uri: uri('file:///other.py') }
    ;[document, other].forEach(d => listeners.open.forEach(f => f(d)))
    await until(() => (faults.get(key) || []).length, 'diagnostics')
    seen.faults = [...faults]
    const whole = new vscode.Range(new vscode.Position(2, 0), new vscode.Position(2, 13))
    const asked = (name, method, ...given) => providers[name].provider[method](document, ...given)
    seen.actions = await asked('actions', 'provideCodeActions', whole, { diagnostics: faults.get(key) })
    Object.assign(document, { version: 2, text: 'input x, y\n# 𝑥\nv   = x*tanh(y)\nw = v*v\n' })
    listeners.change.forEach(f => f({ document }))
    await until(() => faults.get(key).length === 0, 'end of diagnostics')
    seen.hover = await asked('hover', 'provideHover', new vscode.Position(2, 9))
    seen.definition = await asked('definition', 'provideDefinition', new vscode.Position(3, 4))
    seen.formatting = await asked('formatting', 'provideDocumentFormattingEdits', { tabSize: 4, insertSpaces: true })
    const found = await asked('completion', 'provideCompletionItems', new vscode.Position(3, 5))
    const item = (found.items || found).find(c => c.label === 'tanh')
    seen.completion = item && await providers.completion.provider.resolveCompletionItem(item)
    listeners.close.forEach(f => f(document))
    await until(() => faults.get(key).length === 0, 'end of diagnostics')
  } else if (command.length) {
    await until(() => messages.length, 'message')
  }
  await deactivate()
  console.log(JSON.stringify({ ...seen, messages }))
}

main().catch(fault => { console.error(fault); process.exit(1) })
