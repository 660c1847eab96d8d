import type { AffinityGroup } from './groups.ts'
import { json, record, strings, stringsIn, tableIn, text, toml, yaml } from './manifest-file.ts'
import { memberFolders } from './member-folders.ts'

/** Group of all files, for a repository without workspaces. */
const WHOLE: AffinityGroup = { name: 'workspace', patterns: ['**/*'] }

/** A part of a repository. */
interface Member {
  readonly name: string
  /** Relative to the repository; empty for its root. */
  readonly folder: string
  /** Its files, relative to the folder. */
  readonly files: string
}

/** One kind of workspace: the source of its members, and their names. */
type FileReader = (root: string) => Promise<Member[]>

/**
 * Groups of a repository from its workspaces: members in `Cargo.toml` and folders of `crates/` (`<name>-group`), in
 * `package.json` or `pnpm-workspace.yaml` (`node-<name>`), in `pyproject.toml` (`python-<name>`) and in `go.work` (`go-<name>`). A
 * nested member comes before its parent. Without any, one group `workspace` of all files. Manifests that cannot be read or parsed have no members.
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

/** Folders of `use` directives, single and in parentheses. */
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

/** The name that a manifest gives, else that of its folder. */
function nameOf(name: unknown, folder: string): string {
  return typeof name === 'string' && name !== '' ? name : (folder.split('/').at(-1) ?? folder)
}

function depthOf(folder: string): number {
  return folder === '' ? 0 : folder.split('/').length
}

/** A folder's name as a glob that matches nothing else. */
function escaped(folder: string): string {
  return folder.replace(/[\\*?[\](){}|]/g, '\\$&')
}
