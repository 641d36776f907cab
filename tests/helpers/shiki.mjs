// Colours of texts by shiki: node shiki.mjs FOLDER GRAMMAR; texts come as JSON, and go as JSON: for each line [text, colour].
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, grammar] = process.argv.slice(2)
const { createHighlighter } = await import(pathToFileURL(createRequire(`${folder}/here.js`).resolve('shiki')))
const ad = JSON.parse(fs.readFileSync(grammar, 'utf8'))
const highlighter = await createHighlighter({ themes: ['github-light'], langs: [ad] })
const coloured = text => highlighter.codeToTokensBase(text, { lang: 'adcli', theme: 'github-light' })
  .map(line => line.map(t => [t.content, t.color]))
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(coloured)))
