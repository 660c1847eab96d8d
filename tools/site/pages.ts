/**
 * Pages of the site: which documents of the repository it shows, at which address, and in which order. The order is in
 * docs/contents.json. Documents that it does not list follow in the first group that lists a folder above them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
/** Generated pages of the SDK and the contracts, relative to the root. Git ignores them. */
export const API = 'tools/site/api/'
const FOLDERS = ['docs', 'plugins', 'examples', 'editors', 'tools', 'bench']
const PACKAGES = ['kernel', 'plugin-sdk', 'contracts', 'config']
/** Folders without documents: they are large, or generated. */
const SKIPPED = /^(?:node_modules|dist|page-dist|test|src|\..*)$/

/** Entry of docs/contents.json: a document, a folder (with a slash at its end), or a group. */
export type Entry = string | Group
export interface Group {
  readonly title: string
  readonly pages: readonly Entry[]
}

export interface SidebarItem {
  readonly text: string
  readonly link?: string
  readonly items?: readonly SidebarItem[]
  readonly collapsed?: boolean
}

/** Returns the paths of all documents that the site shows, relative to the root. */
export function documentPaths(): string[] {
  const top = readdirSync(ROOT).filter(name => name.endsWith('.md'))
  const readmes = PACKAGES.map(name => `${name}/README.md`).filter(path => existsSync(join(ROOT, path)))
  return [...top, ...readmes, ...FOLDERS.flatMap(folder => markdownBelow(folder))].sort()
}

/** Returns the paths of all Markdown files of the repository that the site does not show. */
export function otherMarkdown(shown: readonly string[]): string[] {
  const known = new Set(shown)
  return markdownBelow('.', /^(?:node_modules|dist|\.git)$/).filter(path => !known.has(path))
}

/** Returns the path of the page for a document, relative to the site: `plugins/http/README.md` is at `plugins/http.md`. */
export function pagePath(document: string): string {
  if (document === 'README.md') return 'index.md'
  const path = document.replace(/^docs\//, '').replace(/^tools\/site\/api\//, 'api/')
  if (/^[A-Z_]+\.md$/.test(path)) return path.toLowerCase().replaceAll('_', '-')
  if (document.startsWith('docs/') || document.startsWith(API)) return path.replace(/(^|\/)README\.md$/, '$1index.md')
  if (PACKAGES.includes(posix.dirname(document))) return `packages/${posix.dirname(document)}.md`
  return path.replace(/\/README\.md$/, '.md')
}

/** Returns the text of the first heading. */
export function titleOf(document: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(ROOT, document), 'utf8'))?.[1] ?? document
  return heading.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
}

export function contents(): Group[] {
  return JSON.parse(readFileSync(join(ROOT, 'docs', 'contents.json'), 'utf8')) as Group[]
}

/** Returns the groups of the sidebar, without empty ones. */
export function sidebar(documents: readonly string[]): SidebarItem[] {
  const groups = contents()
  const listed = new Set(groups.flatMap(namedPages))
  const left = new Set(documents.filter(path => !listed.has(path) && !path.startsWith(API)))
  // Longer folders first, so that docs/reference/ takes its pages before docs/ does.
  const folders = groups.flatMap(namedFolders).sort((a, b) => b.length - a.length)
  const inFolder = new Map<string, string[]>()
  for (const folder of folders) {
    const found = [...left].filter(path => (folder === './' ? !path.includes('/') : path.startsWith(folder)))
    for (const path of found) left.delete(path)
    inFolder.set(folder, found.sort(readmeFirst))
  }
  const item = (path: string): SidebarItem => ({
    text: path === 'README.md' ? 'Overview' : titleOf(path),
    link: `/${pagePath(path).replace(/(?:index)?\.md$/, '')}`
  })
  const items = (entry: Entry): SidebarItem[] => {
    if (typeof entry !== 'string') {
      const inner = entry.pages.flatMap(items)
      return inner.length === 0 ? [] : [{ text: entry.title, items: inner, collapsed: true }]
    }
    if (!entry.endsWith('/')) return existsSync(join(ROOT, entry)) ? [item(entry)] : []
    return (inFolder.get(entry) ?? []).map(item)
  }
  return groups.flatMap(items).map(group => ({ ...group, collapsed: false }))
}

/** Returns the documents that no entry of docs/contents.json covers, and the entries without a document. */
export function contentsProblems(): string[] {
  const documents = documentPaths()
  const groups = contents()
  const named = groups.flatMap(namedPages).filter(path => !path.startsWith(API))
  const folders = groups.flatMap(namedFolders)
  const covered = (path: string) =>
    named.includes(path) || folders.some(folder => (folder === './' ? !path.includes('/') : path.startsWith(folder)))
  return [
    ...named.filter(path => !existsSync(join(ROOT, path))).map(path => `${path}: listed, but does not exist`),
    ...named.filter((path, at) => named.indexOf(path) !== at).map(path => `${path}: listed twice`),
    ...documents.filter(path => !path.startsWith(API) && !covered(path)).map(path => `${path}: not listed`)
  ]
}

function namedPages(entry: Entry): string[] {
  if (typeof entry !== 'string') return entry.pages.flatMap(namedPages)
  return entry.endsWith('/') ? [] : [entry]
}

function namedFolders(entry: Entry): string[] {
  if (typeof entry !== 'string') return entry.pages.flatMap(namedFolders)
  return entry.endsWith('/') ? [entry] : []
}

function readmeFirst(a: string, b: string): number {
  const rank = (path: string) => (path.endsWith('README.md') && path.split('/').length < 4 ? '' : path)
  return rank(a).localeCompare(rank(b))
}

function markdownBelow(folder: string, skipped: RegExp = SKIPPED): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return skipped.test(entry.name) ? [] : markdownBelow(path, skipped)
    return entry.name.endsWith('.md') ? [path] : []
  })
}
