// The language client: starts `adcli lsp`, tells it what is open, and shows what it answers. It speaks the Language Server
// Protocol (microsoft.github.io/language-server-protocol, 3.17) itself: the extension needs no package and nothing is built.
'use strict'
const { spawn } = require('node:child_process')
const vscode = require('vscode')

const LANGUAGE = 'adcli'
const FAULTS_KEPT = 4000   // characters of standard error that a message may quote

// ---------------------------------------------------------------- messages

class Connection {
  constructor (command, notified, ended) {
    this.waiting = new Map()
    this.number = 0
    this.received = Buffer.alloc(0)
    this.notified = notified
    this.said = ''
    this.process = spawn(command[0], command.slice(1), { windowsHide: true, env: { ...process.env, NO_COLOR: '1' } })
    this.process.stdout.on('data', data => this.read(data))
    this.process.stderr.on('data', data => { this.said = (this.said + data).slice(-FAULTS_KEPT) })
    this.process.stdin.on('error', () => {})   // it has ended, which is told below
    const absent = `there is no program '${command[0]}' (setting adcli.server)`
    this.process.once('error', fault => this.close(() => ended(fault.code === 'ENOENT' ? absent : fault.message)))
    this.process.once('close', () => this.close(() => ended(this.said.trim() || 'it ended')))
  }

  close (tell) {
    if (this.closed) return
    this.closed = true
    for (const { refuse } of this.waiting.values()) refuse(new Error('the language server has ended'))
    this.waiting.clear()
    if (!this.ending) tell()
  }

  send (message) {
    if (this.closed) return
    const data = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    this.process.stdin.write(`Content-Length: ${data.length}\r\n\r\n`)
    this.process.stdin.write(data)
  }

  notify (method, params) {
    this.send({ method, params })
  }

  request (method, params, token) {
    if (this.closed) return Promise.resolve(null)
    const id = ++this.number
    const answer = new Promise((resolve, refuse) => this.waiting.set(id, { resolve, refuse }))
    this.send({ id, method, params })
    const cancelled = token && token.onCancellationRequested(() => this.notify('$/cancelRequest', { id }))
    return answer.finally(() => cancelled && cancelled.dispose())
  }

  read (data) {
    this.received = Buffer.concat([this.received, data])
    for (;;) {
      const head = this.received.indexOf('\r\n\r\n')
      const length = head < 0 ? null : /Content-Length: *(\d+)/i.exec(this.received.toString('latin1', 0, head))
      const end = length ? head + 4 + Number(length[1]) : Infinity
      if (this.received.length < end) return
      const text = this.received.toString('utf8', head + 4, end)
      this.received = this.received.subarray(end)
      this.take(JSON.parse(text))
    }
  }

  take (message) {
    if (message.method && message.id !== undefined) {   // nothing that a server may ask has been promised to it
      this.send({ id: message.id, error: { code: -32601, message: `no method ${message.method}` } })
    } else if (message.method) {
      this.notified(message.method, message.params)
    } else if (this.waiting.has(message.id)) {
      const { resolve, refuse } = this.waiting.get(message.id)
      this.waiting.delete(message.id)
      if (message.error) refuse(Object.assign(new Error(message.error.message), { code: message.error.code }))
      else resolve(message.result)
    }
  }

  async end () {
    this.ending = true
    const waited = new Promise(resolve => setTimeout(resolve, 2000).unref())
    await Promise.race([this.request('shutdown', null).catch(() => {}), waited])
    this.notify('exit', null)
    if (!this.closed) this.process.stdin.end()
  }
}

// ---------------------------------------------------------------- from the protocol to VS Code

const position = p => new vscode.Position(p.line, p.character)
const range = r => new vscode.Range(position(r.start), position(r.end))
const edit = e => new vscode.TextEdit(range(e.range), e.newText)
const markup = m => m && m.kind === 'markdown' ? new vscode.MarkdownString(m.value) : m && m.value !== undefined ? m.value : m
const location = l => new vscode.Location(vscode.Uri.parse(l.uri || l.targetUri), range(l.range || l.targetSelectionRange))
const listed = found => found == null ? [] : Array.isArray(found) ? found : [found]

function changes (found) {
  const made = new vscode.WorkspaceEdit()
  const all = [...Object.entries(found.changes || {}),
    ...(found.documentChanges || []).map(change => [change.textDocument.uri, change.edits])]
  for (const [uri, edits] of all) made.set(vscode.Uri.parse(uri), edits.map(edit))
  return made
}

function diagnostic (d) {
  const made = new vscode.Diagnostic(range(d.range), d.message, (d.severity || 1) - 1)
  return Object.assign(made, { source: d.source, code: d.code })
}

function toDiagnostic (d) {
  return { range: d.range, message: d.message, severity: d.severity + 1, source: d.source, code: d.code }
}

function completion (c) {
  const made = new vscode.CompletionItem(c.label, c.kind ? c.kind - 1 : undefined)
  const text = c.textEdit ? c.textEdit.newText : c.insertText || c.label
  made.insertText = c.insertTextFormat === 2 ? new vscode.SnippetString(text) : text
  if (c.textEdit && c.textEdit.range) made.range = range(c.textEdit.range)
  Object.assign(made, { detail: c.detail, sortText: c.sortText, filterText: c.filterText, preselect: c.preselect, asked: c })
  made.documentation = markup(c.documentation)
  return made
}

function action (a) {
  const made = new vscode.CodeAction(a.title, a.kind ? vscode.CodeActionKind.Empty.append(a.kind) : undefined)
  made.isPreferred = a.isPreferred
  if (a.edit) made.edit = changes(a.edit)
  if (a.diagnostics) made.diagnostics = a.diagnostics.map(diagnostic)
  return made
}

// ---------------------------------------------------------------- what VS Code asks

/** The providers for what the server says that it can; each asks it, and turns the answer into what VS Code has. */
function providers (server, can) {
  const of = document => ({ textDocument: { uri: document.uri.toString() } })
  const at = (document, place) => ({ ...of(document), position: place })
  const ask = async (method, params, token, shown) => {
    const found = await server.request(`textDocument/${method}`, params, token).catch(() => null)
    return found == null ? null : shown(found)
  }
  const all = shown => found => listed(found).map(shown)
  const { languages } = vscode
  const made = {
    hoverProvider: () => languages.registerHoverProvider(LANGUAGE, {
      provideHover: (d, p, t) => ask('hover', at(d, p), t, h =>
        new vscode.Hover(listed(h.contents).map(markup), h.range && range(h.range))) }),
    definitionProvider: () => languages.registerDefinitionProvider(LANGUAGE, {
      provideDefinition: (d, p, t) => ask('definition', at(d, p), t, all(location)) }),
    documentFormattingProvider: () => languages.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: (d, options, t) => ask('formatting', { ...of(d), options }, t, all(edit)) }),
    completionProvider: () => languages.registerCompletionItemProvider(LANGUAGE, {
      provideCompletionItems: (d, p, t) => ask('completion', at(d, p), t, found => Array.isArray(found)
        ? found.map(completion)
        : new vscode.CompletionList(found.items.map(completion), found.isIncomplete)),
      resolveCompletionItem: async (item, t) => {
        const full = can.completionProvider.resolveProvider &&
          await server.request('completionItem/resolve', item.asked, t).catch(() => null)
        return full ? Object.assign(item, { detail: full.detail, documentation: markup(full.documentation) }) : item
      } }, ...(can.completionProvider.triggerCharacters || [])),
    codeActionProvider: () => languages.registerCodeActionsProvider(LANGUAGE, {
      provideCodeActions: (d, r, { diagnostics, only }, t) => ask('codeAction', { ...of(d), range: r, context: {
        diagnostics: diagnostics.map(toDiagnostic), ...(only ? { only: [only.value] } : {}) } }, t, all(action)) })
  }
  return Object.keys(made).filter(name => can[name]).map(name => made[name]())
}

// ---------------------------------------------------------------- a session

const CAPABILITIES = {
  general: { positionEncodings: ['utf-16'] },
  textDocument: {
    hover: { contentFormat: ['markdown', 'plaintext'] },
    completion: { completionItem: { snippetSupport: true, documentationFormat: ['markdown', 'plaintext'],
      resolveSupport: { properties: ['documentation', 'detail'] } } },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } }, isPreferredSupport: true },
    publishDiagnostics: {}
  }
}
const sessions = []

async function start () {
  const settings = vscode.workspace.getConfiguration('adcli')
  const command = settings.get('server') || []
  if (!command.length) return
  const faults = vscode.languages.createDiagnosticCollection(LANGUAGE)
  const session = { disposables: [faults] }
  sessions.push(session)
  const server = session.server = new Connection(command, (method, params) => {
    if (method === 'textDocument/publishDiagnostics') faults.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic))
  }, why => {
    faults.clear()
    const again = 'Start again'
    vscode.window.showErrorMessage(`adcli's language server does not run: ${why}`, again)
      .then(chosen => chosen === again && restart())
  })
  const us = { processId: process.pid, rootUri: null, capabilities: CAPABILITIES }
  const started = await server.request('initialize', us).catch(() => null)
  if (!started || server.ending) return
  server.notify('initialized', {})
  const ours = document => document.languageId === LANGUAGE
  const open = d => ours(d) && server.notify('textDocument/didOpen', { textDocument: {
    uri: d.uri.toString(), languageId: LANGUAGE, version: d.version, text: d.getText() } })
  const changed = ({ document: d }) => ours(d) && server.notify('textDocument/didChange', {
    textDocument: { uri: d.uri.toString(), version: d.version }, contentChanges: [{ text: d.getText() }] })
  const closed = d => ours(d) && server.notify('textDocument/didClose', { textDocument: { uri: d.uri.toString() } })
  vscode.workspace.textDocuments.forEach(open)
  session.disposables.push(vscode.workspace.onDidOpenTextDocument(open), vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(closed), ...providers(server, started.capabilities))
}

async function stop () {
  for (const { server, disposables } of sessions.splice(0)) {
    disposables.forEach(d => d.dispose())
    if (server) await server.end()
  }
}

async function restart () {
  await stop()
  await start()
}

function activate (context) {
  context.subscriptions.push(vscode.commands.registerCommand('adcli.restart', restart),
    vscode.workspace.onDidChangeConfiguration(change => change.affectsConfiguration('adcli') && restart()))
  return start()
}

module.exports = { activate, deactivate: stop }
