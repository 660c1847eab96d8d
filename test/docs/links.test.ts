import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { ROOT } from './error-codes.ts'
import { type Document, documents, proseOf } from './markdown.ts'

const known = new Map(documents().map(document => [document.path, document]))

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

/** Returns whether a heading of the file has the anchor, in the way GitHub derives anchors. */
function hasAnchor(file: string, anchor: string): boolean {
  const document: Document | undefined = known.get(file)
  const headings = [...(document === undefined ? '' : proseOf(document)).matchAll(/^#+ (.+)$/gm)]
  return headings.some(([, heading = '']) => slug(heading) === anchor)
}

function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
