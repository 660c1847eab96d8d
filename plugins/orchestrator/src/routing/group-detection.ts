import type { AffinityGroup } from './groups.ts'
import { json, record, strings, stringsIn, tableIn, text, toml, yaml } from './manifest-file.ts'
import { memberFolders } from './member-folders.ts'

/** Group of all files, for a repository without workspaces. */
const WHOLE: AffinityGroup = { name: 'workspace', patterns: ['**/*'] }

/** A member of a workspace. */
interface Member {
  readonly name: string
  /** Folder relative to the repository; empty for its root. */
  readonly folder: string
  /** Glob of its files, relative to the folder. */
  readonly files: string
}

/** Reads the members of one kind of workspace. */
type FileReader = (root: string) => Promise<Member[]>

/**
 * Returns the groups of a repository, one per workspace member:
 *
 * - `<name>-group` from `Cargo.toml` and the folders of `crates/`;
 * - `node-<name>` from `package.json` and `pnpm-workspace.yaml`;
 * - `python-<name>` from `pyproject.toml`;
 * - `go-<name>` from `go.work` or `go.mod`.
 *
 * A nested member comes before its parent. Without members, one group `workspace` contains all files. Manifests that
 * cannot be read or parsed are ignored.
 */
export async function detectGroups(root: string): Promise<readonly AffinityGroup[]> {
  const members = (await Promise.all([crates, nodePackages, pythonProjects, goModules].map(read => read(root)))).flat()
  if (members.length === 0) return [WHOLE]
  members.sort((a, b) => depthOf(b.folder) - depthOf(a.folder))
  const groups = new Map<string, string[]>()
  for (const { name, folder, files } of members) {
    const pattern = folder === '' ? files : `${escaped(folder)}/${files}`
    groups.set(name, [...(groups.get(name) ?? []), pattern])
  }
  return [...groups].map(([name, patterns]) => ({ name, patterns }))
}

const crates: FileReader = async root => {
  const manifest = toml(await text(root, 'Cargo.toml'))
  const workspace = tableIn(manifest, 'workspace')
  const globs = [
    ...stringsIn(workspace, 'members'),
    ...stringsIn(workspace, 'exclude').map(glob => `!${glob}`),
    'crates/*'
  ]
  const folders = await memberFolders(root, globs, 'Cargo.toml')
  return Promise.all(
    folders.map(async folder => {
      const { name } = tableIn(toml(await text(root, folder, 'Cargo.toml')), 'package')
      return { name: `${nameOf(name, folder)}-group`, folder, files: '**' }
    })
  )
}

const nodePackages: FileReader = async root => {
  const { workspaces } = json(await text(root, 'package.json'))
  const named = Array.isArray(workspaces) ? strings(workspaces) : stringsIn(record(workspaces), 'packages')
  const globs = [...named, ...stringsIn(await yaml(await text(root, 'pnpm-workspace.yaml')), 'packages')]
  const folders = await memberFolders(root, globs, 'package.json')
  return Promise.all(
    folders.map(async folder => {
      const { name } = json(await text(root, folder, 'package.json'))
      return { name: `node-${nameOf(name, folder)}`, folder, files: '**' }
    })
  )
}

const pythonProjects: FileReader = async root => {
  const source = await text(root, 'pyproject.toml')
  if (source === null) return []
  const manifest = toml(source)
  const workspace = tableIn(tableIn(tableIn(manifest, 'tool'), 'uv'), 'workspace')
  const globs = [...stringsIn(workspace, 'members'), ...stringsIn(workspace, 'exclude').map(glob => `!${glob}`)]
  const folders = await memberFolders(root, globs, 'pyproject.toml')
  const members = folders.map(async folder => {
    const member = toml(await text(root, folder, 'pyproject.toml'))
    return { name: pythonName(member, folder), folder, files: '**' }
  })
  return [...(await Promise.all(members)), { name: pythonName(manifest, 'root'), folder: '', files: '**/*.py' }]
}

const goModules: FileReader = async root => {
  const used = goUses((await text(root, 'go.work')) ?? '')
  const folders = await memberFolders(root, used, 'go.mod')
  if (folders.length === 0 && (await text(root, 'go.mod')) !== null) folders.push('')
  return Promise.all(
    folders.map(async folder => {
      const module = /^module\s+(\S+)/m.exec((await text(root, folder, 'go.mod')) ?? '')?.[1]
      return {
        name: `go-${nameOf(module?.split('/').at(-1), folder || 'root')}`,
        folder,
        files: folder === '' ? '**/*.go' : '**'
      }
    })
  )
}

/** Returns the folders of `use` directives, single or in parentheses. */
function goUses(source: string): string[] {
  const lines = source.split('\n').map(line => line.replace(/\/\/.*$/, '').trim())
  const folders: string[] = []
  let isBlock = false
  for (const line of lines) {
    if (isBlock && line === ')') isBlock = false
    else if (/^use\s*\($/.test(line)) isBlock = true
    else if (isBlock && line !== '') folders.push(unquoted(line))
    else if (/^use\s+[^(]/.test(line)) folders.push(unquoted(line.replace(/^use\s+/, '')))
  }
  return folders
}

function unquoted(word: string): string {
  return word.replace(/^(["`])(.*)\1$/, '$2')
}

function pythonName(manifest: Record<string, unknown>, folder: string): string {
  const { name } = tableIn(manifest, 'project')
  return `python-${nameOf(name, folder)}`
}

/** Returns the name from a manifest, or else that of the folder. */
function nameOf(name: unknown, folder: string): string {
  return typeof name === 'string' && name !== '' ? name : (folder.split('/').at(-1) ?? folder)
}

function depthOf(folder: string): number {
  return folder === '' ? 0 : folder.split('/').length
}

/** Escapes a folder's path, so that as a glob it matches only itself. */
function escaped(folder: string): string {
  return folder.replace(/[\\*?[\](){}|]/g, '\\$&')
}
