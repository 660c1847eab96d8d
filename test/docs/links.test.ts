import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { anchorOf } from '../../tools/site/anchors.ts'
import { ROOT } from './error-codes.ts'
import { type Document, documents, proseOf } from './markdown.ts'

const known = new Map(documents().map(document => [document.path, document]))
/** Anchors of the headings, by path of the document. */
const anchors = new Map<string, ReadonlySet<string>>()

t.test('every link within the repository has a target', t => {
  const broken: string[] = []
  for (const document of known.values()) {
    for (const [, target = ''] of proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?|mailto):/.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? document.path : join(dirname(document.path), path)
      const there = existsSync(join(ROOT, file)) && !relative(ROOT, join(ROOT, file)).startsWith('..')
      if (!there || (anchor !== undefined && !hasAnchor(file, anchor))) broken.push(`${document.path}: ${target}`)
    }
  }
  t.same(broken, [])
  t.end()
})

t.test('every file and folder that the architecture names exists', t => {
  const missing: string[] = []
  for (const { path, text } of known.values()) {
    if (!path.startsWith('docs/architecture') && !path.startsWith('docs/decisions')) continue
    for (const [, name = ''] of text.matchAll(
      /`((?:kernel|plugin-sdk|contracts|plugins|config|tools|test|bench)\/[\w./-]+)`/g
    )) {
      if (!existsSync(join(ROOT, name))) missing.push(`${path}: ${name}`)
      else if (name.endsWith('/') && !statSync(join(ROOT, name)).isDirectory()) missing.push(`${path}: ${name}`)
    }
  }
  t.same(missing, [])
  t.end()
})

t.test('every image has a file and a text for readers who cannot see it', t => {
  const problems: string[] = []
  for (const document of known.values()) {
    const prose = proseOf(document)
    const markdown = [...prose.matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, alt = '', src = '']) => ({ alt, src }))
    const html = [...prose.matchAll(/<(img|source)\s[^>]*>/g)].map(([tag, name]) => ({
      alt: name === 'source' ? 'of its img' : (/\balt="([^"]*)"/.exec(tag)?.[1] ?? ''),
      src: /\bsrc(?:set)?="([^"]*)"/.exec(tag)?.[1] ?? ''
    }))
    for (const { alt, src } of [...markdown, ...html]) {
      if (alt.trim() === '') problems.push(`${document.path}: ${src}: no text`)
      if (/^(?:https?:)?\/\//.test(src)) problems.push(`${document.path}: ${src}: loaded from another host`)
      else if (!existsSync(join(ROOT, dirname(document.path), src))) problems.push(`${document.path}: ${src}: missing`)
    }
  }
  t.same(problems, [])
  t.end()
})

t.test('every picture that documents show has a title, a description and colours for dark mode', t => {
  const problems = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.svg'))
    .flatMap(name => {
      const picture = readFileSync(join(ROOT, 'docs', name), 'utf8')
      return ['<title', '<desc', 'prefers-color-scheme: dark', 'role="img"']
        .filter(part => !picture.includes(part))
        .map(part => `docs/${name}: no ${part}`)
    })
  t.same(problems, [])
  t.end()
})

/** Returns whether a heading of the file has the anchor, in the way forges derive anchors. */
function hasAnchor(file: string, anchor: string): boolean {
  let found = anchors.get(file)
  if (found === undefined) {
    const document: Document | undefined = known.get(file)
    const headings = [...(document === undefined ? '' : proseOf(document)).matchAll(/^#+ (.+)$/gm)]
    found = new Set(headings.map(([, heading = '']) => anchorOf(heading)))
    anchors.set(file, found)
  }
  return found.has(anchor)
}
