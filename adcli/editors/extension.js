// The client of `adcli lsp` for Visual Studio Code. It needs no other package: messages of the protocol, and what the editor
// calls the same things (code.visualstudio.com/api/references/vscode-api; Language Server Protocol 3.17).
'use strict';
const vscode = require('vscode');
const { spawn } = require('child_process');

const LANGUAGE = 'adcli';
let server, faults, registered;

// ---------------------------------------------------------------- messages

class Server {
  constructor(command) {
    this.waiting = new Map();
    this.number = 0;
    this.input = Buffer.alloc(0);
    this.errors = '';
    this.ended = false;
    this.process = spawn(command[0], command.slice(1));
    this.process.stdout.on('data', data => this.receive(data));
    this.process.stderr.on('data', data => { this.errors = (this.errors + data).slice(-2000); });
    this.process.stdin.on('error', () => {});
    this.process.on('error', error => this.end(`'${command.join(' ')}' does not start: ${error.message}`));
    this.process.on('exit', code => this.end(`'${command.join(' ')}' has ended with code ${code}. ${this.errors}`));
  }

  end(reason) {
    if (this.ended) return;
    this.ended = true;
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    this.waiting.clear();
    if (server === this) vscode.window.showErrorMessage(`adcli: ${reason}`, 'Restart').then(choice => choice && restart());
  }

  send(message) {
    if (this.ended) return;
    const data = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.process.stdin.write(`Content-Length: ${data.length}\r\n\r\n`);
    this.process.stdin.write(data);
  }

  notify(method, params) { this.send({ method, params }); }

  request(method, params, token) {
    if (this.ended) return Promise.reject(new Error('the language server is not running'));
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
      if (token) token.onCancellationRequested(() => this.notify('$/cancelRequest', { id }));
    });
  }

  receive(data) {
    this.input = Buffer.concat([this.input, data]);
    for (;;) {
      const head = this.input.indexOf('\r\n\r\n');
      const length = head < 0 ? null : /content-length: *(\d+)/i.exec(this.input.subarray(0, head).toString());
      if (!length || this.input.length < head + 4 + Number(length[1])) return;
      const body = this.input.subarray(head + 4, head + 4 + Number(length[1]));
      this.input = this.input.subarray(head + 4 + body.length);
      this.taken(JSON.parse(body.toString()));
    }
  }

  taken(message) {
    if (message.method === undefined) {
      const asked = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (asked) message.error ? asked.reject(new Error(message.error.message)) : asked.resolve(message.result);
    } else if (message.method === 'textDocument/publishDiagnostics') {
      faults.set(vscode.Uri.parse(message.params.uri), message.params.diagnostics.map(diagnostic));
    } else if (message.id !== undefined) {
      this.send({ id: message.id, error: { code: -32601, message: 'not known here' } });
    }
  }
}

// ---------------------------------------------------------------- the same things in the words of the editor

const position = p => new vscode.Position(p.line, p.character);
const range = r => new vscode.Range(position(r.start), position(r.end));
const edit = e => new vscode.TextEdit(range(e.range), e.newText);
const markdown = m => (m && typeof m === 'object' ? new vscode.MarkdownString(m.value) : m || undefined);
const location = l => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));

function diagnostic(d) {
  const made = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  made.source = d.source;
  return made;
}

function workspaceEdit(e) {
  const made = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(e.changes || {})) made.set(vscode.Uri.parse(uri), edits.map(edit));
  return made;
}

function symbol(s) {
  const made = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1, range(s.range), range(s.selectionRange));
  made.children = (s.children || []).map(symbol);
  return made;
}

function completion(i) {
  const made = new vscode.CompletionItem(i.label, i.kind - 1);
  return Object.assign(made, { detail: i.detail, documentation: markdown(i.documentation), sortText: i.sortText, item: i });
}

function action(a) {
  const made = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
  const diagnostics = (a.diagnostics || []).map(diagnostic);
  return Object.assign(made, { edit: workspaceEdit(a.edit), isPreferred: a.isPreferred, diagnostics });
}

function hint(h) {
  const made = new vscode.InlayHint(position(h.position), h.label, h.kind || undefined);
  return Object.assign(made, { textEdits: (h.textEdits || []).map(edit) });
}

function signature(h) {
  const made = new vscode.SignatureHelp();
  made.signatures = h.signatures.map(s => Object.assign(new vscode.SignatureInformation(s.label, markdown(s.documentation)), {
    parameters: s.parameters.map(p => new vscode.ParameterInformation(p.label)) }));
  return Object.assign(made, { activeSignature: h.activeSignature, activeParameter: h.activeParameter });
}

// ---------------------------------------------------------------- requests

const name = document => ({ uri: document.uri.toString() });

async function ask(method, document, more, token, made) {
  const result = await server.request(`textDocument/${method}`, { textDocument: name(document), ...more }, token);
  return result === null || result === undefined ? undefined : made(result);
}

const all = made => list => list.map(made);

function providers(capabilities) {
  const on = vscode.languages, at = LANGUAGE;
  const legend = capabilities.semanticTokensProvider.legend;
  return [
    on.registerHoverProvider(at, { provideHover: (d, position, token) =>
      ask('hover', d, { position }, token, h => new vscode.Hover(markdown(h.contents), range(h.range))) }),
    on.registerDefinitionProvider(at, { provideDefinition: (d, position, token) =>
      ask('definition', d, { position }, token, location) }),
    on.registerReferenceProvider(at, { provideReferences: (d, position, context, token) =>
      ask('references', d, { position, context }, token, all(location)) }),
    on.registerDocumentHighlightProvider(at, { provideDocumentHighlights: (d, position, token) =>
      ask('documentHighlight', d, { position }, token, all(h => new vscode.DocumentHighlight(range(h.range), h.kind - 1))) }),
    on.registerRenameProvider(at, {
      provideRenameEdits: (d, position, newName, token) => ask('rename', d, { position, newName }, token, workspaceEdit),
      prepareRename: (d, position, token) =>
        ask('prepareRename', d, { position }, token, r => ({ range: range(r.range), placeholder: r.placeholder })) }),
    on.registerDocumentFormattingEditProvider(at, { provideDocumentFormattingEdits: (d, options, token) =>
      ask('formatting', d, { options }, token, all(edit)) }),
    on.registerCodeActionsProvider(at, { provideCodeActions: (d, range, context, token) =>
      ask('codeAction', d, { range: { start: range.start, end: range.end }, context: { diagnostics: [] } }, token, all(action)) },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    on.registerCompletionItemProvider(at, {
      provideCompletionItems: (d, position, token) => ask('completion', d, { position }, token, l => l.items.map(completion)),
      resolveCompletionItem: async (item, token) => {
        const known = await server.request('completionItem/resolve', item.item, token);
        return Object.assign(item, { documentation: markdown(known.documentation) });
      } }),
    on.registerSignatureHelpProvider(at, { provideSignatureHelp: (d, position, token) =>
      ask('signatureHelp', d, { position }, token, signature) }, '(', ','),
    on.registerDocumentSymbolProvider(at, { provideDocumentSymbols: (d, token) =>
      ask('documentSymbol', d, {}, token, all(symbol)) }),
    on.registerInlayHintsProvider(at, { provideInlayHints: (d, range, token) =>
      ask('inlayHint', d, { range: { start: range.start, end: range.end } }, token, all(hint)) }),
    on.registerDocumentSemanticTokensProvider(at, { provideDocumentSemanticTokens: (d, token) =>
      ask('semanticTokens/full', d, {}, token, t => new vscode.SemanticTokens(new Uint32Array(t.data))) },
      new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)),
  ];
}

// ---------------------------------------------------------------- texts, start and end

function opened(document) {
  if (document.languageId === LANGUAGE) {
    server.notify('textDocument/didOpen', { textDocument: {
      ...name(document), languageId: LANGUAGE, version: document.version, text: document.getText() } });
  }
}

function changed({ document }) {
  if (document.languageId === LANGUAGE) {
    server.notify('textDocument/didChange', { textDocument: { ...name(document), version: document.version },
      contentChanges: [{ text: document.getText() }] });
  }
}

function closed(document) {
  if (document.languageId === LANGUAGE) server.notify('textDocument/didClose', { textDocument: name(document) });
}

async function start() {
  server = new Server(vscode.workspace.getConfiguration('adcli').get('server'));
  const { capabilities } = await server.request('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
  server.notify('initialized', {});
  server.ready = true;
  registered = providers(capabilities);
  vscode.workspace.textDocuments.forEach(opened);
}

async function stop() {
  const old = server;
  server = undefined;
  (registered || []).forEach(provider => provider.dispose());
  registered = [];
  faults.clear();
  if (old && !old.ended) {
    await Promise.race([old.request('shutdown', null), new Promise(resolve => setTimeout(resolve, 1000))]).catch(() => {});
    old.notify('exit', null);
    old.process.stdin.end();
  }
}

async function restart() {
  await stop();
  await start().catch(() => {});   // the reason was shown
}

async function activate(context) {
  faults = vscode.languages.createDiagnosticCollection(LANGUAGE);
  const running = then => event => server && server.ready && then(event);
  context.subscriptions.push(
    faults,
    vscode.workspace.onDidOpenTextDocument(running(opened)),
    vscode.workspace.onDidChangeTextDocument(running(changed)),
    vscode.workspace.onDidCloseTextDocument(running(closed)),
    vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('adcli.server') && restart()),
    vscode.commands.registerCommand('adcli.restart', restart));
  await start().catch(() => {});
}

module.exports = { activate, deactivate: stop };
