// Tokens of texts by the engine of VS Code: node textmate.mjs FOLDER GRAMMAR, where FOLDER has node_modules; the texts come as
// JSON, each a list of lines, and go as JSON: for each line [start, end, scopes] in UTF-16 units.
import fs from 'node:fs'
import { createRequire } from 'node:module'

const [folder, grammar] = process.argv.slice(2)
const require = createRequire(`${folder}/here.js`)
const { INITIAL, Registry, parseRawGrammar } = require('vscode-textmate')
const oniguruma = require('vscode-oniguruma')
await oniguruma.loadWASM(fs.readFileSync(require.resolve('vscode-oniguruma').replace(/main\.js$/, 'onig.wasm')).buffer)
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: shapes => new oniguruma.OnigScanner(shapes), createOnigString: text => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => parseRawGrammar(fs.readFileSync(grammar, 'utf8'), grammar),
})
const { scopeName } = JSON.parse(fs.readFileSync(grammar, 'utf8'))
const known = await registry.loadGrammar(scopeName)
const tokens = lines => {
  let state = INITIAL
  return lines.map(line => {
    const found = known.tokenizeLine(line, state)
    state = found.ruleStack
    return found.tokens.map(t => [t.startIndex, t.endIndex, t.scopes.slice(1)])
  })
}
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(tokens)))
