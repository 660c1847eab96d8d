import { execFileSync } from 'node:child_process'
import { ROOT } from './workspaces.ts'

interface Commit {
  readonly id: string
  readonly subject: string
  readonly files: readonly string[]
}

/** Headings by folder, in their order. A commit is listed once, under the folder of most of its files. */
const SECTIONS: readonly (readonly [RegExp, string])[] = [
  [/^plugin-sdk\//, 'SDK for plugins'],
  [/^(?:kernel|config|contracts)\//, 'Kernel, configuration and contracts'],
  [/^plugins\/([^/]+)\//, ''],
  [/^editors\//, 'Editors'],
  [/^docs\/|^README\.md$/, 'Documents'],
  [/./, 'Repository']
]
/** Commits that change nothing a user can notice. */
const INTERNAL = /^(?:test|bench|\.ci)\//

/**
 * Returns the changes since the last release as Markdown: the subjects of commits by part of the repository. Without a
 * release before, the text says only that it is the first one.
 */
export function changesOf(tag: string, cwd = ROOT): string {
  const head = `# Changelog\n\n## ${tag.slice(1)} (${dateOf('HEAD', cwd)})\n\n`
  const before = lastRelease(tag, cwd)
  if (before === null) return `${head}First release.\n`
  const sections = new Map<string, string[]>()
  for (const commit of commitsSince(before, cwd)) {
    if (commit.files.every(file => INTERNAL.test(file))) continue
    const section = sectionOf(commit)
    sections.set(section, [...(sections.get(section) ?? []), `- ${commit.subject} (${commit.id})`])
  }
  const named = [...sections.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  const texts = named.map(name => `### ${name}\n\n${sections.get(name)?.join('\n')}\n`)
  return `${head}Changes since ${before.slice(1)}.\n\n${texts.join('\n')}`
}

/** Returns the date of a commit, as YYYY-MM-DD. */
export function dateOf(commit: string, cwd = ROOT): string {
  return git(cwd, 'log', '-1', '--format=%cs', commit).trim()
}

/** Returns the newest tag of a release before the commit that is released; null if there is none. */
function lastRelease(tag: string, cwd: string): string | null {
  const tags = git(cwd, 'tag', '--merged', 'HEAD', '--list', 'v[0-9]*', '--sort=-version:refname').split('\n')
  return tags.find(each => each !== '' && each !== tag) ?? null
}

function commitsSince(tag: string, cwd: string): Commit[] {
  const text = git(cwd, 'log', '--no-merges', '--name-only', '--format=%x00%h%x09%s', `${tag}..HEAD`)
  return text
    .split('\0')
    .slice(1)
    .map(each => {
      const [head = '', ...files] = each.split('\n').filter(line => line !== '')
      const [id = '', subject = ''] = head.split('\t')
      return { id, subject, files }
    })
}

function sectionOf({ files }: Commit): string {
  const counts = new Map<string, number>()
  for (const file of files.filter(each => !INTERNAL.test(each))) {
    const section = headingOf(file)
    counts.set(section, (counts.get(section) ?? 0) + 1)
  }
  return [...counts].sort(([a, m], [b, n]) => n - m || rank(a) - rank(b))[0]?.[0] ?? 'Repository'
}

function headingOf(file: string): string {
  for (const [pattern, heading] of SECTIONS) {
    const [, plugin] = pattern.exec(file) ?? []
    if (plugin !== undefined) return `Plugin ${plugin}`
    if (heading !== '' && pattern.test(file)) return heading
  }
  return 'Repository'
}

function rank(heading: string): number {
  const index = SECTIONS.findIndex(([, each]) => (heading.startsWith('Plugin ') ? each === '' : each === heading))
  return index === -1 ? SECTIONS.length : index
}

function git(cwd: string, ...argv: string[]): string {
  return execFileSync('git', argv, { cwd, encoding: 'utf8', maxBuffer: 67_108_864, stdio: ['ignore', 'pipe', 'pipe'] })
}
