// The part of VS Code that an extension for a language meets, and one session with it: the extension in the folder given is
// activated, a text is opened, every provider is asked once, and what they give is printed as JSON.
'use strict';
const Module = require('module');
const path = require('path');
const [, , folder, text] = process.argv;
const manifest = require(path.join(folder, 'package.json'));

const record = (...names) => class { constructor(...given) { names.forEach((n, i) => { this[n] = given[i]; }); } };
const providers = {};
const events = {};
const shown = [];
const diagnostics = new Map();
const disposable = { dispose() {} };
const on = name => then => { events[name] = then; return disposable; };
const provider = name => (selector, given) => { providers[name] = given; return disposable; };
const names = ['Hover', 'Definition', 'Reference', 'DocumentHighlight', 'Rename', 'DocumentFormattingEdit', 'CodeActions',
  'CompletionItem', 'SignatureHelp', 'DocumentSymbol', 'InlayHints', 'DocumentSemanticTokens'];
class WorkspaceEdit { set(uri, edits) { this.edits = edits; this.uri = uri.text; } }
const document = { languageId: 'adcli', version: 1, uri: { toString: () => 'file:///a%20b/w.ad' }, getText: () => text };
const vscode = {
  Position: record('line', 'character'), Range: record('start', 'end'), TextEdit: record('range', 'newText'), WorkspaceEdit,
  MarkdownString: record('value'), Hover: record('contents', 'range'), Location: record('uri', 'range'),
  Diagnostic: record('range', 'message', 'severity'), DocumentSymbol: record('name', 'detail', 'kind', 'range', 'selection'),
  CompletionItem: record('label', 'kind'), CodeAction: record('title', 'kind'), InlayHint: record('position', 'label', 'kind'),
  SignatureHelp: record(), SignatureInformation: record('label', 'documentation'), ParameterInformation: record('label'),
  DocumentHighlight: record('range', 'kind'), SemanticTokens: record('data'), SemanticTokensLegend: record('types', 'modifiers'),
  CodeActionKind: { QuickFix: 'quickfix' }, Uri: { parse: uri => ({ text: uri }) },
  languages: {
    createDiagnosticCollection: () => ({ set: (uri, found) => { diagnostics.set(uri.text, found); }, clear() {}, dispose() {} }),
    ...Object.fromEntries(names.map(n => [`register${n}Provider`, provider(n)])) },
  workspace: {
    textDocuments: [document],
    getConfiguration: () => ({ get: key => manifest.contributes.configuration.properties[`adcli.${key}`].default }),
    onDidOpenTextDocument: on('open'), onDidChangeTextDocument: on('change'), onDidCloseTextDocument: on('close'),
    onDidChangeConfiguration: on('configuration') },
  commands: { registerCommand: () => disposable },
  window: { showErrorMessage: async message => { shown.push(message); } },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));

async function session() {
  const extension = require(path.join(folder, manifest.main));
  await extension.activate({ subscriptions: [] });
  const at = (line, character) => new vscode.Position(line, character);
  const whole = new vscode.Range(at(0, 0), at(99, 0));
  const symbols = await providers.DocumentSymbol.provideDocumentSymbols(document);
  const items = await providers.CompletionItem.provideCompletionItems(document, at(2, 4));
  const format = providers.DocumentFormattingEdit.provideDocumentFormattingEdits;
  const refused = await providers.Rename.provideRenameEdits(document, at(1, 0), 'k').catch(error => error.message);
  const result = {
    diagnostics: [...diagnostics], hover: await providers.Hover.provideHover(document, at(1, 0)), refused,
    definition: await providers.Definition.provideDefinition(document, at(2, 13)),
    references: await providers.Reference.provideReferences(document, at(1, 0), { includeDeclaration: true }),
    highlights: await providers.DocumentHighlight.provideDocumentHighlights(document, at(1, 0)),
    rename: await providers.Rename.provideRenameEdits(document, at(1, 0), 'speed'),
    prepared: await providers.Rename.prepareRename(document, at(1, 0)),
    formatting: (await format(document, { tabSize: 4, insertSpaces: true })) || null,
    actions: await providers.CodeActions.provideCodeActions(document, whole, {}),
    completion: items.map(i => i.label),
    resolved: await providers.CompletionItem.resolveCompletionItem(items.find(i => i.label === 'tanh')),
    signature: await providers.SignatureHelp.provideSignatureHelp(document, at(1, 8)),
    symbols: symbols.map(s => [s.name, s.detail, s.kind]), hints: await providers.InlayHints.provideInlayHints(document, whole),
    tokens: Array.from((await providers.DocumentSemanticTokens.provideDocumentSemanticTokens(document)).data),
  };
  await extension.deactivate();
  console.log(JSON.stringify({ ...result, shown }));
}

session().catch(error => { console.error(error); process.exitCode = 1; });
