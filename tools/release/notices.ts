import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, ROOT, readJson } from './workspaces.ts'

const SOURCE_MAP = /\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/
const NOTICE_FILE = /^(?:licen[cs]e|copying|notice|third-?party-?notices)\b/i

/**
 * Returns the text of THIRD-PARTY.md: the licences of packages whose code is part of a package's files, in the folder
 * below the root of the repository. Null if there is none.
 */
export function thirdPartyNotices(folder: string): string | null {
  const bundled = bundledPackages(folder)
  if (bundled.length === 0) return null
  const sections = bundled.map(path => noticeOf(path))
  return `# Third-party software\n\nFiles of this package contain code of the following packages.\n\n${sections.join('\n')}`
}

/** Returns the folders of all packages whose code is part of a package's files, below the root of the repository. */
export function bundledPackages(folder: string): string[] {
  return [...new Set([...listed(folder), ...mapped(folder)])].sort()
}

/** Returns the packages that builds have listed: those of libraries (tools/bundled-packages.mjs), and of the console. */
function listed(folder: string): string[] {
  const [list, meta] = [join(ROOT, folder, 'dist', 'bundled.json'), join(ROOT, folder, 'page-dist', 'meta.json')]
  const inputs = existsSync(meta) ? Object.keys(readJson<{ inputs: object }>(meta).inputs) : []
  return [
    ...(existsSync(list) ? readJson<string[]>(list) : []),
    ...inputs.flatMap(input => bundledPackage(join(ROOT, input.replace(/^(?:\.\.\/)+/, ''))) ?? [])
  ]
}

/** Returns the packages that inline source maps of compiled files name. */
function mapped(folder: string): string[] {
  const dist = join(ROOT, folder, 'dist')
  const files = readdirSync(dist).filter(name => name.endsWith('.cjs'))
  return files.flatMap(name => {
    const map = SOURCE_MAP.exec(readFileSync(join(dist, name), 'utf8'))?.[1]
    if (map === undefined) return []
    const { sources } = JSON.parse(Buffer.from(map, 'base64').toString()) as { sources: string[] }
    return sources.flatMap(source => {
      const path = join(dist, source)
      // Compiled entries carry libraries that the SDK holds already.
      const holder = /^([^/]+)\/dist\/vendor\//.exec(path.slice(ROOT.length + 1))?.[1]
      return holder === undefined ? (bundledPackage(path) ?? []) : listed(holder)
    })
  })
}

/** Returns the folder below the root of the repository of the package in `node_modules` to which a file belongs. */
function bundledPackage(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.slice(ROOT.length + 1))?.[0]
}

function noticeOf(path: string): string {
  const folder = join(ROOT, path)
  const { name, version, license = 'unknown licence' } = readJson<Manifest>(join(folder, 'package.json'))
  const texts = readdirSync(folder)
    .filter(file => NOTICE_FILE.test(file))
    .sort()
    .map(file => `\`\`\`text\n${readFileSync(join(folder, file), 'utf8').trim()}\n\`\`\`\n`)
  const none = `The package has no file with its licence; its package.json names ${license}.\n`
  return `## ${name} ${version}\n\nLicence: ${license}\n\n${texts.length === 0 ? none : texts.join('\n')}`
}
