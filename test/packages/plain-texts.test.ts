import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonSchema } from '@svc/plugin-sdk'
import t from 'tap'
import { ownManifests } from '../../tools/docs.ts'
import { packages, ROOT, sourcesOf } from '../docs/error-codes.ts'

/** Name of an MCP tool, which users of the command line do not know. */
const TOOL = /\bsvc_[a-z_]+/
/** Code span, bold text or link in Markdown. */
const MARKDOWN = /`|\*\*\w|\]\(https?:/
/** The compiler marks words of the program in its diagnostics, as rustc does; its reports print them. */
const DIAGNOSTICS = /^plugins\/(?:compiler\/src|app-runtime\/src\/interpreter)\//

interface Text {
  readonly place: string
  readonly text: string
}

/** Returns the texts of a command's help. */
function* helpTexts(place: string, texts: readonly (string | undefined)[], input: JsonSchema): Generator<Text> {
  for (const text of texts) if (text !== undefined) yield { place, text }
  const properties = Object.entries((input.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  for (const [name, { description, 'x-hidden': hidden }] of properties)
    if (typeof description === 'string' && hidden !== true) yield { place: `${place} --${name}`, text: description }
}

const manifests = await ownManifests()

t.test('the help of commands has no Markdown and no name of an MCP tool', async t => {
  const texts = manifests.flatMap(({ commands, operations }) => [
    ...commands.flatMap(({ command, summary, input }) => [...helpTexts(command, [summary], input)]),
    ...operations.flatMap(({ summary, description, input, expose }) => {
      return expose.cli === undefined ? [] : [...helpTexts(expose.cli.command, [summary, description], input)]
    })
  ])
  t.ok(texts.length > 400, `${texts.length} texts`)
  for (const { place, text } of texts) {
    t.notMatch(text, TOOL, place)
    t.notMatch(text, MARKDOWN, place)
  }
})

t.test('descriptions of settings have no name of an MCP tool', async t => {
  for (const { name, config } of manifests)
    for (const { place, text } of helpTexts(name, [], config)) t.notMatch(text, TOOL, place)
})

t.test('errors and their hints have no Markdown and no name of an MCP tool', async t => {
  const texts = packages().flatMap(each => sourcesOf(each).flatMap(file => [...errorTexts(file)]))
  t.ok(texts.length > 800, `${texts.length} texts`)
  for (const { place, text } of texts) {
    t.notMatch(text, TOOL, place)
    if (!DIAGNOSTICS.test(place)) t.notMatch(text, MARKDOWN, place)
  }
})

const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g

/** Returns the string literals of each creation of an error, which contains its hint, and of each `hint:`. */
function* errorTexts(file: string): Generator<Text> {
  const source = readFileSync(join(ROOT, file), 'utf8').replace(/^[ \t]*(?:\/\/|\/?\*).*$/gm, '')
  for (const { index } of source.matchAll(/\bcreate\(\s*'[A-Z]{3}_|\bhint:/g)) {
    const part = expressionAt(source, index)
    const line = source.slice(0, index).split('\n').length
    for (const [, single, double, template] of part.matchAll(LITERAL)) {
      const text = (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/g, '…')
      yield { place: `${file}:${line}`, text }
    }
  }
}

/** Returns the source from a position to the end of its call or property. */
function expressionAt(source: string, from: number): string {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    const char = source[at] as string
    if (char === "'" || char === '"' || char === '`') at = endOfLiteral(source, at)
    else if ('([{'.includes(char)) depth += 1
    else if (')]}'.includes(char)) {
      depth -= 1
      if (depth <= 0) return source.slice(from, at + 1)
    } else if (depth === 0 && char === ',') return source.slice(from, at)
  }
  return source.slice(from)
}

function endOfLiteral(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at += 1
    else if (source[at] === source[start]) return at
  }
  return source.length
}
