import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './error-codes.ts'

export interface Document {
  /** Path from the root. */
  readonly path: string
  readonly text: string
}

/** Returns the documents: those at the root, the README of every package, and docs/. */
export function documents(): Document[] {
  const below = (folder: string): string[] =>
    readdirSync(join(ROOT, folder)).map(name => join(folder, name, 'README.md'))
  const top = readdirSync(ROOT).filter(name => name.endsWith('.md'))
  const readmes = [...top, 'kernel/README.md', 'plugin-sdk/README.md', 'contracts/README.md', 'config/README.md']
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name))
  return [...readmes, ...below('plugins'), ...below('examples'), ...docs.sort()]
    .filter(path => existsSync(join(ROOT, path)))
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

export interface Snippet {
  readonly code: string
  /** Line of the document on which the code begins, counted from 1. */
  readonly line: number
}

/** Returns the fenced blocks of a language. */
export function snippetsOf({ text }: Document, language: string): Snippet[] {
  const snippets: Snippet[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    if (lines[index] !== `\`\`\`${language}`) continue
    const end = lines.indexOf('```', index + 1)
    snippets.push({ code: lines.slice(index + 1, end).join('\n'), line: index + 2 })
    index = end
  }
  return snippets
}

/** Returns the text without fenced blocks, which contain no links. */
export function proseOf({ text }: Document): string {
  return text.replace(/^```.*?^```$/gms, '')
}
